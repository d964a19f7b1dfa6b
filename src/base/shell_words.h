// Words as a POSIX shell reads them.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// Each in quotes where it must be, a blank between them.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace espalier
