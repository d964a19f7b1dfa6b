// Text from outside, as messages show it.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// '?' for control characters, which a terminal would obey and which end lines.
std::string printable(std::string_view text);
// At most 40 bytes of `text` with "..." where something was cut, never inside of a UTF-8 character, and
// printable.
std::string shortened(std::string_view text);

}  // namespace espalier
