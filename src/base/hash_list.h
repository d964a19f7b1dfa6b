// Hashes as text: 16 hexadecimal digits each, in order, with nothing between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

inline constexpr size_t kHashDigits = 16;

std::string hash_list_text(std::vector<uint64_t> hashes);
// In order; nothing for any other text.
std::optional<std::vector<uint64_t>> hash_list(std::string_view text);

}  // namespace espalier
