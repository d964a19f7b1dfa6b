// Whether a model can be saved where it is to be, before the hours that it takes.
#pragma once

#include <string>

namespace espalier::cli {

// Makes a folder beside `path`, as saving does, and removes it: there are folders that let everybody write,
// and hold nothing. Raises IoError[save.path]; one that is not there is check_save_path's to name.
void probe_save_place(const std::string& path);

}  // namespace espalier::cli
