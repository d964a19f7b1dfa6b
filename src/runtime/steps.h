// The kinds of step, but for tile programs: reference bodies, kernels, copies.
#pragma once

#include "kernels/kernel.h"
#include "runtime/plan.h"

namespace espalier {

// Runs op.eval. `first_region` is the position in plan.regions of the node's first region.
Step reference_step(Executable::Plan& plan, const Node& node, std::span<const Ref> inputs,
                    std::span<const Ref> outputs, uint32_t first_region);
Step kernel_step(Executable::Plan& plan, const PreparedKernel& kernel, std::span<const Ref> inputs,
                 std::span<const Ref> outputs, Ref workspace);
// Nothing happens when both are one place.
Step copy_step(Executable::Plan& plan, Ref from, Ref to, uint64_t bytes);

}  // namespace espalier
