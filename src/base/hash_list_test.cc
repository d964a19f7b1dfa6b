#include "base/hash_list.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(HashList, ComesBackInOrder) {
  const std::string text = hash_list_text({0xffffffffffffffff, 0, 0x1234});
  EXPECT_EQ(text, "00000000000000000000000000001234ffffffffffffffff");
  EXPECT_EQ(hash_list(text), (std::vector<uint64_t>{0, 0x1234, 0xffffffffffffffff}));
  EXPECT_EQ(hash_list("ffffffffffffffff0000000000000000"), (std::vector<uint64_t>{0, 0xffffffffffffffff}));
  EXPECT_EQ(hash_list(""), std::vector<uint64_t>());
}

TEST(HashList, OtherTextIsNone) {
  for (const char* text :
       {"0", "000000000000000g", "-000000000000001", "00000000000000001", "               1"})
    EXPECT_EQ(hash_list(text), std::nullopt) << text;
}

}  // namespace
}  // namespace espalier
