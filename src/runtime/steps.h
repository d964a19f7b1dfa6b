// The kinds of step, but for tile programs: reference bodies, kernels, kernels with an epilogue, copies.
#pragma once

#include "kernels/kernel.h"
#include "runtime/plan.h"

namespace espalier {

// Runs op.eval. `first_region` is the position in plan.regions of the node's first region.
Step reference_step(Executable::Plan& plan, const Node& node, std::span<const Ref> inputs,
                    std::span<const Ref> outputs, uint32_t first_region);
Step kernel_step(Executable::Plan& plan, const PreparedKernel& kernel, std::span<const Ref> inputs,
                 std::span<const Ref> outputs, Ref workspace);
// Those of a kernel in two parts, which run in the order of their plan's `collectives`.
struct SplitSteps {
  Step begin, end;
};
SplitSteps split_steps(Executable::Plan& plan, const PreparedKernel& kernel, std::span<const Ref> inputs,
                       std::span<const Ref> outputs, Ref workspace);
// A kernel's step, then the tile program `tiles` over its result: part by part if it `takes_epilogue`.
Step followed_step(Executable::Plan& plan, Step kernel, bool takes_epilogue, Step tiles);
// Nothing happens when both are one place.
Step copy_step(Executable::Plan& plan, Ref from, Ref to, uint64_t bytes);

}  // namespace espalier
