#include "base/held_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace espalier {
namespace {

constexpr size_t kMostText = 4096;

Descriptor open_or_make(const WritePlace& place) {
  constexpr mode_t kReadable = 0644;
  constexpr int kFlags = O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor out(::openat(place.folder(), place.name().c_str(), O_RDWR | kFlags, kReadable));
  // Another user's, which can be held and not written.
  if (!out && errno == EACCES)
    out = Descriptor(::openat(place.folder(), place.name().c_str(), O_RDONLY | kFlags, kReadable));
  if (!out) place.fail(errno);
  return out;
}

// 0, or the reason of the system.
int lock(int file) {
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

HeldFile::HeldFile(const std::string& path, const std::string& who)
    : place_(path, "write", WritePlace::Last::kKeep) {
  while (!take(who)) continue;
}

HeldFile::~HeldFile() {
  // While it is held: whoever has it open and gets it then sees that it has no name.
  if (held_) ::unlinkat(place_.folder(), place_.name().c_str(), 0);
}

// False where it went away meanwhile.
bool HeldFile::take(const std::string& who) {
  file_ = open_or_make(place_);
  if (lock(file_.number()) == EWOULDBLOCK) {
    holder_.resize(kMostText);
    const ssize_t size = ::pread(file_.number(), holder_.data(), holder_.size(), 0);
    holder_.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return true;
  }
  struct stat opened;
  if (::fstat(file_.number(), &opened) != 0) place_.fail(errno);
  const auto named = place_.status();
  if (!named || named->st_ino != opened.st_ino || named->st_dev != opened.st_dev) return false;
  held_ = true;
  // For people, who are told less where it cannot be written.
  if (::ftruncate(file_.number(), 0) == 0)
    static_cast<void>(::pwrite(file_.number(), who.data(), who.size(), 0) < 0);
  return true;
}

}  // namespace espalier
