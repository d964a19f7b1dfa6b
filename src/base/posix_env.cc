#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

[[noreturn]] void fail(const char* verb, const std::string& path, int reason) {
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

constexpr std::string_view kPart = ".part";

class File {
 public:
  File(const std::string& path, int flags, const char* verb) : File(path, flags, verb, path) {}
  // `shown` is the name that errors give it.
  File(const std::string& path, int flags, const char* verb, const std::string& shown)
      : File(open(AT_FDCWD, path, flags), verb, shown) {}
  // What open() gave.
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

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

class PosixEnv final : public Env {
 public:
  std::string read_file(const std::string& path) override {
    return read_all(File(path, O_RDONLY, "read"), path);
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
        const int opened = File::open(descriptor, name, O_RDONLY);
        if (opened < 0 && errno == ENOENT) continue;
        out[name] = read_all(File(opened, "read", inside), inside);
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

  void write_parts(const std::string& wanted, std::span<const std::string_view> parts) override {
    const std::string path = real_path(wanted);
    struct stat status;
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
      // A device, a pipe: its bytes go through it, its name stays.
      if (S_ISDIR(status.st_mode)) fail("write", wanted, EISDIR);
      const File file(path, O_WRONLY, "write");
      for (const std::string_view part : parts) write_all(file, part);
      return;
    }
    const std::string temporary = temporary_of(path);
    try {
      const File file(temporary, O_WRONLY | O_CREAT | O_EXCL, "write", wanted);
      if (exists) file.check(::fchmod(file.descriptor(), status.st_mode & 07777) == 0);
      for (const std::string_view part : parts) write_all(file, part);
      file.sync();
      if (::rename(temporary.c_str(), path.c_str()) != 0) fail("write", path, errno);
    } catch (...) {
      ::unlink(temporary.c_str());
      throw;
    }
    const std::string folder = folder_of(path);
    File(folder, O_RDONLY | O_DIRECTORY, "sync").sync();
  }

  void write_folder(const std::string& wanted, const std::map<std::string, std::string>& files) override {
    namespace fs = std::filesystem;
    std::error_code none;
    const fs::path real = fs::canonical(wanted, none);
    std::string path = none ? wanted : real.string();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const std::string temporary = temporary_of(path);
    std::error_code ignored;
    struct stat status;
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && !S_ISDIR(status.st_mode)) fail("write", path, ENOTDIR);
    if (::mkdir(temporary.c_str(), 0777) != 0) fail("write", path, errno);
    try {
      for (const auto& [name, bytes] : files) {
        const std::string inside = cat(temporary, "/", name);
        const File file(inside, O_WRONLY | O_CREAT | O_EXCL, "write", inside);
        write_all(file, bytes);
        file.sync();
      }
      File(temporary, O_RDONLY | O_DIRECTORY, "sync").sync();
      // In one step with what was there, which then lies at `temporary`.
      if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), exists ? RENAME_EXCHANGE : 0) !=
          0) {
        if (!exists || (errno != EINVAL && errno != ENOSYS && errno != EXDEV)) fail("write", path, errno);
        // A file system that cannot exchange: two steps, and for a moment there is no folder.
        const std::string aside = temporary + ".old";
        if (::rename(path.c_str(), aside.c_str()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
          fail("write", path, errno);
        fs::rename(aside, temporary);
      }
    } catch (...) {
      fs::remove_all(temporary, ignored);
      throw;
    }
    if (exists) fs::remove_all(temporary, ignored);
    const std::string folder = folder_of(path);
    File(folder, O_RDONLY | O_DIRECTORY, "sync").sync();
  }

  void remove_left_overs(const std::string& wanted) override {
    const std::string path = real_path(wanted), folder = folder_of(path);
    const size_t slash = path.rfind('/');
    const std::string begin = path.substr(slash == std::string::npos ? 0 : slash + 1) + ".";
    for (const std::string& name : list_folder(folder)) {
      if (!name.starts_with(begin) || !name.ends_with(kPart) || name.size() < begin.size() + kPart.size())
        continue;
      const std::string middle = name.substr(begin.size(), name.size() - begin.size() - kPart.size());
      if (middle.find_first_not_of("0123456789-") == std::string::npos && !middle.empty())
        remove_all(folder + "/" + name);
    }
  }

  static void remove_all(const std::string& path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) fail("remove", path, error.value());
  }

  // The file that a link stands for.
  static std::string real_path(const std::string& path) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(path, none);
    return none ? path : real.string();
  }

  std::string temporary_of(const std::string& path) {
    return cat(path, ".", static_cast<int64_t>(::getpid()), "-", entropy(), kPart);
  }

  static void write_all(const File& file, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(file.descriptor(), bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      file.check(wrote >= 0);
      bytes.remove_prefix(static_cast<size_t>(wrote));
    }
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  std::vector<std::string> list_folder(const std::string& path) override {
    return names_in(open_folder("list", path));
  }

  void make_folder(const std::string& path) override {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) fail("make", part, errno);
      if (end == std::string::npos) break;
    }
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) fail("make", path, errno);
    if (!S_ISDIR(status.st_mode)) fail("make", path, ENOTDIR);
  }

  void remove_file(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) fail("remove", path, errno);
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
