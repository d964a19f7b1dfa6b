// What lies at a path: what stands beside a file that is not there, and what can be read once alone.
#pragma once

#include <string>

namespace espalier::cli {

// Of near_paths() those that are no folders.
std::string near_files(const std::string& path);
// Raises IoError[file.read] with these where nothing is at `path`.
void check_file(const std::string& path);
// Whether what is read there is gone: standard input ("-"), a pipe, a device; links are followed.
bool is_stream(const std::string& path);

}  // namespace espalier::cli
