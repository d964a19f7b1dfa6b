// A folder of numbered checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier {

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // "FOLDER/checkpoint-12".
  std::string file(int64_t number) const;
  // In order; none where there is no folder. Raises IoError[file.*].
  std::vector<int64_t> numbers() const;
  // With what a writer left that was killed removed. REQUIRES: nobody writes there now.
  void prepare() const;
  // Removes all but the newest `most`; 0: none.
  void keep(int most) const;

 private:
  std::string path_;
};

}  // namespace espalier
