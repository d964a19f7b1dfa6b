// Numbers in texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier {

// Of the whole text, blanks around it aside; a sign may stand before it. None where it is no number, or, of a
// whole number, beyond 64 bits.
std::optional<int64_t> whole_number(std::string_view text);
// "1e400" is inf, "nan" and "inf" are numbers.
std::optional<float> real_number(std::string_view text);

}  // namespace espalier
