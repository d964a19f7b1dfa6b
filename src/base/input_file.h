// A file that a user names to be read: what stands beside one that is not there, what can be read once alone,
// and what is called "-".
#pragma once

#include <string>
#include <vector>

namespace espalier {

// Of near_paths() those that are no folders.
std::string near_files(const std::string& path);
// Raises IoError[file.read] with these where nothing is at `path`.
void check_file(const std::string& path);
// Whether what is read there is gone: standard input ("-"), a pipe, a device; links are followed.
bool is_stream(const std::string& path);
// The whole file, or standard input for "-". Raises IoError; ValueError[data.input] where standard input was
// read already.
std::string read_text(const std::string& path);
// Raises ValueError[results.out] when `out`, a file to be written, is one of these files, which are read.
void keep_inputs(const std::string& out, const std::vector<std::string>& inputs);
// The name that errors give the text of `path`.
std::string source_name(const std::string& path);

}  // namespace espalier
