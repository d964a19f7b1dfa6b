// Text from outside, as messages show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace espalier {

// \n, \r and \t as they are typed here, '?' for other control characters, which a terminal would obey.
std::string printable(std::string_view text);
// The character beyond ASCII at the begin of `text`, and its bytes; 0 bytes where that is no UTF-8.
std::pair<uint32_t, size_t> beyond_ascii(std::string_view text);
// Whether a character beyond ASCII is seen where it stands: no control, nothing without width, no mark that
// turns text around.
bool is_seen(uint32_t character);
// At most 40 bytes of `text` with "..." where something was cut, never inside of a UTF-8 character, and
// printable.
std::string shortened(std::string_view text);

}  // namespace espalier
