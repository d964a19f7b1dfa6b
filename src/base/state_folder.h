// Where programs of this user keep what is asked for later, such as how a run ended.
#pragma once

#include <string>

#include "base/own_folder.h"

namespace espalier {

// The folder `name` in "espalier" of XDG_STATE_HOME, or else of ~/.local/state, or else of XDG_RUNTIME_DIR,
// whose content goes with the session; for this user alone, and made where it is not there. Not open where
// none can be used; why_not() then says so of each.
struct StateFolder {
  explicit StateFolder(const std::string& name);
  std::string path;
  OwnFolder folder;
  std::string why_not;
};

// Removes files of a folder that begin so, but for the `newest` ones.
void keep_newest(const OwnFolder& folder, const std::string& begin, size_t newest);

// A folder that is gone with it, for this user alone, below the folder for temporary files.
class TemporaryFolder {
 public:
  // Raises IoError[file.make].
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // A new file in it, open for reading and writing. Raises IoError[file.write].
  Descriptor create(const std::string& name) const;

 private:
  std::string path_;
  Descriptor above_, opened_;
};

}  // namespace espalier
