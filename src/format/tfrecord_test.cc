#include "format/tfrecord.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

TEST(Records, ChecksumsAreCastagnolis) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c_of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c_of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c_of("123456789"), 0xe3069283u);
}

TEST(Records, AreReadBack) {
  const std::string bytes = record_bytes("first") + record_bytes("") + record_bytes(std::string(1000, 'x'));
  EXPECT_TRUE(is_records(bytes));
  const std::vector<std::string_view> records = parse_records(bytes);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0], "first");
  EXPECT_EQ(records[1], "");
  EXPECT_EQ(records[2], std::string(1000, 'x'));
}

TEST(Records, AnyDamageIsFound) {
  const std::string bytes = record_bytes("first");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_THROW(parse_records(damaged), FormatError) << i;
  }
  for (size_t size = 1; size < bytes.size(); ++size)
    EXPECT_THROW(parse_records(bytes.substr(0, size)), FormatError) << size;
  EXPECT_FALSE(is_records("a text"));
}

TEST(Records, OfBlocksAreThoseOfTheFile) {
  std::string bytes;
  std::vector<std::string> records;
  for (size_t i = 0; i < 300; ++i) {
    records.emplace_back(i * i % 977, static_cast<char>(i));
    bytes += record_bytes(records.back());
  }
  for (const size_t size : {size_t{1}, size_t{100}, size_t{5000}, bytes.size(), 2 * bytes.size()}) {
    RecordBlocks blocks(std::make_unique<TextSource>(bytes), size);
    std::vector<std::string> found;
    std::string all;
    for (RecordBlock block; blocks.next(block); all += block.bytes) {
      EXPECT_EQ(block.first, static_cast<int64_t>(found.size()) + 1);
      EXPECT_EQ(block.offset, all.size());
      for (const std::string_view record : parse_records(block.bytes)) found.emplace_back(record);
    }
    EXPECT_EQ(found, records) << size;
    EXPECT_EQ(all, bytes) << size;
  }
}

std::string mistake_of(const std::string& bytes) {
  RecordBlocks blocks(std::make_unique<TextSource>(bytes), 1);
  try {
    for (RecordBlock block; blocks.next(block);) parse_records(block.bytes, block.offset);
  } catch (const FormatError& error) {
    return error.message();
  }
  return "none";
}

TEST(Records, OfBlocksSayWhereTheyAreDamaged) {
  const std::string one = record_bytes("first"), bytes = one + one + one;
  EXPECT_EQ(mistake_of(bytes), "none");
  EXPECT_EQ(mistake_of(bytes.substr(0, 45)), "byte 42: a record begins with 12 bytes, 3 are left");
  EXPECT_EQ(mistake_of(bytes.substr(0, 62)),
            "byte 42: a record of 5 bytes, 8 are left for it and its checksum");
  std::string damaged = bytes;
  damaged[35] = 'x';
  EXPECT_EQ(mistake_of(damaged), "byte 21: the checksum of the record is another");
  damaged = bytes;
  damaged[21] = 6;
  EXPECT_EQ(mistake_of(damaged), "byte 21: the checksum of the record's length is another");
}

}  // namespace
}  // namespace espalier
