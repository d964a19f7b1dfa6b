#include "base/state_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "base/remove_tree.h"
#include "base/write_place.h"
#include "espalier/error.h"

namespace espalier {
namespace {

// A relative path is to be ignored (XDG Base Directory Specification).
std::string absolute_in(const char* variable, const char* below) {
  const char* const value = std::getenv(variable);
  return value && *value == '/' ? cat(value, below) : "";
}

}  // namespace

StateFolder::StateFolder(const std::string& name) : folder("", false) {
  for (const std::string& above : {absolute_in("XDG_STATE_HOME", ""), absolute_in("HOME", "/.local/state"),
                                   absolute_in("XDG_RUNTIME_DIR", "")}) {
    if (above.empty()) continue;
    const std::string ours = above + "/espalier";
    const OwnFolder parent(ours, true);
    path = cat(ours, "/", name);
    if (parent) folder = OwnFolder(path, true);
    if (parent && folder) return;
    why_not += cat(why_not.empty() ? "" : "; ", (parent ? folder : parent).why_not());
  }
  path.clear();
  if (why_not.empty()) why_not = "neither XDG_STATE_HOME nor HOME nor XDG_RUNTIME_DIR names a folder";
}

void keep_newest(const OwnFolder& folder, const std::string& begin, size_t newest) {
  std::vector<OwnFile> files;
  for (const std::string& name : folder.names()) {
    if (!name.starts_with(begin) || OwnFolder::is_left_over(name)) continue;
    if (std::optional<OwnFile> file = folder.open(name)) files.push_back(std::move(*file));
  }
  std::ranges::sort(files, std::greater(), &OwnFile::written);
  for (size_t i = newest; i < files.size(); ++i) folder.remove(files[i]);
}

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code none;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(none);
  path_ = (temporary / cat("espalier-", name, "-", posix_env().entropy())).string();
  const WritePlace place(path_, "make");
  constexpr mode_t kMine = 0700;
  if (::mkdirat(place.folder(), place.name().c_str(), kMine) != 0) place.fail(errno);
  above_ = Descriptor(::fcntl(place.folder(), F_DUPFD_CLOEXEC, 0));
  opened_ = Descriptor(
      ::openat(place.folder(), place.name().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened_) place.fail(errno);
}

TemporaryFolder::~TemporaryFolder() {
  remove_tree(above_.number(), std::filesystem::path(path_).filename().string());
}

Descriptor TemporaryFolder::create(const std::string& name) const {
  constexpr mode_t kMine = 0600;
  Descriptor out(
      ::openat(opened_.number(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMine));
  if (!out) raise_file_error("write", cat(path_, "/", name), errno);
  return out;
}

}  // namespace espalier
