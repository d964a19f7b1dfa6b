#include "format/tfrecord.h"

#include <array>
#include <cstring>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kHead = 12, kTail = 4;  // length and checksum; checksum

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
    table[byte] = value;
  }
  return table;
}

// Files hold checksums rotated and shifted, so that the checksum of bytes that hold theirs is no constant.
uint32_t masked(std::string_view bytes) {
  const uint32_t crc = crc32c_of(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <class T>
T load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

uint64_t size_of_record(std::string_view rest, uint64_t offset) {
  if (rest.size() < kHead)
    throw FormatError("record.size", cat("byte ", offset, ": a record begins with ", kHead, " bytes, ",
                                         rest.size(), " are left"));
  if (!is_records(rest))
    throw FormatError("record.checksum",
                      cat("byte ", offset, ": the checksum of the record's length is another"));
  return load<uint64_t>(rest, 0);
}

void check_whole(std::string_view rest, uint64_t size, uint64_t offset) {
  if (size > rest.size() - kHead || rest.size() - kHead - size < kTail)
    throw FormatError("record.size", cat("byte ", offset, ": a record of ", size, " bytes, ",
                                         rest.size() - kHead, " are left for it and its checksum"));
}

}  // namespace

uint32_t crc32c_of(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc_table();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

bool is_records(std::string_view bytes) {
  return bytes.size() >= kHead && masked(bytes.substr(0, 8)) == load<uint32_t>(bytes, 8);
}

std::vector<std::string_view> parse_records(std::string_view bytes, uint64_t offset) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    const uint64_t size = size_of_record(rest, offset + at);
    check_whole(rest, size, offset + at);
    const std::string_view record = rest.substr(kHead, size);
    if (masked(record) != load<uint32_t>(rest, kHead + size))
      throw FormatError("record.checksum",
                        cat("byte ", offset + at, ": the checksum of the record is another"));
    out.push_back(record);
    at += kHead + size + kTail;
  }
  return out;
}

std::string record_bytes(std::string_view record) {
  const std::string size = raw<uint64_t>(record.size());
  return size + raw(masked(size)) + std::string(record) + raw(masked(record));
}

// Reads on until `rest_` has `size` bytes, or all there are.
void RecordBlocks::fill(size_t size) {
  constexpr size_t kPart = size_t{1} << 18;
  while (rest_.size() < size) {
    const size_t held = rest_.size();
    rest_.resize(held + kPart);
    rest_.resize(held + source_->read(rest_.data() + held, kPart));
    if (rest_.size() < held + kPart) return;
  }
}

bool RecordBlocks::next(RecordBlock& out) {
  size_t end = 0;
  int64_t count = 0;
  for (; end < block_; ++count) {
    fill(end + kHead);
    if (end == rest_.size()) break;
    const uint64_t size = size_of_record(std::string_view(rest_).substr(end), offset_ + end);
    if (size > kLongest)
      throw FormatError("record.size", cat("byte ", offset_ + end, ": a record of ", size, " bytes, at most ",
                                           kLongest, " are read"));
    fill(end + kHead + size + kTail);
    check_whole(std::string_view(rest_).substr(end), size, offset_ + end);
    end += kHead + size + kTail;
  }
  out = {rest_.substr(0, end), record_, offset_};
  rest_.erase(0, end);
  record_ += count;
  offset_ += end;
  return count > 0;
}

}  // namespace espalier
