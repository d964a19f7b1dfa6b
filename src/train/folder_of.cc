#include "train/folder_of.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

void require_folder_of(const std::string& path, const char* rule) {
  std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "model/"
  const std::filesystem::path folder = whole.parent_path();
  std::error_code unreadable;
  if (!std::filesystem::is_directory(folder, unreadable))
    throw IoError(rule, cat("there is no folder ", folder.string()));
  if (::access(folder.c_str(), W_OK) != 0)
    throw IoError(rule, cat("cannot write into the folder ", folder.string(), ": ", std::strerror(errno)),
                  "name another folder");
  try {
    posix_env().check_writable(path);
  } catch (const IoError& error) {
    if (error.rule() != "file.write") throw;
    // Folders like /proc let everybody write, and hold nothing.
    const std::string& said = error.message();
    throw IoError(rule, cat("cannot write into the folder ", folder.string(), said.substr(said.rfind(": "))),
                  "name another folder");
  }
}

}  // namespace espalier
