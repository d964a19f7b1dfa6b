// Whether a model can be saved where it is to be, before the hours that it takes.
#pragma once

#include <string>

#include "plan/plan.h"

namespace espalier::cli {

// Raises IoError[save.path] where nothing can be written at `path`; a folder above it that is not there is
// check_save_path's to name.
void probe_save_place(const std::string& path);

// Raises IoError[save.path], which names all of them, where more than one of the folders is not there that
// the run's model, checkpoints and logs lie in. One alone is named by who writes there.
void check_folders(const TrainPlan& plan);

}  // namespace espalier::cli
