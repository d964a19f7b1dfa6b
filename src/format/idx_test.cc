#include "format/idx.h"

#include <zlib.h>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/error.h"
#include "format/csv_numbers.h"
#include "format/gzip.h"

namespace espalier {
namespace {

TEST(Idx, ReadsBigEndianElements) {
  const std::string bytes("\0\0\x0c\x02\0\0\0\x01\0\0\0\x02\0\0\x01\0\xff\xff\xff\xfe", 20);
  const Literal array = parse_idx(bytes);
  EXPECT_EQ(array.type(), (TensorType{DType::kI32, {1, 2}}));
  EXPECT_EQ(array.view().as<int32_t>()[0], 256);
  EXPECT_EQ(array.view().as<int32_t>()[1], -2);
}

TEST(Idx, RefusesWhatIsNoIdx) {
  EXPECT_EQ(rule_of([] { parse_idx("abcd"); }), "idx.magic");
  EXPECT_EQ(rule_of([] { parse_idx(std::string("\0\0\x07\x01", 4)); }), "idx.type");
  EXPECT_EQ(rule_of([] { parse_idx(std::string("\0\0\x08\x02\0\0", 6)); }), "idx.header");
  EXPECT_EQ(rule_of([] { parse_idx(std::string("\0\0\x08\x01\0\0\0\x03\x01\x02", 10)); }), "idx.size");
  std::string huge(20, '\xff');
  huge.replace(0, 4, std::string("\0\0\x0e\x04", 4));
  EXPECT_EQ(rule_of([&] { parse_idx(huge); }), "idx.size");
}

TEST(Csv, NumbersLinesAndPlaces) {
  const Literal table = parse_csv_numbers("1,2.5\n-3,4e1\r\n\n");
  EXPECT_EQ(table.type(), (TensorType{DType::kF32, {2, 2}}));
  EXPECT_EQ(table.view().as<float>()[3], 40);
  EXPECT_EQ(rule_of([] { parse_csv_numbers("1,2\n3\n"); }), "csv.columns");
  EXPECT_EQ(rule_of([] { parse_csv_numbers("1,2\n3\n"); }), "csv.columns");
  try {
    parse_csv_numbers("1,2\n3,x4\n");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.message(), "line 2, cell 2: \"x4\" is not a number");
  }
}

TEST(Gzip, RoundTripDamageAndLimit) {
  const std::string text(100000, 'a');
  std::string packed(2000, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed = packed.substr(0, packed.size() - stream.avail_out);
  deflateEnd(&stream);

  EXPECT_EQ(gunzip("plain"), "plain");
  EXPECT_EQ(gunzip(packed), text);
  EXPECT_EQ(gunzip(packed + packed), text + text);
  EXPECT_EQ(rule_of([&] { gunzip(packed, 1000); }), "gzip.size");
  EXPECT_EQ(rule_of([&] { gunzip(packed.substr(0, packed.size() / 2)); }), "gzip.data");
}

}  // namespace
}  // namespace espalier
