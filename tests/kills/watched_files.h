// What a program asks of the system about files: each fsync and rename, which this test program defines
// itself (watched_files.cc) and hands on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace espalier {

struct FileCall {
  enum class Kind : uint8_t { kSync, kRename };
  Kind kind = Kind::kSync;
  ino_t inode = 0;   // of what is synced, or gets another name
  off_t bytes = 0;   // of it then
  std::string name;  // of a rename: the new one, as it was given
};

// While it lives, calls of all threads are kept, one after the other. There is one at a time.
class WatchedFiles {
 public:
  WatchedFiles();
  ~WatchedFiles();
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

  std::vector<FileCall> calls() const;
  // The sync of this number from now on, from 0, fails with errno `reason` and syncs nothing.
  void fail_sync(int number, int reason);
};

}  // namespace espalier
