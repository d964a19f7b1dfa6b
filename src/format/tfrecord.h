// TFRecord: records of bytes, each behind its length and between two checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/byte_source.h"

namespace espalier {

// CRC-32C, as SSE 4.2 and TFRecord have it.
uint32_t crc32c_of(std::string_view bytes);

// Whether `bytes` begin with the length of a record and its checksum.
bool is_records(std::string_view bytes);
// Views into `bytes`, which stand at `offset` in their file. Raises FormatError[record.*] with the offset of
// what is damaged or cut off.
std::vector<std::string_view> parse_records(std::string_view bytes, uint64_t offset = 0);
std::string record_bytes(std::string_view record);

// Some whole records as they stand in their file.
struct RecordBlock {
  std::string bytes;
  int64_t first = 1;    // the number of the first one, from 1
  uint64_t offset = 0;  // where it stands
};

// A file of any size, cut behind records into blocks of a size or, but for the last, a little more.
class RecordBlocks {
 public:
  static constexpr uint64_t kLongest = uint64_t{256} << 20;

  explicit RecordBlocks(std::unique_ptr<ByteSource> source, size_t block = size_t{1} << 20)
      : source_(std::move(source)), block_(block) {}
  // False at the end. Lengths are checked, the records by parse_records(). Raises FormatError[record.*], also
  // for a record beyond kLongest.
  bool next(RecordBlock& out);

 private:
  void fill(size_t size);

  std::unique_ptr<ByteSource> source_;
  size_t block_;
  std::string rest_;  // begins with a record
  int64_t record_ = 1;
  uint64_t offset_ = 0;
};

}  // namespace espalier
