// Philox 4x32-10: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
#pragma once

#include <array>
#include <cstdint>

namespace espalier {

struct Philox {
  static constexpr int kRounds = 10;
  static constexpr uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
  static constexpr uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};

  static std::array<uint32_t, 4> block(std::array<uint32_t, 4> c, uint32_t key_0, uint32_t key_1) {
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t a = uint64_t{kMultiplier[0]} * c[0], b = uint64_t{kMultiplier[1]} * c[2];
      c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key_0, static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ c[3] ^ key_1, static_cast<uint32_t>(a)};
      key_0 += kWeyl[0];
      key_1 += kWeyl[1];
    }
    return c;
  }
};

}  // namespace espalier
