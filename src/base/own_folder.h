// A folder into which nobody but this user can write. What is run must come from such a one.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier {

// An open file or folder; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// A file of such a folder, open for reading: regular, this user's, and nobody else writes into it.
class OwnFile {
 public:
  OwnFile(std::string name, Descriptor opened, const struct stat& status)
      : name_(std::move(name)), opened_(std::move(opened)), status_(status) {}
  const std::string& name() const { return name_; }
  uint64_t size() const { return static_cast<uint64_t>(status_.st_size); }
  // Nanoseconds since 1970.
  int64_t written() const;
  ino_t inode() const { return status_.st_ino; }
  // "" where there are not so many.
  std::string read(uint64_t from, uint64_t bytes) const;
  // As if it had been written now.
  void touch() const;

 private:
  std::string name_;
  Descriptor opened_;
  struct stat status_;
};

// Every name is looked up in the folder that was checked, whatever its path stands for by then.
class OwnFolder {
 public:
  // One that is not there is made, with the folders above it, where `make` says so. Raises nothing.
  OwnFolder(const std::string& path, bool make);
  explicit operator bool() const { return static_cast<bool>(opened_); }
  // Why it is not open; "" where it is, and where it is merely not there.
  const std::string& why_not() const { return why_not_; }

  // Sorted, without "." and "..".
  std::vector<std::string> names() const;
  // Nothing for what is not there, no regular file, another user's, or open to writers.
  std::optional<OwnFile> open(const std::string& name) const;
  // For this user alone, whole or not at all. False where it cannot be written.
  bool write(const std::string& name, std::span<const std::string_view> parts) const;
  // Whether it was there.
  bool remove(const std::string& name) const;
  // Not if another one has its name by now.
  void remove(const OwnFile& file) const;
  // Why nothing can be written into the folder, or why it cannot be made where it is not there; "" where it
  // can. Found by making a folder in it, or in the nearest one above it that is there, which goes at once.
  static std::string why_not_written(const std::string& path);
  // What write() leaves behind when its process is killed.
  static bool is_left_over(const std::string& name);

 private:
  void make_it(const std::string& path);
  Descriptor opened_;
  std::string why_not_;
};

}  // namespace espalier
