// How many different hashes there were.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "validate/sketch_bytes.h"

namespace espalier {

// HyperLogLog (Flajolet and others, 2007): registers by a hash's first bits, each with the most zeros that
// led the rest of one, and one more. What it says depends on the hashes alone, not on their order nor on how
// they were merged.
class DistinctHashes {
 public:
  // The standard deviation of the estimate, of it.
  static double error();

  void note(uint64_t hash) {
    uint8_t& most = registers_[hash >> (64 - kBits)];
    const uint64_t rest = hash << kBits | 1ull << (kBits - 1);
    // Rarely: as many zeros lead it as `most` or more.
    if (rest >> (63 - most) <= 1) most = static_cast<uint8_t>(std::countl_zero(rest) + 1);
  }
  void merge(const DistinctHashes& other);
  uint64_t estimate() const;

  // As bytes. read() raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in);

 private:
  static constexpr int kBits = 14, kMost = 64 - kBits + 1;
  std::vector<uint8_t> registers_ = std::vector<uint8_t>(size_t{1} << kBits);
};

}  // namespace espalier
