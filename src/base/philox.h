// Philox4x32-10 on the host (Salmon et al. 2011): initial values, shuffles. Any position is reachable at
// once.
#pragma once

#include <array>
#include <cstdint>

namespace espalier {

class Philox {
 public:
  // `stream` separates uses of one seed.
  explicit Philox(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  uint32_t next() {
    if (used_ == 4) {
      block_ = block(seed_, position_++, stream_);
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

  static std::array<uint32_t, 4> block(uint64_t key, uint64_t low, uint64_t high) {
    std::array<uint32_t, 4> c{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                              static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
      const uint64_t a = uint64_t{0xd2511f53u} * c[0], b = uint64_t{0xcd9e8d57u} * c[2];
      c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    }
    return c;
  }

 private:
  uint64_t seed_, stream_, position_ = 0;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace espalier
