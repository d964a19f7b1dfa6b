#pragma once

#include <string>

namespace espalier::cli {

// The whole file. Raises IoError.
std::string read_text(const std::string& path);

}  // namespace espalier::cli
