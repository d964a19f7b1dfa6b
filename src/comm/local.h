// Ranks that are threads of one process.
#pragma once

#include <memory>
#include <vector>

#include <espalier/communicator.h>

namespace espalier {

// One for each of `world` threads, in the order of ranks. Raises ValueError[comm.world] unless it is 1 to
// 256.
std::vector<std::shared_ptr<Communicator>> local_communicators(int world);

}  // namespace espalier
