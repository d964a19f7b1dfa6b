// Shards of uneven sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/workers_test.h"

namespace espalier {

// What workers raise that fit has not told.
inline constexpr const char* kTestTold = "the test told them";
inline const std::vector<int64_t> kUneven = {13, 0, 22, 1, 9, 17, 5, 11};

}  // namespace espalier
