// Where something will be written.
#pragma once

#include <string>

namespace espalier {

// Raises IoError[rule] when there is no folder to write the file or folder `path` into: before the hours of
// work that are to be written there. And what Env::check_writable() raises.
void require_folder_of(const std::string& path, const char* rule);

}  // namespace espalier
