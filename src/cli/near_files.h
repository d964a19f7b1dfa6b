// What stands beside a path that is not there, for who mistyped it.
#pragma once

#include <string>
#include <vector>

#include "espalier/saved_model.h"

namespace espalier::cli {

// "did you mean data/train.csv or data/test.csv?": up to three files of nearly the name of `path`, in its
// folder; "" where there is none.
std::string near_files(const std::string& path);
// Raises IoError[file.read] with these where nothing is at `path`.
void check_file(const std::string& path);
// Whether it is the folder of a saved model.
bool holds_model(const std::string& path);
// The same as near_files() of such folders.
std::string near_models(const std::string& path);
// load_model; its IoError[load_model.path] names models of nearly this name.
LoadedModel open_model(const std::string& path);

}  // namespace espalier::cli
