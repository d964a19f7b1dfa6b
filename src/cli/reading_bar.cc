#include "cli/reading_bar.h"

#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "base/input_file.h"
#include "format/byte_source.h"
#include "format/gzip.h"

namespace espalier::cli {
namespace {

constexpr uint64_t kMega = 1000000;

// 0 where it is not known, as of a pipe.
uint64_t size_of_file(const std::string& path) {
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(path, unknown);
  return unknown ? 0 : size;
}

}  // namespace

void ReadingBar::update(const std::string& path, const std::string& name, uint64_t bytes) {
  if (path != path_ || bytes < read_) {
    path_ = path;
    std::string first(2, '\0');
    open_bytes(path_)->read(first.data(), first.size());
    bar_.start(cat("reading ", source_name(name)),
               is_gzip(first) ? 0 : static_cast<int64_t>(size_of_file(path) / kMega), " MB");
  }
  read_ = bytes;
  bar_.update(static_cast<int64_t>(bytes / kMega));
}

}  // namespace espalier::cli
