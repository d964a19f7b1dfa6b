#include "base/hash_list.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace espalier {

std::string hash_list_text(std::vector<uint64_t> hashes) {
  std::ranges::sort(hashes);
  std::string out;
  out.reserve(hashes.size() * kHashDigits);
  for (const uint64_t hash : hashes) {
    char digits[kHashDigits + 1];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    out += digits;
  }
  return out;
}

std::optional<std::vector<uint64_t>> hash_list(std::string_view text) {
  if (text.size() % kHashDigits != 0) return std::nullopt;
  std::vector<uint64_t> out;
  out.reserve(text.size() / kHashDigits);
  for (; !text.empty(); text.remove_prefix(kHashDigits)) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + kHashDigits, out.emplace_back(), 16);
    if (error != std::errc() || end != text.data() + kHashDigits) return std::nullopt;
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace espalier
