// One spelling of each number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// The one spelling of the number that all of the text spells, digit by digit and not as a double: "7" of 7,
// +07.0 and 7e0, "-0.25" of -.250, "1e30" of 1E+30; "0" of every zero. Nothing for text that parse_decimal()
// does not read.
std::optional<std::string> canonical_decimal(std::string_view text);

}  // namespace espalier
