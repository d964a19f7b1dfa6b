#include "base/own_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr std::string_view kLeftOver = ".part";

std::string octal_mode(mode_t mode) {
  std::string out;
  for (int shift = 9; shift >= 0; shift -= 3) out += static_cast<char>('0' + (mode >> shift & 7));
  return out;
}

// Why this user's programs must not come from it; "" where they may.
std::string distrust(const std::string& path, const struct stat& status) {
  if (status.st_uid != ::geteuid())
    return cat(path, " belongs to user ", status.st_uid, ", and this is user ", ::geteuid());
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return cat(path, " is open to writers beside its owner (mode ", octal_mode(status.st_mode),
               "): chmod go-w ", path);
  return "";
}

bool write_whole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

// The clock of files moves in steps of milliseconds: too coarse for an order of use.
void set_written_now(int file) {
  timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {}};
  ::clock_gettime(CLOCK_REALTIME, &times[1]);
  ::futimens(file, times);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

int64_t OwnFile::written() const {
  constexpr int64_t kSecond = 1'000'000'000;
  return status_.st_mtim.tv_sec * kSecond + status_.st_mtim.tv_nsec;
}

std::string OwnFile::read(uint64_t from, uint64_t bytes) const {
  if (from > size() || bytes > size() - from) return "";
  std::string out(bytes, '\0');
  for (uint64_t at = 0; at < bytes;) {
    const ssize_t got = ::pread(opened_.number(), out.data() + at, bytes - at, static_cast<off_t>(from + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    at += static_cast<uint64_t>(got);
  }
  return out;
}

void OwnFile::touch() const { set_written_now(opened_.number()); }

OwnFolder::OwnFolder(const std::string& path, bool make) {
  if (make) make_it(path);
  if (!why_not_.empty()) return;
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) {
    const int reason = errno;
    struct stat status;
    if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
      why_not_ = cat(path, " is a link, and must be a folder");
    else if (reason != ENOENT)
      why_not_ = cat(path, " cannot be used: ", std::strerror(reason));
    return;
  }
  struct stat status;
  if (::fstat(opened.number(), &status) != 0) {
    why_not_ = cat(path, " cannot be used: ", std::strerror(errno));
    return;
  }
  why_not_ = distrust(path, status);
  // One that may be read and not searched would look empty.
  if (why_not_.empty() && ::faccessat(opened.number(), ".", R_OK | X_OK, AT_EACCESS) != 0)
    why_not_ = cat(path, " cannot be used: ", std::strerror(errno));
  if (why_not_.empty()) opened_ = std::move(opened);
}

void OwnFolder::make_it(const std::string& path) {
  constexpr mode_t kMine = 0700;
  if (::mkdir(path.c_str(), kMine) == 0 || errno == EEXIST) return;
  int reason = errno;
  if (reason == ENOENT) {
    try {
      posix_env().make_folder(std::filesystem::path(path).parent_path().string());
    } catch (const Error& error) {
      why_not_ = error.message();
      return;
    }
    if (::mkdir(path.c_str(), kMine) == 0 || errno == EEXIST) return;
    reason = errno;
  }
  why_not_ = cat(path, " cannot be made: ", std::strerror(reason));
}

std::vector<std::string> OwnFolder::names() const {
  std::vector<std::string> out;
  // Of its own, since closing the folder closes it.
  const int again = ::openat(opened_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(again), ::closedir);
  if (!folder) {
    ::close(again);
    return out;
  }
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  std::ranges::sort(out);
  return out;
}

std::optional<OwnFile> OwnFolder::open(const std::string& name) const {
  // O_NONBLOCK: what is a pipe is opened without a writer, and then is no regular file.
  Descriptor opened(::openat(opened_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!opened || ::fstat(opened.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !distrust(name, status).empty())
    return std::nullopt;
  return OwnFile(name, std::move(opened), status);
}

bool OwnFolder::write(const std::string& name, std::span<const std::string_view> parts) const {
  const std::string temporary =
      cat(name, ".", static_cast<int64_t>(::getpid()), "-", posix_env().entropy(), kLeftOver);
  constexpr mode_t kMine = 0600;
  // Not synced: a file that a crash of the system leaves half is seen by its digest.
  const Descriptor file(
      ::openat(opened_.number(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMine));
  if (!file) return false;
  const bool whole =
      std::ranges::all_of(parts, [&](std::string_view part) { return write_whole(file.number(), part); });
  if (whole) set_written_now(file.number());
  if (whole && ::renameat(opened_.number(), temporary.c_str(), opened_.number(), name.c_str()) == 0)
    return true;
  ::unlinkat(opened_.number(), temporary.c_str(), 0);
  return false;
}

bool OwnFolder::remove(const std::string& name) const {
  return ::unlinkat(opened_.number(), name.c_str(), 0) == 0;
}

void OwnFolder::remove(const OwnFile& file) const {
  struct stat now;
  if (::fstatat(opened_.number(), file.name().c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
      now.st_ino == file.inode())
    remove(file.name());
}

std::string OwnFolder::why_not_written(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  fs::path there = whole;
  while (there.has_relative_path() && !fs::exists(there, error)) there = there.parent_path();
  std::string probe = (there / ".espalier-XXXXXX").string();
  if (::mkdtemp(probe.data())) {
    ::rmdir(probe.c_str());
    return "";
  }
  const std::string reason = std::strerror(errno);
  return there == whole ? cat(path, " cannot be written: ", reason)
                        : cat(path, " cannot be made in ", there.string(), ": ", reason);
}

bool OwnFolder::is_left_over(const std::string& name) { return name.ends_with(kLeftOver); }

}  // namespace espalier
