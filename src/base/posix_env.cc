#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "base/env.h"
#include "base/format.h"
#include "base/remove_tree.h"
#include "base/write_place.h"
#include "espalier/error.h"

namespace espalier {
namespace {

[[noreturn]] void fail(const char* verb, const std::string& path, int reason) {
  raise_file_error(verb, path, reason);
}

constexpr std::string_view kPart = ".part";

class File {
 public:
  // What open() gave; `shown` is the name that errors give it.
  File(int descriptor, const char* verb, const std::string& shown)
      : path_(shown), verb_(verb), descriptor_(descriptor) {
    if (descriptor_ < 0) fail(verb, shown, errno);
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Below an open folder. -1: errno says why.
  static int open(int folder, const std::string& name, int flags) {
    int descriptor;
    do {
      descriptor = ::openat(folder, name.c_str(), flags | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
  }
  // A second number for what is open.
  static int open_again(int number) {
    const int flags = ::fcntl(number, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
      errno = EBADF;
      return -1;
    }
    return ::fcntl(number, F_DUPFD_CLOEXEC, 0);
  }
  int descriptor() const { return descriptor_; }
  void check(bool ok) const {
    if (!ok) fail(verb_, path_, errno);
  }
  void sync() const { check(::fsync(descriptor_) == 0); }

 private:
  const std::string& path_;
  const char* verb_;
  int descriptor_;
};

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;
Folder open_folder(const char* verb, const std::string& path) {
  Folder folder(::opendir(path.c_str()));
  if (!folder) fail(verb, path, errno);
  return folder;
}
std::vector<std::string> names_in(const Folder& folder) {
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A folder that this user cannot list is left to the system.
void sync_folder(const WritePlace& place) {
  const int opened = File::open(place.folder(), ".", O_RDONLY | O_DIRECTORY);
  if (opened < 0) return;
  const int failed = ::fsync(opened) == 0 || errno == EINVAL ? 0 : errno;
  ::close(opened);
  if (failed) fail("sync", place.path(), failed);
}

class PosixEnv final : public Env {
 public:
  std::string read_file(const std::string& path) override {
    // Without waiting: a pipe that another user left at the path would be waited for.
    const File file(File::open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK), "read", path);
    struct stat status;
    struct statfs system;
    file.check(::fstat(file.descriptor(), &status) == 0 && ::fstatfs(file.descriptor(), &system) == 0);
    if (!S_ISFIFO(status.st_mode)) return read_all(file, path);
    // A pipe without a name was handed to this process, by whoever it may be.
    if (!is_of_us(status.st_uid) && system.f_type != PIPEFS_MAGIC)
      throw IoError("file.read",
                    cat("cannot read ", path, ": it is a pipe that user ", status.st_uid, " made"));
    // Until a writer has come: before that, reading would be at an end at once.
    pollfd written{.fd = file.descriptor(), .events = POLLIN, .revents = 0};
    while (::poll(&written, 1, -1) < 0 && errno == EINTR) {
    }
    const int flags = ::fcntl(file.descriptor(), F_GETFL);
    file.check(::fcntl(file.descriptor(), F_SETFL, flags & ~O_NONBLOCK) == 0);
    return read_all(file, path);
  }

  std::map<std::string, std::string> read_folder(const std::string& path) override {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries; ++i) {
      const Folder folder = open_folder("read", path);
      const int descriptor = ::dirfd(folder.get());
      std::map<std::string, std::string> out;
      for (const std::string& name : names_in(folder)) {
        struct stat status;
        if (::fstatat(descriptor, name.c_str(), &status, 0) != 0 || !S_ISREG(status.st_mode)) continue;
        const std::string inside = cat(path, "/", name);
        const int opened = File::open(descriptor, name, O_RDONLY | O_NONBLOCK);
        if (opened < 0 && errno == ENOENT) continue;
        const File file(opened, "read", inside);
        file.check(::fstat(file.descriptor(), &status) == 0);
        if (S_ISREG(status.st_mode)) out[name] = read_all(file, inside);
      }
      // Whoever replaces a folder begins to remove it when another one has its place.
      struct stat read, now;
      if (::fstat(descriptor, &read) == 0 && ::stat(path.c_str(), &now) == 0 && read.st_ino == now.st_ino &&
          read.st_dev == now.st_dev)
        return out;
    }
    throw IoError("file.read", cat("cannot read ", path, ": it was replaced each of ", kTries, " times"));
  }

  static std::string read_all(const File& file, const std::string& path) {
    struct stat status;
    file.check(::fstat(file.descriptor(), &status) == 0);
    if (S_ISDIR(status.st_mode)) fail("read", path, EISDIR);
    // One byte more than announced, so that the end is seen without growing.
    std::string out(static_cast<size_t>(std::max<off_t>(status.st_size, 0)) + 1, '\0');
    size_t size = 0;
    // What is no regular file may have no end.
    constexpr size_t kMostOfAStream = size_t{1} << 32;
    for (;;) {
      if (!S_ISREG(status.st_mode) && size > kMostOfAStream) fail("read", path, EFBIG);
      const ssize_t got = ::read(file.descriptor(), out.data() + size, out.size() - size);
      if (got < 0 && errno == EINTR) continue;
      file.check(got >= 0);
      if (got == 0) break;
      size += static_cast<size_t>(got);
      if (size == out.size()) out.resize(2 * size + 4096);
    }
    out.resize(size);
    return out;
  }

  void write_parts(const std::string& path, std::span<const std::string_view> parts,
                   Readers readers) override {
    const WritePlace place(path, "write");
    if (place.stream()) {
      const File file(File::open_again(place.stream().number()), "write", path);
      for (const std::string_view part : parts) write_all(file, part);
      return;
    }
    const std::optional<struct stat> before = place.status();
    if (before && !S_ISREG(before->st_mode)) {
      // A device, a pipe: its bytes go through it, its name stays.
      const File file(open_special(place), "write", path);
      for (const std::string_view part : parts) write_all(file, part);
      return;
    }
    const std::string temporary = temporary_of(place.name());
    try {
      const File file(File::open(place.folder(), temporary, kNew), "write", path);
      if (readers == Readers::kOwner)
        file.check(::fchmod(file.descriptor(), 0600) == 0);
      else if (before && before->st_uid == ::geteuid())
        file.check(::fchmod(file.descriptor(), before->st_mode & 07777) == 0);
      for (const std::string_view part : parts) write_all(file, part);
      file.sync();
      if (::renameat(place.folder(), temporary.c_str(), place.folder(), place.name().c_str()) != 0)
        fail_to_replace(place, before);
    } catch (...) {
      ::unlinkat(place.folder(), temporary.c_str(), 0);
      throw;
    }
    sync_folder(place);
  }

  void write_folder(const std::string& path, const std::map<std::string, std::string>& files,
                    const std::vector<std::string>& replaced) override {
    const WritePlace place(path, "write");
    if (place.stream()) place.fail(ENOTDIR);
    const std::optional<struct stat> before = place.status();
    if (before && !S_ISDIR(before->st_mode)) place.fail(ENOTDIR);
    const auto require_ours = [&](const std::string& name) {
      for (const std::string& foreign : foreign_names(place, name, files, replaced))
        throw IoError("file.foreign",
                      cat("cannot write the folder ", path, ": it holds ", foreign,
                          ", which is not of what it ", "is replaced by, so nothing in it was changed"),
                      "name another folder");
    };
    if (before) require_ours(place.name());
    const std::string temporary = temporary_of(place.name());
    if (::mkdirat(place.folder(), temporary.c_str(), 0777) != 0) place.fail(errno);
    try {
      const File made(File::open(place.folder(), temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), "write",
                      path);
      for (const auto& [name, bytes] : files) {
        const std::string inside = cat(path, "/", name);
        const File file(File::open(made.descriptor(), name, kNew), "write", inside);
        write_all(file, bytes);
        file.sync();
      }
      made.sync();
      exchange(place, temporary, before);
      // What lies at `temporary` is what was replaced: somebody may have put a file there meanwhile.
      if (before) {
        try {
          require_ours(temporary);
        } catch (...) {
          exchange(place, temporary, before);
          throw;
        }
      }
    } catch (...) {
      remove_tree(place.folder(), temporary);
      throw;
    }
    if (before) remove_tree(place.folder(), temporary);
    sync_folder(place);
  }

  void check_writable(const std::string& path) override {
    const WritePlace place(path, "write");
    if (place.stream()) {
      File(File::open_again(place.stream().number()), "write", path);
      return;
    }
    const std::optional<struct stat> before = place.status();
    // To open a pipe and close it would be an end for its reader.
    if (before && S_ISFIFO(before->st_mode)) return require_own(place, *before);
    if (before && !S_ISREG(before->st_mode) && !S_ISDIR(before->st_mode)) {
      File(open_special(place), "write", path);
      return;
    }
    const std::string temporary = temporary_of(place.name());
    const File probe(File::open(place.folder(), temporary, kNew), "write", path);
    ::unlinkat(place.folder(), temporary.c_str(), 0);
  }

  void remove_left_overs(const std::string& wanted) override {
    const WritePlace place(wanted, "list");
    if (place.stream()) return;
    const std::string begin = place.name() + ".";
    const File folder(File::open(place.folder(), ".", O_RDONLY | O_DIRECTORY), "list", wanted);
    const Folder listed(::fdopendir(::fcntl(folder.descriptor(), F_DUPFD_CLOEXEC, 0)));
    if (!listed) fail("list", wanted, errno);
    for (const std::string& name : names_in(listed)) {
      if (!name.starts_with(begin) || !name.ends_with(kPart) || name.size() < begin.size() + kPart.size())
        continue;
      const std::string middle = name.substr(begin.size(), name.size() - begin.size() - kPart.size());
      struct stat status;
      const bool left = middle.find_first_not_of("0123456789-") == std::string::npos && !middle.empty();
      if (left && ::fstatat(place.folder(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          status.st_uid == ::geteuid())
        remove_tree(place.folder(), name);
    }
  }

  std::string temporary_of(const std::string& path) {
    return cat(path, ".", static_cast<int64_t>(::getpid()), "-", entropy(), kPart);
  }

  static void write_all(const File& file, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(file.descriptor(), bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      // Standard output may have been given to this process as one that does not wait.
      if (pollfd full{.fd = file.descriptor(), .events = POLLOUT, .revents = 0};
          wrote < 0 && errno == EAGAIN && ::poll(&full, 1, -1) >= 0)
        continue;
      file.check(wrote >= 0);
      bytes.remove_prefix(static_cast<size_t>(wrote));
    }
  }

  bool exists(const std::string& path) override {
    if (::access(path.c_str(), F_OK) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != ENAMETOOLONG)
      fail("find", path, errno);
    return false;
  }

  std::vector<std::string> list_folder(const std::string& path) override {
    return names_in(open_folder("list", path));
  }

  void make_folder(const std::string& path) override {
    const WritePlace place(path, "make", WritePlace::Last::kFollow, WritePlace::Missing::kMake);
    if (place.stream()) place.fail(ENOTDIR);
    if (::mkdirat(place.folder(), place.name().c_str(), 0777) == 0) return;
    const int reason = errno;
    const std::optional<struct stat> there = place.status();
    if (!there) place.fail(reason);
    if (!S_ISDIR(there->st_mode)) place.fail(ENOTDIR);
  }

  void remove_file(const std::string& path) override {
    const WritePlace place(path, "remove", WritePlace::Last::kKeep);
    if (place.stream()) place.fail(EINVAL);
    if (::unlinkat(place.folder(), place.name().c_str(), 0) != 0) place.fail(errno);
  }

  double wall_seconds() override { return since_epoch(std::chrono::system_clock::now()); }
  double steady_seconds() override { return since_epoch(std::chrono::steady_clock::now()); }

  uint64_t entropy() override {
    uint64_t bits = 0;
    while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
      if (errno != EINTR) throw IoError("entropy", cat("no random bits: ", std::strerror(errno)));
    }
    return bits;
  }

 private:
  static constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

  // Of a pipe or a device of another user it is their choice who reads what is written, and when.
  static void require_own(const WritePlace& place, const struct stat& status) {
    if (is_of_us(status.st_uid)) return;
    throw IoError("file.write", cat("cannot write ", place.path(), ": it is ",
                                    S_ISFIFO(status.st_mode) ? "a pipe" : "no file, and", " that user ",
                                    status.st_uid, " made"));
  }

  // A pipe, a device, open for writing.
  static int open_special(const WritePlace& place) {
    const int out = File::open(place.folder(), place.name(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (out < 0 && errno == ENXIO) {
      const std::optional<struct stat> status = place.status();
      if (status && S_ISFIFO(status->st_mode))
        throw IoError("file.write", cat("cannot write ", place.path(), ": no process reads this pipe"));
      place.fail(ENXIO);
    }
    if (out < 0) place.fail(errno);
    struct stat status;
    try {
      if (::fstat(out, &status) != 0) place.fail(errno);
      if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) place.fail(EEXIST);  // put there meanwhile
      require_own(place, status);
      // From here on it waits for its reader.
      const int flags = ::fcntl(out, F_GETFL);
      if (::fcntl(out, F_SETFL, flags & ~O_NONBLOCK) != 0) place.fail(errno);
    } catch (...) {
      ::close(out);
      throw;
    }
    return out;
  }

  [[noreturn]] static void fail_to_replace(const WritePlace& place,
                                           const std::optional<struct stat>& before) {
    const int reason = errno;
    if (before && !is_of_us(before->st_uid) && (reason == EPERM || reason == EACCES))
      throw IoError("file.write", cat("cannot write ", place.path(), ": what is there belongs to user ",
                                      before->st_uid, ", and only its owner may replace it"));
    place.fail(reason);
  }

  // What a folder holds beside files of these names.
  static std::vector<std::string> foreign_names(const WritePlace& place, const std::string& folder,
                                                const std::map<std::string, std::string>& files,
                                                const std::vector<std::string>& replaced) {
    const int opened = File::open(place.folder(), folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const Folder listed(opened < 0 ? nullptr : ::fdopendir(opened));
    if (!listed) place.fail(errno);
    std::vector<std::string> out;
    for (const std::string& name : names_in(listed)) {
      struct stat status;
      const bool known = files.contains(name) || std::ranges::find(replaced, name) != replaced.end();
      const bool is_folder =
          ::fstatat(opened, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
      if (is_folder)
        out.push_back(cat("a folder ", name));
      else if (!known)
        out.push_back(name);
    }
    return out;
  }

  // The folder `temporary` gets the name of the place; what had it, if anything, is then at `temporary`.
  static void exchange(const WritePlace& place, const std::string& temporary,
                       const std::optional<struct stat>& before) {
    const int folder = place.folder();
    const char *from = temporary.c_str(), *to = place.name().c_str();
    if (::renameat2(folder, from, folder, to, before ? RENAME_EXCHANGE : 0) == 0) return;
    if (!before || (errno != EINVAL && errno != ENOSYS && errno != EXDEV)) fail_to_replace(place, before);
    // A file system that cannot exchange: two steps, and for a moment there is no folder.
    const std::string aside = temporary + ".old";
    if (::renameat(folder, to, folder, aside.c_str()) != 0 || ::renameat(folder, from, folder, to) != 0 ||
        ::renameat(folder, aside.c_str(), folder, from) != 0)
      fail_to_replace(place, before);
  }

  template <class Point>
  static double since_epoch(Point point) {
    return std::chrono::duration<double>(point.time_since_epoch()).count();
  }
};

}  // namespace

Env& posix_env() {
  static PosixEnv env;
  return env;
}

}  // namespace espalier
