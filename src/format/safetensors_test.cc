#include "format/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/dtype.h"
#include "espalier/error.h"

namespace espalier {
namespace {

SafeTensors safetensors_parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)));
}

// A file of this header and that many bytes of zeros.
std::string safetensors_file(const std::string& header, size_t bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(bytes, '\0');
}

std::string refusal(const std::string& bytes) {
  try {
    safetensors_parse(bytes);
  } catch (const FormatError& error) {
    return error.rule();
  }
  return "";
}

template <class T>
std::vector<double> values(const SafeTensors& tensors, const std::string& name, const Shape& shape) {
  const Literal* array = tensors.find(name);
  if (!array || array->type() != TensorType{dtype_of<T>(), shape}) return {-99};
  std::vector<double> out;
  for (int64_t i = 0; i < array->type().elements(); ++i)
    out.push_back(static_cast<double>(static_cast<const T*>(array->raw())[i]));
  return out;
}

TEST(SafeTensors, ReadsWhatTheReferenceWrote) {
  const SafeTensors tensors = read_safetensors("tests/golden/peer.safetensors");
  EXPECT_EQ(tensors.arrays.size(), 8u);
  EXPECT_EQ(tensors.metadata.at("made by"), "the peer");
  using V = std::vector<double>;
  EXPECT_EQ(values<float>(tensors, "layer/kernel", {2, 3}), (V{0, 0.25, 0.5, 0.75, 1, 1.25}));
  EXPECT_EQ(values<Float16>(tensors, "half", {3}), (V{0.5, -2, 65504}));
  EXPECT_EQ(values<BFloat16>(tensors, "bf16", {2})[0], 1.5);
  EXPECT_EQ(values<int64_t>(tensors, "counts", {2}), (V{-1, 1099511627776.0}));
  EXPECT_EQ(values<uint8_t>(tensors, "bytes", {1, 2}), (V{0, 255}));
  EXPECT_EQ(values<bool>(tensors, "truth", {3}), (V{1, 0, 1}));
  EXPECT_EQ(values<double>(tensors, "scalar", {}), (V{2.5}));
  EXPECT_EQ(values<int32_t>(tensors, "empty", {0, 4}), V{});
}

TEST(SafeTensors, EveryDTypeComesBack) {
  SafeTensors out;
  out.metadata["key"] = "value \"quoted\"";
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    out.arrays.push_back({cat("a/", name(dtype)), Literal::splat({dtype, {2, 3}}, 1.0)});
  }
  const std::string bytes = safetensors_bytes(out);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header % 8, 0u);
  const SafeTensors back = safetensors_parse(bytes);
  ASSERT_EQ(back.arrays.size(), out.arrays.size());
  for (size_t i = 0; i < out.arrays.size(); ++i) {
    EXPECT_EQ(back.arrays[i].name, out.arrays[i].name);
    EXPECT_TRUE(back.arrays[i].value == out.arrays[i].value) << out.arrays[i].name;
  }
  EXPECT_EQ(back.metadata, out.metadata);
  EXPECT_EQ(safetensors_bytes(back), bytes);
}

TEST(SafeTensors, NamesAreUtf8) {
  SafeTensors arrays, metadata;
  arrays.arrays.push_back({"caf\xe9", Literal::of<float>({1})});
  metadata.metadata["name"] = "caf\xe9";
  EXPECT_EQ(rule_of([&] { safetensors_bytes(arrays); }), "safetensors.names");
  EXPECT_EQ(rule_of([&] { safetensors_bytes(metadata); }), "safetensors.names");
}

TEST(SafeTensors, RefusesWhatTheFormatForbids) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(refusal(safetensors_file("{" + a + "}", 8)), "");
  EXPECT_EQ(refusal(""), "safetensors.header");
  EXPECT_EQ(refusal(safetensors_file("{" + a + "}", 8).substr(0, 20)), "safetensors.header");
  EXPECT_EQ(refusal(safetensors_file("[]", 0)), "safetensors.header");
  EXPECT_EQ(refusal(safetensors_file("{" + a, 8)), "safetensors.header");
  EXPECT_EQ(refusal(safetensors_file("{\"a\":{\"a\":{}}}", 8)), "safetensors.entry");
  EXPECT_EQ(refusal(safetensors_file("{\"a\":[]}", 0)), "safetensors.header");
  EXPECT_EQ(refusal(safetensors_file("{" + a + "," + a + "}", 8)), "safetensors.names");
  EXPECT_EQ(refusal(safetensors_file(R"({"a":{"dtype":"F32","shape":[2]}})", 8)), "safetensors.entry");
  EXPECT_EQ(refusal(safetensors_file(R"({"a":{"dtype":"","shape":[2],"data_offsets":[0,8]}})", 8)),
            "safetensors.dtype");
  EXPECT_EQ(refusal(safetensors_file(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8)),
            "safetensors.header");
  // Bytes that are missing, left over, shared, or more than any file has.
  EXPECT_EQ(refusal(safetensors_file("{" + a + "}", 7)), "safetensors.offsets");
  EXPECT_EQ(refusal(safetensors_file("{" + a + "}", 9)), "safetensors.offsets");
  EXPECT_EQ(refusal(safetensors_file(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)),
            "safetensors.offsets");
  EXPECT_EQ(
      refusal(safetensors_file("{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8)),
      "safetensors.offsets");
  // A gap or an overlap, though each array ends where it should.
  for (const char* offsets : {"2,8", "3,8", "5,8", "4,4", "8,8", "8,4"})
    EXPECT_EQ(
        refusal(safetensors_file(cat(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)",
                                     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[)", offsets, "]}}"),
                                 8)),
        "safetensors.offsets")
        << offsets;
  EXPECT_EQ(
      refusal(safetensors_file(
          R"({"a":{"dtype":"F32","shape":[281474976710656,281474976710656],"data_offsets":[0,8]}})", 8)),
      "safetensors.offsets");
  EXPECT_EQ(
      refusal(safetensors_file(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 0) + "\x02"),
      "safetensors.bool");
}

TEST(SafeTensors, ArraysOfTypesThatAreNotReadAreListedAndRefusedToWhoAsks) {
  const std::string a = R"("a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]})";
  const std::string x = R"("x":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[2,6]})";
  const std::string bytes = safetensors_file("{" + a + "," + x + "}", 6);
  const SafeTensors file = parse_safetensors(std::as_bytes(std::span(bytes)));
  ASSERT_EQ(file.arrays.size(), 1u);
  EXPECT_NE(file.find("a"), nullptr);
  EXPECT_EQ(file.find("y"), nullptr);
  EXPECT_EQ(file.unread, (std::map<std::string, std::string>{{"x", "F8_E4M3"}}));
  EXPECT_EQ(rule_of([&] { file.find("x"); }), "safetensors.dtype");
  // Its bytes are accounted for all the same.
  EXPECT_EQ(refusal(safetensors_file("{" + a + "," + x + "}", 7)), "safetensors.offsets");
  EXPECT_EQ(refusal(safetensors_file("{" + a + "," + x + "}", 5)), "safetensors.offsets");
}

TEST(SafeTensors, NamesThatCannotStandAreRefused) {
  const Literal one = Literal::splat({DType::kF32, {}}, 1.0);
  EXPECT_THROW(safetensors_bytes({{{"a", one}, {"a", one}}, {}}), ValueError);
  EXPECT_THROW(safetensors_bytes({{{"__metadata__", one}}, {}}), ValueError);
}

}  // namespace
}  // namespace espalier
