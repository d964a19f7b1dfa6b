// What stands beside a file that is not there, for who mistyped it.
#pragma once

#include <string>

namespace espalier::cli {

// Of near_paths() those that are no folders.
std::string near_files(const std::string& path);
// Raises IoError[file.read] with these where nothing is at `path`.
void check_file(const std::string& path);

}  // namespace espalier::cli
