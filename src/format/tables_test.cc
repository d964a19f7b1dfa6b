#include <zlib.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "format/csv_numbers.h"
#include "format/gzip.h"
#include "format/idx.h"
#include "tests/shared_data.h"

namespace espalier {
namespace {

std::string tables_gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

template <class F>
std::string tables_error_of(F f) {
  try {
    f();
  } catch (const FormatError& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "no error";
}

std::string bytes_of(std::initializer_list<int> values) { return std::string(values.begin(), values.end()); }

TEST(Gzip, InflatesAllMembers) {
  const std::string a(100000, 'a'), b = "second";
  EXPECT_EQ(gunzip(tables_gzipped(a)), a);
  EXPECT_EQ(gunzip(tables_gzipped(a) + tables_gzipped(b)), a + b);
  EXPECT_EQ(gunzip(tables_gzipped("")), "");
  const std::string whole(65536, 'x');
  EXPECT_EQ(gunzip(tables_gzipped(whole)), whole);
}

TEST(Gzip, RefusesDamage) {
  const std::string text = "some text that is long enough to be worth it", good = tables_gzipped(text);
  for (size_t size = 2; size < good.size(); ++size)
    EXPECT_EQ(tables_error_of([&] { gunzip(good.substr(0, size)); }).substr(0, 28),
              "gzip.data the data ends earl")
        << size;
  EXPECT_TRUE(tables_error_of([&] { gunzip(good + "x"); }).starts_with("gzip.data"));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::string found = text;
    tables_error_of([&] { found = gunzip(bad); });
    EXPECT_TRUE(found == text || (i < 2 && found == bad)) << "byte " << i << ": other text without an error";
  }
  EXPECT_EQ(tables_error_of([&] { gunzip(tables_gzipped(std::string(1000, 'a')), 999); }),
            "gzip.size unpacks to more than 999 bytes");
  EXPECT_EQ(gunzip(tables_gzipped(std::string(1000, 'a')), 1000).size(), 1000u);
}

TEST(Idx, ElementsAreBigEndian) {
  const Literal bytes = parse_idx(bytes_of({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(to_string(bytes.type()), "u8[2,3]");
  EXPECT_EQ(bytes.view().as<uint8_t>()[5], 255);
  const Literal shorts = parse_idx(bytes_of({0, 0, 0xb, 1, 0, 0, 0, 2, 0xff, 0xfe, 1, 2}));
  EXPECT_EQ(to_string(shorts.type()), "i16[2]");
  EXPECT_EQ(shorts.view().as<int16_t>()[0], -2);
  EXPECT_EQ(shorts.view().as<int16_t>()[1], 258);
  const Literal real = parse_idx(bytes_of({0, 0, 0xd, 0, 0x3f, 0xc0, 0, 0}));
  EXPECT_EQ(to_string(real.type()), "f32[]");
  EXPECT_EQ(real.view().as<float>()[0], 1.5f);
  const Literal none = parse_idx(bytes_of({0, 0, 0xe, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}));
  EXPECT_EQ(to_string(none.type()), "f64[0,4294967295]");
}

TEST(Idx, RefusesWhatDoesNotFit) {
  const auto error = [](std::initializer_list<int> bytes) {
    return tables_error_of([&] { parse_idx(bytes_of(bytes)); });
  };
  EXPECT_EQ(error({}).substr(0, 9), "idx.magic");
  EXPECT_EQ(error({0, 0, 8}).substr(0, 9), "idx.magic");
  EXPECT_EQ(error({0, 1, 8, 0, 7}).substr(0, 9), "idx.magic");
  EXPECT_EQ(error({0, 0, 10, 0, 7}), "idx.type unknown element code 10 at byte 2");
  EXPECT_EQ(error({0, 0, 8, 1, 0, 0, 0}).substr(0, 10), "idx.header");
  EXPECT_EQ(error({0, 0, 8, 1, 0, 0, 0, 2, 1}), "idx.size the header says u8[2], after it stand 1 bytes");
  EXPECT_EQ(error({0, 0, 8, 1, 0, 0, 0, 1, 1, 2}), "idx.size the header says u8[1], after it stand 2 bytes");
  // The product of these sizes is zero only after it has overflown.
  EXPECT_EQ(error({0, 0, 8, 4, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0}).substr(0, 8),
            "idx.size");
}

TEST(CsvNumbers, ReadsRows) {
  const Literal out = parse_csv_numbers("1,2.5\r\n-3e2,0\n7,8\r\n\r\n\n");
  EXPECT_EQ(to_string(out.type()), "f32[3,2]");
  const float expected[] = {1, 2.5f, -300, 0, 7, 8};
  EXPECT_TRUE(std::equal(expected, expected + 6, out.view().as<float>()));
}

TEST(CsvNumbers, ErrorsNameLineAndCell) {
  const auto error = [](const char* text) { return tables_error_of([&] { parse_csv_numbers(text); }); };
  EXPECT_EQ(error("1,2\n3,x"), "csv.number line 2, cell 2: \"x\" is not a number");
  EXPECT_EQ(error("1,2,"), "csv.number line 1, cell 3: \"\" is not a number");
  EXPECT_EQ(error("1,2\n3").substr(0, 11), "csv.columns");
  EXPECT_EQ(error(""), "csv.empty line 1: no rows, nothing but blanks");
  for (const char* word : {"inf", "nan", "1e39", "0x1", "1e999", "+-1", "1,-nan", "."})
    EXPECT_EQ(error(word).substr(0, 17), "csv.number line 1") << word;
  EXPECT_EQ(error("\x01\xc3\xbf"), "csv.number line 1, cell 1: \"?\xc3\xbf\" is not a number");
}

TEST(CsvNumbers, WholeNumbersAreExactOrRefused) {
  const Literal exact = parse_csv_numbers("16777216,-16777216,16777218,33554432.0,1e38,9007199254740992\n");
  const float expected[] = {16777216, -16777216, 16777218, 33554432, 1e38f, 9007199254740992.f};
  EXPECT_TRUE(std::equal(expected, expected + 6, exact.view().as<float>()));
  // The last is beyond f64, too, whose nearest is a power of two that f32 holds.
  for (const char* cell : {"16777217", "-16777217", "+0016777219", "33554433.00", "9007199254740993"}) {
    EXPECT_EQ(tables_error_of([&] { parse_csv_numbers(cat("1,2\n3,", cell, "\n")); }),
              cat("csv.exact line 2, cell 2: f32 does not hold ", cell,
                  " exactly, only whole numbers up to 16777216 each"));
  }
  // What is measured is rounded.
  const Literal measured = parse_csv_numbers("0.1,16777217.5,1.6777217e7,-3333333.3\n");
  const float nearest[] = {0.1f, 16777218, 16777216, -3333333.25f};
  EXPECT_TRUE(std::equal(nearest, nearest + 4, measured.view().as<float>()));
}

TEST(CsvNumbers, FilesMayBeGzip) {
  const std::string path = cat(::testing::TempDir(), "numbers-", posix_env().entropy(), ".csv.gz");
  posix_env().write_file(path, tables_gzipped("1,2\n3,4\n"));
  EXPECT_EQ(to_string(read_csv_numbers(path).type()), "f32[2,2]");
  posix_env().write_file(path, "1,2\n3,b\n");
  const std::string text = tables_error_of([&] { read_csv_numbers(path); });
  EXPECT_EQ(text, cat("csv.number ", path, ": line 2, cell 2: \"b\" is not a number"));
  const std::string idx = tables_error_of([&] { read_idx(path); });
  EXPECT_TRUE(idx.starts_with(cat("idx.magic ", path))) << idx;
  posix_env().write_file(path, tables_gzipped("1,2").substr(0, 12));
  const std::string gzip = tables_error_of([&] { read_idx(path); });
  EXPECT_TRUE(gzip.starts_with(cat("gzip.data ", path))) << gzip;
  std::filesystem::remove(path);
}

// Real files: the shared MNIST, where it is, and the digits of the quickstart.
TEST(Idx, Mnist) {
  const std::string folder = shared_data("mnist/");
  if (!posix_env().exists(folder + "t10k-images-idx3-ubyte.gz")) GTEST_SKIP() << folder << " is not here";
  EXPECT_EQ(to_string(read_idx(folder + "t10k-images-idx3-ubyte.gz").type()), "u8[10000,28,28]");
  const Literal labels = read_idx(folder + "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(to_string(labels.type()), "u8[10000]");
  EXPECT_EQ(labels.view().as<uint8_t>()[0], 7);
}

TEST(CsvNumbers, Digits) {
  const Literal digits = read_csv_numbers("examples/digits.csv.gz");
  EXPECT_EQ(to_string(digits.type()), "f32[1797,65]");
  const float* row = digits.view().as<float>();
  EXPECT_EQ(row[2], 5);
  EXPECT_EQ(row[64], 0);
  EXPECT_EQ(row[65 + 64], 1);
}

}  // namespace
}  // namespace espalier
