#include "format/checkpoint.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"

namespace espalier {
namespace {

Checkpoint example() {
  Checkpoint out{.seed = 18446744073709551615u, .epoch = 2, .step = 40, .stopped = true};
  out.run = {{"batch_size", "32"}, {"data", "f32[100,2] i32[100]"}};
  out.cursor.numbers = {{"elements", 18446744073709551615u}, {"seed", 0}};
  out.cursor.bytes = {{"sources/0/shards/1", std::string("a\0\xff\n", 4)}, {"nothing", ""}};
  out.history = {{"loss", {0.1, std::numeric_limits<double>::denorm_min()}}, {"val_loss", {1e300, -0.0}}};
  out.callbacks.resize(3);
  out.callbacks[1] = {{"wait", Literal::splat({DType::kF64, {}}, 3.0)},
                      {"a/b", Literal::of<uint8_t>({1, 2})}};
  out.variables = {{"model/dense/kernel", Literal::of<float>({1, 2, 3})},
                   {"optimizer/adam/step", Literal::splat({DType::kI64, {}}, int64_t{7})}};
  return out;
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.stopped, b.stopped);
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.cursor, b.cursor);
  EXPECT_EQ(a.history, b.history);
  EXPECT_EQ(a.callbacks, b.callbacks);
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (size_t i = 0; i < a.variables.size(); ++i) {
    EXPECT_EQ(a.variables[i].name, b.variables[i].name);
    EXPECT_EQ(a.variables[i].value, b.variables[i].value);
  }
}

TEST(CheckpointFile, ComesBackAsItWas) {
  expect_equal(parse_checkpoint(checkpoint_bytes(example())), example());
}

// A program that knows no bytes of sources reads what has none.
TEST(CheckpointFile, OnlyBytesOfSourcesNeedTheSecondVersion) {
  const auto version = [](const Checkpoint& checkpoint) {
    const std::string bytes = checkpoint_bytes(checkpoint);
    return parse_safetensors(std::as_bytes(std::span(bytes))).metadata.at("version");
  };
  Checkpoint checkpoint = example();
  EXPECT_EQ(version(checkpoint), "2");
  checkpoint.cursor.bytes.clear();
  EXPECT_EQ(version(checkpoint), "1");
}

TEST(CheckpointFile, EveryShorterFileIsRefused) {
  const std::string bytes = checkpoint_bytes(example());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(parse_checkpoint(std::string_view(bytes).substr(0, size)), FormatError) << size;
}

TEST(CheckpointFile, EveryFlippedBitIsRefusedOrMeansNothing) {
  const std::string bytes = checkpoint_bytes(example());
  size_t harmless = 0;
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    try {
      expect_equal(parse_checkpoint(damaged), example());
      ++harmless;
    } catch (const FormatError&) {
    } catch (const UnsupportedError&) {
    }
  }
  // Blanks that become other blanks behind the header.
  EXPECT_LT(harmless, 64u);
}

// Of a file that is `change`d and checked anew.
std::string rule_after(const std::function<void(Checkpoint&)>& change) {
  Checkpoint checkpoint = example();
  change(checkpoint);
  const std::string bytes = checkpoint_bytes(checkpoint);
  return rule_of([&] { parse_checkpoint(bytes); });
}

TEST(CheckpointFile, WhatCannotBeIsRefused) {
  EXPECT_EQ(rule_after([](Checkpoint&) {}), "nothing");
  EXPECT_EQ(rule_after([](Checkpoint& c) { c.epoch = -1; }), "checkpoint.metadata");
  EXPECT_EQ(rule_after([](Checkpoint& c) { c.epoch = int64_t{1} << 31; }), "checkpoint.metadata");
  EXPECT_EQ(rule_after([](Checkpoint& c) { c.step = -1; }), "checkpoint.metadata");
  EXPECT_EQ(rule_after([](Checkpoint& c) { c.history["loss"].push_back(1); }), "checkpoint.history");
  EXPECT_EQ(rule_after([](Checkpoint& c) { c.history["a"] = {1}; }), "checkpoint.history");
  EXPECT_EQ(rule_after([](Checkpoint& c) { c.callbacks.resize(4097); }), "checkpoint.metadata");
  SafeTensors other =
      parse_safetensors(std::as_bytes(std::span(std::string_view(checkpoint_bytes(example())))));
  other.metadata["version"] = "3";
  EXPECT_EQ(rule_of([&] { parse_checkpoint(safetensors_bytes(other)); }), "checkpoint.version");
  other.metadata["version"] = "2";
  other.arrays.push_back({"cursor/place", Literal::of<float>({1})});
  other.metadata["crc32"] = checkpoint_checksum(other);
  EXPECT_EQ(rule_of([&] { parse_checkpoint(safetensors_bytes(other)); }), "checkpoint.cursor");
  other.metadata["format"] = "another";
  EXPECT_EQ(rule_of([&] { parse_checkpoint(safetensors_bytes(other)); }), "checkpoint.format");
}

}  // namespace
}  // namespace espalier
