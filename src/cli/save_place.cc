#include "cli/save_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier::cli {

void probe_save_place(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) throw IoError("save.path", "the path of a model must not be empty", "--model MODEL");
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "model/"
  std::error_code none;
  if (!fs::is_directory(whole.parent_path(), none)) return;
  const std::string probe = cat(whole.string(), ".", ::getpid(), ".probe");
  if (::mkdir(probe.c_str(), 0700) != 0) {
    throw IoError(
        "save.path",
        cat("cannot write into the folder ", whole.parent_path().string(), ": ", std::strerror(errno)),
        "name another folder");
  }
  ::rmdir(probe.c_str());
}

}  // namespace espalier::cli
