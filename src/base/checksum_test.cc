#include "base/checksum.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

// The check value of the catalogue of CRC algorithms, CRC-32/ISO-HDLC.
TEST(Checksum, IsCrc32OfWholesAndParts) {
  EXPECT_EQ(crc32_of("123456789", 9), 0xCBF43926u);
  EXPECT_EQ(crc32_of("56789", 5, crc32_of("1234", 4)), 0xCBF43926u);
  EXPECT_EQ(crc32_of(nullptr, 0, 7), 7u);
}

}  // namespace
}  // namespace espalier
