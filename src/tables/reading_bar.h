// Progress of reading files.
#pragma once

#include <cstdint>
#include <string>

#include "report/progress.h"

namespace espalier {

// Of the bytes of files that are read from their beginnings, once or more often.
class ReadingBar {
 public:
  // `bytes` of the file at `path` are read, which people call `name`.
  void update(const std::string& path, const std::string& name, uint64_t bytes);

 private:
  ProgressBar bar_;
  std::string path_;
  uint64_t read_ = 0;
};

// The bytes of a file; a bar shows how far it is read. Raises IoError.
std::string read_with_bar(const std::string& path);

}  // namespace espalier
