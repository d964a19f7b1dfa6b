// The world outside: files, clock, entropy, behind one interface, so that tests can stand in for it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Thread-safe. Files raise IoError[file.<verb>] that names the path and the reason of the system. Whatever
// writes, makes or removes goes where the path leads this user (base/write_place.h): a link that another user
// made is refused, and so is a pipe or a device of another user.
class Env {
 public:
  virtual ~Env() = default;

  // The whole file.
  virtual std::string read_file(const std::string& path) = 0;
  // All or nothing: a temporary file beside `path` is written, synced and renamed onto it; the folder must
  // exist. A reader sees the old bytes or the new ones, also after a crash. A file of this user keeps its
  // mode. A pipe, a device and /dev/stdout are written through; a pipe that nobody reads is refused.
  // Readers::kOwner: for this user alone, whatever the mode of a file that was there.
  enum class Readers { kAsBefore, kOwner };
  void write_file(const std::string& path, std::string_view bytes, Readers readers = Readers::kAsBefore) {
    write_parts(path, {&bytes, 1}, readers);
  }
  // Of parts, one behind the other.
  virtual void write_parts(const std::string& path, std::span<const std::string_view> parts,
                           Readers readers = Readers::kAsBefore) = 0;
  // The same with a folder of files by name: whoever opens `path` afterwards finds all of the new files and
  // none of the old. A folder that was at `path` is gone, with the files in it; it is left as it is, and
  // IoError[file.foreign] raised, where it holds a name that is neither in `files` nor in `replaced`, or a
  // folder.
  virtual void write_folder(const std::string& path, const std::map<std::string, std::string>& files,
                            const std::vector<std::string>& replaced = {}) = 0;
  // Raises what writing a file or a folder there would raise now, and writes nothing.
  virtual void check_writable(const std::string& path) = 0;
  // The regular files of a folder by name: all of before or all of after a write_folder that goes on, never
  // of both.
  virtual std::map<std::string, std::string> read_folder(const std::string& path) = 0;
  // Removes the temporary files that writers of `path` left who were killed. REQUIRES: nobody writes it now.
  virtual void remove_left_overs(const std::string& path) = 0;
  // Raises IoError[file.find] where this user may not look.
  virtual bool exists(const std::string& path) = 0;
  // Names in a folder, sorted, without "." and "..".
  virtual std::vector<std::string> list_folder(const std::string& path) = 0;
  // With its parents; nothing to do when it exists.
  virtual void make_folder(const std::string& path) = 0;
  // A link itself, not what it leads to.
  virtual void remove_file(const std::string& path) = 0;

  // Seconds since 1970, for stamps.
  virtual double wall_seconds() = 0;
  // Seconds since some moment; never goes back, for durations.
  virtual double steady_seconds() = 0;
  // 64 unpredictable bits.
  virtual uint64_t entropy() = 0;
};

Env& posix_env();

}  // namespace espalier
