// The file of a compiled program against its form, written down here by hand.
#include <bit>

#include "base/sha256.h"
#include "pjrt/program_cache_test.h"

namespace espalier::pjrt {
namespace {

std::string padded(std::string text) {
  text.resize(128, '\0');
  return text;
}
// Of 8 bytes, the lowest first.
std::string number(uint64_t value) {
  std::string out;
  for (int i = 0; i < 8; ++i) {
    out += static_cast<char>(value % 256);
    value /= 256;
  }
  return out;
}

TEST(ProgramFiles, HaveAHeadOfThisForm) {
  const StoredProgram stored{.name = std::string(64, 'a'),
                             .digest = std::string(64, 'b'),
                             .bytes = 0x0807060504030281,
                             .compile_seconds = 1.5,
                             .program = "step",
                             .device = "some kind"};
  const std::string rest = std::string(64, 'a') + std::string(64, 'b') + number(0x0807060504030281) +
                           number(0x3FF8000000000000) + padded("step") + padded("some kind");
  EXPECT_EQ(head_of(stored), "espalier program 01\n" + sha256_of(rest) + rest);
  const std::optional<StoredProgram> read = read_head(head_of(stored));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, stored.name);
  EXPECT_EQ(read->digest, stored.digest);
  EXPECT_EQ(read->bytes, stored.bytes);
  EXPECT_EQ(read->compile_seconds, 1.5);
  EXPECT_EQ(read->program, "step");
  EXPECT_EQ(read->device, "some kind");
  EXPECT_FALSE(read_head(head_of(stored) + "1"));
  EXPECT_FALSE(read_head(""));
}

TEST(ProgramFiles, CutLongNames) {
  for (const size_t size : {127u, 128u, 129u}) {
    const std::string name(size, 'n');
    const auto read = read_head(head_of(
        {.name = std::string(64, 'a'), .digest = std::string(64, 'b'), .program = name, .device = name}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->program, name.substr(0, 128));
    EXPECT_EQ(read->device, name.substr(0, 128));
  }
}

TEST_F(ProgramCacheTest, ADeviceWithoutAKindIsCalledByItsPlatform) {
  ProgramKey key = key_of("step");
  key.device_kind = "";
  ASSERT_TRUE(cache.put(key, "program", 1));
  EXPECT_EQ(cache.entries().at(0).device, "cpu 1");
}

TEST_F(ProgramCacheTest, WhatFitsJustIsKept) {
  const ProgramCache exact(folder, StoredProgram::kHeadBytes + 7);
  EXPECT_TRUE(exact.put(key_of("a"), "program", 1));
  EXPECT_EQ(exact.find(key_of("a")), "program");
  EXPECT_FALSE(exact.put(key_of("b"), "programs", 1));
  EXPECT_EQ(exact.find(key_of("a")), "program") << "it made room for nothing";
  EXPECT_TRUE(exact.put(key_of("c"), "other", 1));
  EXPECT_EQ(exact.find(key_of("a")), std::nullopt);
  EXPECT_EQ(exact.find(key_of("c")), "other");
}

TEST_F(ProgramCacheTest, FilesOfOthersStayAndCountForNothing) {
  // No program by its name, or no file.
  ASSERT_TRUE(cache.put(key_of("a"), "program", 1));
  for (const char* name : {"notes", "ABCDEF"}) write_bytes(cat(folder, "/", name), std::string(10'000, 'x'));
  write_bytes(cat(folder, "/", std::string(64, 'g')), std::string(10'000, 'x'));
  write_bytes(cat(folder, "/", std::string(63, 'a')), std::string(10'000, 'x'));
  const ProgramCache small(folder, 2 * (StoredProgram::kHeadBytes + 7));
  ASSERT_TRUE(small.put(key_of("b"), "program", 1));
  EXPECT_EQ(small.find(key_of("a")), "program");
  EXPECT_EQ(small.entries().size(), 2u);
  EXPECT_EQ(files().size(), 6u);
  EXPECT_EQ(small.clear().programs, 2);
  EXPECT_EQ(files().size(), 4u);
}

}  // namespace
}  // namespace espalier::pjrt
