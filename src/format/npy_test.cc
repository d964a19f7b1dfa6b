#include "format/npy.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

// A version 1 file with this header and data.
std::string file(const std::string& header, const std::string& data) {
  std::string out("\x93NUMPY\1\0", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

Literal parse(const std::string& bytes) {
  return parse_npy(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string npy_error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const FormatError& error) {
    return error.rule() + ": " + error.message();
  }
  return "read";
}

TEST(Npy, EveryDTypeComesBack) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3, 4}, Shape{2, 0, 4}}) {
      const Literal one = Literal::splat({dtype, shape}, 1.0);
      const Literal wanted = dtype == DType::kBF16 ? Literal::splat({DType::kF32, shape}, 1.0) : one;
      const std::string bytes = npy_bytes(one);
      EXPECT_TRUE(parse(bytes) == wanted) << name(dtype) << to_string(shape);
      EXPECT_EQ((bytes.size() - wanted.expanded().raw_bytes()) % 64, 0u);
    }
  }
}

TEST(Npy, ReadsWhatNumpyWrites) {
  // np.save of np.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype=np.int16)
  const Literal x = parse(file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n",
                               std::string("\1\0\4\0\2\0\5\0\3\0\6\0", 12)));
  const int16_t wanted[] = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(x == Literal::copy({DType::kI16, {2, 3}}, wanted));
  EXPECT_EQ(parse(file("{'shape': (), 'descr': '|u1', 'fortran_order': False}", "a")).type(),
            (TensorType{DType::kU8, {}}));
}

// Of three axes: numbers say where they stand, and the first axis varies fastest in the file.
TEST(Npy, ArraysInColumnMajorOrderHaveTheirElementsInPlace) {
  std::string stored;
  std::vector<uint8_t> wanted;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) stored += static_cast<char>(100 * i + 10 * j + k);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) wanted.push_back(static_cast<uint8_t>(100 * i + 10 * j + k));
  const Literal x = parse(file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }\n", stored));
  EXPECT_TRUE(x == Literal::copy({DType::kU8, {2, 3, 4}}, wanted.data()));
}

TEST(Npy, RefusesWhatIsNotThere) {
  const auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  };
  EXPECT_EQ(npy_error_of("PK"), "npy.magic: no .npy file: it must begin with \\x93NUMPY");
  EXPECT_EQ(npy_error_of(std::string("\x93NUMPY\1\0\xff\xff{}", 12)),
            "npy.size: a header of 65535 bytes in a file of 12");
  EXPECT_EQ(npy_error_of(file(header("<f4", "(2,)"), "1234")), "npy.size: 4 bytes hold no f32[2]");
  EXPECT_EQ(npy_error_of(file(header("<f4", "(1,)"), "12345678")),
            "npy.size: 8 bytes for f32[1], which has 4");
  EXPECT_EQ(npy_error_of(file(header("<f4", "(4611686018427387904, 4)"), "1234")),
            "npy.size: 4 bytes hold no f32[4611686018427387904,4]");
  EXPECT_EQ(npy_error_of(file(header("<c8", "(1,)"), "12345678")),
            "npy.header: unsupported dtype '<c8' at byte 15 of the header");
  EXPECT_EQ(npy_error_of(file(header(">f4", "(1,)"), "1234")),
            "npy.header: unsupported dtype '>f4' at byte 15 of the header");
  EXPECT_EQ(npy_error_of(file("{'descr': '<f4'}", "")),
            "npy.header: must hold descr, fortran_order and shape at byte 16 of the header");
  EXPECT_EQ(npy_error_of(file(header("|b1", "(1,)"), "\7")),
            "npy.bool: element 0 of a bool array is no 0 or 1");
}

TEST(Npy, FilesThatCannotBeReadAreNamed) {
  EXPECT_THROW(read_npy("/nowhere/x.npy"), IoError);
  EXPECT_THROW(write_npy("/nowhere/x.npy", Literal::splat({DType::kF32, {}}, 1.0)), IoError);
}

}  // namespace
}  // namespace espalier
