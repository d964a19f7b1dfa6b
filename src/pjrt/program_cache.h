// Compiled programs on disk, so that a second start compiles none.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/own_folder.h"
#include "pjrt/program_key.h"

namespace espalier::pjrt {

// Loading a compiled program runs its code, so it comes only from a folder, and a file, that this user owns
// and nobody else writes into. Several threads and processes may use one folder. What is in it may vanish at
// any time: a cache that cannot be read holds nothing, and one that cannot be written keeps nothing.
class ProgramCache {
 public:
  static constexpr int64_t kCap = int64_t{1} << 30;

  // Programs lie in `folder`, which is made when the first one is kept.
  explicit ProgramCache(std::string folder, int64_t cap = kCap) : folder_(std::move(folder)), cap_(cap) {}
  // In the folder "programs" of ESPALIER_CACHE, or else of espalier in XDG_CACHE_HOME, or else in ~/.cache.
  // ESPALIER_CACHE "off", or empty, keeps nothing. ESPALIER_CACHE_BYTES is the cap.
  static ProgramCache of_user();

  // "" where there is none.
  const std::string& folder() const { return folder_; }
  int64_t cap() const { return cap_; }
  // Why it is not used, with what would change that; "" where it is.
  std::string why_not() const;
  // Why it keeps nothing more, where what it has is used all the same; "" where it keeps what comes. Found by
  // making a folder there, which goes at once.
  std::string why_not_kept() const;

  // Nothing where it is not there or damaged; what is damaged is removed.
  std::optional<std::string> find(const ProgramKey& key) const noexcept;
  // The least recently used ones go where it would exceed the cap. Whether it was kept.
  bool put(const ProgramKey& key, std::string_view bytes, double compile_seconds) const noexcept;

  // SHA-256 of a plugin's file. It is computed once a (device, inode, size, time of change), which this
  // object and the folder remember. Raises IoError[file.read].
  std::string content_of_plugin(const std::string& path);

  struct Entry {
    std::string name, program, device;
    int64_t bytes = 0;  // on disk
    double compile_seconds = 0;
    int64_t used = 0;  // nanoseconds since 1970
  };
  // The last used one first. Programs are not read for it, their heads are.
  std::vector<Entry> entries() const;

  struct Cleared {
    int64_t programs = 0, bytes = 0;
  };
  // Removes what a cache has written, and nothing else.
  Cleared clear() const;

 private:
  ProgramCache(std::string folder, int64_t cap, std::string above, std::string disabled)
      : folder_(std::move(folder)), cap_(cap), above_(std::move(above)), disabled_(std::move(disabled)) {}
  OwnFolder open(bool make) const;
  void make_room(const OwnFolder& folder, const std::string& name, int64_t bytes) const;

  std::string folder_;
  int64_t cap_;
  std::string above_;     // the folder around it, which must be as safe
  std::string disabled_;  // why
  std::mutex mutex_;
  std::map<std::string, std::string> plugins_;  // digests by what the system says of a file
};

// A file of the cache: a head of fixed size, then the program.
struct StoredProgram {
  static constexpr size_t kHeadBytes = 484;
  std::string name, digest;  // of the key, of the program
  uint64_t bytes = 0;        // of the program
  double compile_seconds = 0;
  std::string program, device;  // what people call them, cut where they are long
};
std::string head_of(const StoredProgram& stored);
// Nothing unless all bytes are as head_of() wrote them.
std::optional<StoredProgram> read_head(std::string_view head);

}  // namespace espalier::pjrt
