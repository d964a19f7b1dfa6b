// The kernels, one preparing function each; registry.cc lists them. REQUIRES: a result has an element.
// Operands may have none: sums over them are their initial values.
#pragma once

#include <optional>

#include "kernels/kernel.h"

namespace espalier {

PreparedKernel prepare_dot_general(const KernelSite& site);
PreparedKernel prepare_dot_general_bf16(const KernelSite& site);
// Whether a bf16 product of this result runs on the processor's tiles.
bool runs_on_tiles(DType result);
PreparedKernel prepare_convolution(const KernelSite& site);
PreparedKernel prepare_convolution_bf16(const KernelSite& site);
PreparedKernel prepare_reduce(const KernelSite& site);
PreparedKernel prepare_reduce_half(const KernelSite& site);
PreparedKernel prepare_reduce_window(const KernelSite& site);
PreparedKernel prepare_select_and_scatter(const KernelSite& site);
PreparedKernel prepare_adam(const KernelSite& site);
inline constexpr size_t kAdamGradient = 3;  // the operand
PreparedKernel prepare_softmax(const KernelSite& site);
PreparedKernel prepare_softmax_cross_entropy(const KernelSite& site);
PreparedKernel prepare_softmax_cross_entropy_gradient(const KernelSite& site);
PreparedKernel prepare_argmax(const KernelSite& site);
PreparedKernel prepare_transpose(const KernelSite& site);
PreparedKernel prepare_broadcast(const KernelSite& site);
PreparedKernel prepare_slice(const KernelSite& site);
PreparedKernel prepare_pad(const KernelSite& site);
PreparedKernel prepare_gather(const KernelSite& site);
PreparedKernel prepare_indexed_scatter(const KernelSite& site);
PreparedKernel prepare_dynamic_update_slice(const KernelSite& site);
PreparedKernel prepare_all_reduce(const KernelSite& site);
PreparedKernel prepare_all_gather(const KernelSite& site);
PreparedKernel prepare_reduce_scatter(const KernelSite& site);
PreparedKernel prepare_collective_broadcast(const KernelSite& site);

// A kernel of f32 for a call on bf16 or f16: operands are widened, results rounded once.
PreparedKernel prepare_widened(const KernelSite& site, PreparedKernel (*prepare)(const KernelSite&));

// Element i of a broadcast is element (i / inner) % period of its operand.
struct Repetition {
  int64_t inner, period;
};
// Nothing when the operand's sizes do not stand together in order.
std::optional<Repetition> repetition(const TensorType& in, const TensorType& out, const Dims& axes);

}  // namespace espalier
