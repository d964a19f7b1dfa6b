#include "watched_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>

namespace espalier {
namespace {

std::mutex watch_mutex;  // of what follows
bool watched = false;
std::vector<FileCall> kept;
int failing = -1, reason = 0;

// Whether it is to fail.
bool keep_sync(int descriptor) {
  struct stat status = {};
  ::fstat(descriptor, &status);
  const std::lock_guard lock(watch_mutex);
  if (!watched) return false;
  kept.push_back({FileCall::Kind::kSync, status.st_ino, status.st_size, ""});
  const bool fails = failing == 0;
  if (failing >= 0) --failing;
  if (fails) errno = reason;
  return fails;
}

void keep_rename(int folder, const char* from, const char* to) {
  struct stat status = {};
  ::fstatat(folder, from, &status, AT_SYMLINK_NOFOLLOW);
  const std::lock_guard lock(watch_mutex);
  if (watched) kept.push_back({FileCall::Kind::kRename, status.st_ino, status.st_size, to});
}

template <class F>
F next_of(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

WatchedFiles::WatchedFiles() {
  const std::lock_guard lock(watch_mutex);
  kept.clear();
  failing = -1;
  watched = true;
}
WatchedFiles::~WatchedFiles() {
  const std::lock_guard lock(watch_mutex);
  watched = false;
}
std::vector<FileCall> WatchedFiles::calls() const {
  const std::lock_guard lock(watch_mutex);
  return kept;
}
void WatchedFiles::fail_sync(int number, int with) {
  const std::lock_guard lock(watch_mutex);
  failing = number;
  reason = with;
}

}  // namespace espalier

using espalier::keep_rename;
using espalier::keep_sync;
using espalier::next_of;

extern "C" {

int fsync(int descriptor) {
  static const auto next = next_of(&fsync, "fsync");
  return keep_sync(descriptor) ? -1 : next(descriptor);
}
int fdatasync(int descriptor) {
  static const auto next = next_of(&fdatasync, "fdatasync");
  return keep_sync(descriptor) ? -1 : next(descriptor);
}
int rename(const char* from, const char* to) noexcept {
  static const auto next = next_of(&rename, "rename");
  keep_rename(AT_FDCWD, from, to);
  return next(from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static const auto next = next_of(&renameat, "renameat");
  keep_rename(from_folder, from, to);
  return next(from_folder, from, to_folder, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static const auto next = next_of(&renameat2, "renameat2");
  keep_rename(from_folder, from, to);
  return next(from_folder, from, to_folder, to, flags);
}

}  // extern "C"
