// Text from outside, as messages show it.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// At most 40 bytes of `text` with "..." where something was cut, never inside of a UTF-8 character; '?' for
// control characters, which a terminal would obey.
std::string shortened(std::string_view text);

}  // namespace espalier
