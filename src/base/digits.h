// Characters of numbers.
#pragma once

namespace espalier {

// In ASCII, whatever the locale is.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace espalier
