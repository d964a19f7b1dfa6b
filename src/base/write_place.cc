#include "base/write_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr int kMostLinks = 40;  // as the system's own limit

std::vector<std::string> names_of_path(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (!name.empty() && name != ".") out.emplace_back(name);
  }
  return out;
}

// The number N of /proc/self/fd/N: an open file of this process, which need not have a name. -1: no such
// path.
int stream_number(std::string_view path) {
  for (const std::string& folder :
       {std::string("/proc/self/fd/"), std::string("/dev/fd/"), cat("/proc/", ::getpid(), "/fd/")}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view number = path.substr(folder.size());
    int out = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out);
    if (error == std::errc() && end == number.data() + number.size()) return out;
  }
  return -1;
}

std::string target_of(int link) {
  std::string out(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(link, "", out.data(), out.size());
  out.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return out;
}

Descriptor open_path(int folder, const std::string& name, int more = 0) {
  return Descriptor(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC | more));
}

}  // namespace

void raise_file_error(const char* verb, const std::string& path, int reason) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code none;
  const bool nowhere = reason == ENOENT && std::string_view(verb) == "write" && !folder.empty() &&
                       !std::filesystem::exists(folder, none);
  const bool absent = reason == ENOENT && std::string_view(verb) == "read";
  throw IoError(cat("file.", verb), cat("cannot ", verb, " ", path, ": ",
                                        nowhere  ? "there is no folder " + folder
                                        : absent ? "no such file"
                                                 : std::strerror(reason)));
}

Descriptor open_of_process(int64_t process, int number) {
  return Descriptor(::open(cat("/proc/", process, "/fd/", number).c_str(), O_RDWR | O_CLOEXEC));
}

bool is_of_us(uid_t owner) { return owner == ::geteuid() || owner == 0; }

WritePlace::WritePlace(const std::string& path, const char* verb, Last last, Missing missing)
    : path_(path), verb_(verb) {
  if (path.empty()) fail(ENOENT);
  find(last, missing);
}

void WritePlace::find(Last last, Missing missing) {
  int links = 0;
  for (std::string way = path_;;) {
    if (const int number = stream_number(way); number >= 0) {
      stream_ = Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 0));
      if (!stream_) fail(errno);
      return;
    }
    if (way.starts_with('/') || links == 0) {
      folder_ = open_path(AT_FDCWD, way.starts_with('/') ? "/" : ".", O_DIRECTORY);
      if (!folder_) fail(errno);
    }
    const std::optional<std::string> onward = walk(names_of_path(way), last, missing);
    if (!onward) return;
    if (++links > kMostLinks) fail(ELOOP);
    way = *onward;
  }
}

// As far as the path goes without a link; then where it goes on.
std::optional<std::string> WritePlace::walk(const std::vector<std::string>& names, Last last,
                                            Missing missing) {
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const bool is_last = i + 1 == names.size();
    Descriptor next = open_path(folder_.number(), name);
    if (!next && errno == ENOENT && is_last) {
      name_ = name;
      return std::nullopt;
    }
    if (!next && errno == ENOENT && missing == Missing::kMake) {
      constexpr mode_t kAsAsked = 0777;
      if (::mkdirat(folder_.number(), name.c_str(), kAsAsked) != 0 && errno != EEXIST) fail(errno);
      next = open_path(folder_.number(), name);
    }
    struct stat status;
    if (!next || ::fstat(next.number(), &status) != 0) fail(errno);
    if (S_ISLNK(status.st_mode) && (!is_last || last == Last::kFollow)) {
      std::string onward = target_of(next.number());
      if (!is_of_us(status.st_uid)) refuse_link(name, onward, status.st_uid);
      for (++i; i < names.size(); ++i) onward += "/" + names[i];
      return onward;
    }
    if (is_last && name != "..") {
      name_ = name;
      return std::nullopt;
    }
    if (!S_ISDIR(status.st_mode)) fail(ENOTDIR);
    folder_ = std::move(next);
  }
  name_folder();
  return std::nullopt;
}

// The path ended at a folder without a name ("/", ".", ".."): it is looked up in the one above.
void WritePlace::name_folder() {
  std::string whole(PATH_MAX, '\0');
  const ssize_t size =
      ::readlink(cat("/proc/self/fd/", folder_.number()).c_str(), whole.data(), whole.size());
  whole.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  const size_t slash = whole.rfind('/');
  Descriptor above = open_path(folder_.number(), "..", O_DIRECTORY);
  struct stat here, named;
  if (!above || ::fstat(folder_.number(), &here) != 0) fail(errno);
  name_ = slash == whole.npos ? "" : whole.substr(slash + 1);
  if (name_.empty()) fail(EISDIR);  // the root of all
  if (::fstatat(above.number(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) fail(errno);
  if (named.st_ino != here.st_ino || named.st_dev != here.st_dev) fail(ENOENT);
  folder_ = std::move(above);
}

std::optional<struct stat> WritePlace::status() const {
  struct stat out;
  if (::fstatat(folder(), name_.c_str(), &out, AT_SYMLINK_NOFOLLOW) == 0) return out;
  if (errno != ENOENT) fail(errno);
  return std::nullopt;
}

void WritePlace::fail(int reason) const { raise_file_error(verb_, path_, reason); }

void WritePlace::refuse_link(const std::string& link, const std::string& target, uid_t owner) const {
  throw IoError("file.link",
                cat("cannot ", verb_, " ", path_, ": \"", link, "\" in it is a link to ", target,
                    ", which user ", owner, " made; only links of this user and of root are followed"),
                "name the place itself if it is the one that is meant");
}

}  // namespace espalier
