// Folders of tests, and what runs beside them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/format.h"

namespace espalier {

inline std::string build_folder() {
  const char* named = std::getenv("ESPALIER_BUILD_DIR");
  return named ? named : "build/release";
}

// An empty folder of this name below the build folder.
inline std::string fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(build_folder()) / "tests" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string();
}

// The interpreter that the environment variable names, else python3; "" when it lacks one of the modules
// ("onnx, onnxruntime").
inline std::string python_with(const char* variable, const std::string& modules) {
  const char* named = std::getenv(variable);
  const std::string python = named ? named : "python3";
  return std::system(cat(python, " -c 'import ", modules, "' > /dev/null 2>&1").c_str()) == 0 ? python : "";
}

}  // namespace espalier
