// Eager ops on a device: a program of one op each.
#pragma once

#include <vector>

#include "ir/device.h"
#include "ir/sink.h"

namespace espalier {

// The call on the device, where one of its inputs lies. Operands of the host that move (TensorNode::moves)
// are uploaded. Raises DeviceError[device.mix] for others and for those of another device, naming them; what
// the device refuses has the op's name. Programs are compiled once and kept; behind the twentieth the device
// notes that function() compiles many ops at once.
std::vector<Tensor> execute_there(const Call& call, Device& device, const RunContext& context);

}  // namespace espalier
