// A folder of a process that others find left over when the process was killed.
#pragma once

#include <string>

#include "base/own_folder.h"

namespace espalier {

// For this user alone. It is held (flock(2)) as long as its process lives, however that ends, so that a
// folder of its name which nobody holds is left over.
class HeldFolder {
 public:
  // Makes it in the folder `above`: `begin`, which ends with a dash, and 16 hexadecimal digits. Removes those
  // of this user there that are left over. Has no path where none can be made.
  HeldFolder(const std::string& above, const std::string& begin);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  // "" where there is none.
  const std::string& path() const { return path_; }

 private:
  std::string path_, name_;
  Descriptor above_, held_;
};

}  // namespace espalier
