// Whether eager ops have to look where their operands lie.
#pragma once

#include <atomic>

namespace espalier {

// Set by the first tensor of this process that lies on a device, for good.
inline std::atomic<bool> has_remote_tensors = false;

}  // namespace espalier
