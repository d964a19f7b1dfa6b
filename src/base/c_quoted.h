// Text from outside as C writes it.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// A string of C, in quotes: UTF-8 stays, a line break is "\n", a byte that nobody sees "\033". In it no
// comment begins or ends, and nothing is a trigraph.
std::string c_quoted(std::string_view text);

}  // namespace espalier
