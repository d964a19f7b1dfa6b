// A file that one process holds, to keep others from what lies beside it.
#pragma once

#include <string>

#include "base/write_place.h"

namespace espalier {

// By flock(2): the system lets it go when the process ends, however it ends, so that a file which is left
// behind keeps nobody out. On file systems that know no locks everybody holds it.
class HeldFile {
 public:
  // Makes the file where it is not there. `who` is written into it, for those who are kept out. Raises
  // IoError[file.write], and [file.link] for a link of another user on the way.
  HeldFile(const std::string& path, const std::string& who);
  // Removes it where it is held.
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  bool is_held() const { return held_; }
  // What the one who holds it wrote, "" where this is the one, or nothing is written yet.
  const std::string& holder() const { return holder_; }

 private:
  bool take(const std::string& who);

  WritePlace place_;
  Descriptor file_;
  bool held_ = false;
  std::string holder_;
};

}  // namespace espalier
