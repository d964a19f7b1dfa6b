// What a test draws: more of it, and another one, by the environment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace espalier {

// Where a test that draws begins: ESPALIER_SEED, by default 1. What it finds names the seed that repeats it.
inline uint64_t first_seed() {
  const char* const asked = std::getenv("ESPALIER_SEED");
  return asked ? std::stoull(asked) : 1;
}

}  // namespace espalier
