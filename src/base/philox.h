// Philox 4x32-10: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier {

// A stream of numbers on the host, for initial values and shuffles; `block` is the function that random_bits
// computes.
class Philox {
 public:
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

  // `stream` separates uses of one seed.
  explicit Philox(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  uint32_t next() {
    if (used_ == 4) {
      block_ = block({low(position_), high(position_), low(stream_), high(stream_)}, low(seed_), high(seed_));
      ++position_;
      used_ = 0;
    }
    return block_[used_++];
  }
  // In [0, 1), 24 bits.
  float uniform() { return static_cast<float>(next() >> 8) * 0x1p-24f; }
  // In [0, bound), without bias.
  uint64_t below(uint64_t bound) {
    const uint64_t limit = ~uint64_t{0} - ~uint64_t{0} % bound;
    for (;;) {
      const uint64_t bits = static_cast<uint64_t>(next()) << 32 | next();
      if (bits < limit) return bits % bound;
    }
  }

 private:
  static uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
  static uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  uint64_t seed_, stream_, position_ = 0;
  std::array<uint32_t, 4> block_{};
  size_t used_ = 4;
};

}  // namespace espalier
