#include "validate/key_places.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// By the order of the numbers.
TEST(OrderedKeys, AreFoundInTheirRange) {
  std::mt19937_64 random(16);
  std::vector<FindKeys*> ways = {find_keys_portable};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx512) ways.push_back(find_keys_avx512);
#endif
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values(random() % 70);
    for (double& value : values) {
      do value = std::bit_cast<double>(random());
      while (!std::isfinite(value));
      if (random() % 3 == 0) value = std::ldexp(static_cast<double>(random() % 2001) - 1000, -3);
    }
    for (const double a : values) {
      for (const double b : values) ASSERT_EQ(a < b, ordered_key(a) < ordered_key(b)) << a << " " << b;
    }
    KeyRange range{.dropped = static_cast<int>(random() % 64)};
    range.first = (values.empty() ? 0 : ordered_key(values[0]) >> range.dropped) - random() % 3;
    range.count = random() % 4 ? random() % KeyRange::kNone : random() % 5;
    for (FindKeys* const find : ways) {
      std::vector<uint32_t> places(values.size());
      find(values.data(), values.size(), range, places.data());
      for (size_t i = 0; i < values.size(); ++i) {
        const uint64_t place = (ordered_key(values[i]) >> range.dropped) - range.first;
        ASSERT_EQ(places[i], place < range.count ? place : KeyRange::kNone) << values[i];
      }
    }
  }
}

}  // namespace
}  // namespace espalier
