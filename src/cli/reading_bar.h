// Progress of reading files.
#pragma once

#include <cstdint>
#include <string>

#include "report/progress.h"

namespace espalier::cli {

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

}  // namespace espalier::cli
