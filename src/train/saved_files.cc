#include "train/saved_files.h"

#include "base/env.h"
#include "base/format.h"
#include "base/near_paths.h"

namespace espalier::saved_files {

bool holds_model(const std::string& path) { return posix_env().exists(cat(path, "/", kDescription)); }

std::string near_models(const std::string& path) { return near_paths(path, holds_model); }

}  // namespace espalier::saved_files
