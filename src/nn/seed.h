// The seed of a run that goes on.
#pragma once

#include <cstdint>

namespace espalier {

// What seed() says from now on; the numbers of layers and the default generator stay as they are.
void continue_seed(uint64_t seed);

}  // namespace espalier
