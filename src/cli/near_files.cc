#include "cli/near_files.h"

#include <filesystem>

#include "base/format.h"
#include "base/near_paths.h"
#include "espalier/error.h"

namespace espalier::cli {

namespace fs = std::filesystem;

std::string near_files(const std::string& path) {
  return near_paths(path, [](const std::string& file) { return !fs::is_directory(file); });
}

void check_file(const std::string& path) {
  std::error_code none;
  if (!fs::exists(path, none) && !none)
    throw IoError("file.read", cat("cannot read ", path, ": no such file"), near_files(path));
}

bool is_stream(const std::string& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  return path == "-" || fs::is_other(status);
}

}  // namespace espalier::cli
