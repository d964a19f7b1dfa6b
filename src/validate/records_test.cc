#include "validate/records.h"

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

}  // namespace
}  // namespace espalier
