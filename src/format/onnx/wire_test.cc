#include "format/onnx/wire.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier::onnx {
namespace {

using namespace std::literals;

// The encodings of https://protobuf.dev/programming-guides/encoding.
TEST(OnnxWire, WritesTheDocumentedBytes) {
  WireWriter out;
  out.integer(1, 150);
  out.bytes(2, "testing");
  out.packed(6, std::vector<int64_t>{3, 270, 86942});
  out.integer(1, -2);
  out.real(3, 1.0f);
  EXPECT_EQ(out.take(),
            "\x08\x96\x01"
            "\x12\x07testing"
            "\x32\x06\x03\x8e\x02\x9e\xa7\x05"
            "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
            "\x1d\x00\x00\x80\x3f"sv);
}

TEST(OnnxWire, ReadsPackedAndUnpackedNumbers) {
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  for (WireReader field("\x32\x06\x03\x8e\x02\x9e\xa7\x05\x30\x07\x1d\x00\x00\x80\x3f\x1a\x04\x00\x00\x00\x40"
                        "\x21\x00\x00\x00\x00\x00\x00\xf0\x3f"sv);
       field.next();) {
    if (field.number() == 6) field.append_to(integers);
    if (field.number() == 3) field.append_to(floats);
    if (field.number() == 4) field.append_to(doubles);
  }
  EXPECT_EQ(integers, (std::vector<int64_t>{3, 270, 86942, 7}));
  EXPECT_EQ(floats, (std::vector<float>{1, 2}));
  EXPECT_EQ(doubles, (std::vector<double>{1}));
}

TEST(OnnxWire, RefusesWhatIsNoMessage) {
  const auto refused = [](std::string_view bytes) {
    try {
      for (WireReader field(bytes); field.next();) static_cast<void>(field.bytes());
    } catch (const FormatError& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("\x08"), "the message ends inside a number");
  EXPECT_EQ(refused("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "a number of more than ten bytes");
  EXPECT_EQ(refused("\x12\x05test"), "a field of 5 bytes where 4 are left");
  EXPECT_EQ(refused("\x13"), "field 2 is of the unknown wire type 3");
  EXPECT_EQ(refused("\x02\x00"sv), "a field of the number 0");
  EXPECT_EQ(refused("\x08\x01"), "field 1 must be bytes and has wire type 0");
  EXPECT_EQ(refused("\x12\x04test"), "accepted");
}

}  // namespace
}  // namespace espalier::onnx
