#include "tables/reading_bar.h"

#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "base/input_file.h"
#include "format/byte_source.h"
#include "format/gzip.h"

namespace espalier {
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

std::string read_with_bar(const std::string& path) {
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  const uint64_t size = size_of_file(path);
  // Small files, of which there may be many, need no large part.
  const size_t part = std::clamp<uint64_t>(size + 1, 1 << 16, 1 << 20);
  std::string out;
  out.reserve(size + part);
  ProgressBar bar;
  bar.start(cat("reading ", path), static_cast<int64_t>(size / kMega), " MB");
  for (size_t count = part; count == part;) {
    const size_t before = out.size();
    out.resize(before + part);
    count = source->read(out.data() + before, part);
    out.resize(before + count);
    bar.update(static_cast<int64_t>(out.size() / kMega));
  }
  return out;
}

}  // namespace espalier
