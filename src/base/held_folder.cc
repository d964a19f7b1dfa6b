#include "base/held_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/format.h"
#include "base/hash_list.h"
#include "base/remove_tree.h"
#include "base/write_place.h"
#include "espalier/error.h"

namespace espalier {
namespace {

std::string held_folder_name(const std::string& begin) {
  return begin + hash_list_text({posix_env().entropy()});
}

bool is_held_folder_name(std::string_view name, std::string_view begin) {
  return name.size() == begin.size() + kHashDigits && name.starts_with(begin) &&
         name.substr(begin.size()).find_first_not_of("0123456789abcdef") == name.npos;
}

Descriptor open_held(int above, const std::string& name) {
  return Descriptor(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool hold(const Descriptor& folder) { return ::flock(folder.number(), LOCK_EX | LOCK_NB) == 0; }

// Of this user alone, and still what has that name.
bool is_own(const Descriptor& above, const std::string& name, const Descriptor& folder) {
  constexpr mode_t kOthers = 077;
  struct stat is = {}, named = {};
  return ::fstat(folder.number(), &is) == 0 && is.st_uid == ::geteuid() && (is.st_mode & kOthers) == 0 &&
         ::fstatat(above.number(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is.st_ino == named.st_ino && is.st_dev == named.st_dev;
}

std::vector<std::string> names_beside(const Descriptor& folder) {
  std::vector<std::string> out;
  // A descriptor of its own, which goes with it.
  const int opened = ::openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opened < 0 ? nullptr : ::fdopendir(opened), ::closedir);
  while (const dirent* entry = all ? ::readdir(all.get()) : nullptr) out.emplace_back(entry->d_name);
  return out;
}

void remove_left_over(const Descriptor& above, const std::string& begin) {
  for (const std::string& name : names_beside(above)) {
    if (!is_held_folder_name(name, begin)) continue;
    const Descriptor folder = open_held(above.number(), name);
    if (folder && hold(folder) && is_own(above, name, folder)) remove_tree(above.number(), name);
  }
}

}  // namespace

HeldFolder::HeldFolder(const std::string& above, const std::string& begin) {
  try {
    // Not behind a link of another user.
    const WritePlace place(cat(above, "/", begin), "make");
    above_ = Descriptor(::fcntl(place.folder(), F_DUPFD_CLOEXEC, 0));
  } catch (const IoError&) {
    return;
  }
  if (!above_) return;
  remove_left_over(above_, begin);
  // Another process may take a new one for left over before it is held. Where nothing can be, there is none.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts && path_.empty(); ++attempt) {
    name_ = held_folder_name(begin);
    constexpr mode_t kMine = 0700;
    if (::mkdirat(above_.number(), name_.c_str(), kMine) != 0) return;
    held_ = open_held(above_.number(), name_);
    if (held_ && hold(held_) && is_own(above_, name_, held_))
      path_ = cat(above, "/", name_);
    else
      ::unlinkat(above_.number(), name_.c_str(), AT_REMOVEDIR);
  }
}

HeldFolder::~HeldFolder() {
  if (!path_.empty()) remove_tree(above_.number(), name_);
}

}  // namespace espalier
