#include "ops/registry.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace espalier {
namespace {

struct Entry {
  const OpDef* op;
  DType dtype;  // of the first operand
  PreparedKernel (*prepare)(const KernelSite&);
};

template <PreparedKernel (*kPrepare)(const KernelSite&)>
PreparedKernel through_f32(const KernelSite& site) {
  return prepare_widened(site, kPrepare);
}

// The list of fast kernels.
const Entry kEntries[] = {
    {&op_dot_general, DType::kF32, prepare_dot_general},
    {&op_dot_general, DType::kBF16, prepare_dot_general_bf16},
    {&op_dot_general, DType::kF16, through_f32<prepare_dot_general>},
    {&op_convolution, DType::kF32, prepare_convolution},
    {&op_convolution, DType::kBF16, prepare_convolution_bf16},
    {&op_convolution, DType::kF16, through_f32<prepare_convolution>},
    {&op_reduce, DType::kF32, prepare_reduce},
    {&op_reduce, DType::kBF16, prepare_reduce_half},
    {&op_reduce, DType::kF16, prepare_reduce_half},
    {&op_reduce_window, DType::kF32, prepare_reduce_window},
    {&op_reduce_window, DType::kBF16, prepare_reduce_window},
    {&op_reduce_window, DType::kF16, prepare_reduce_window},
    {&op_select_and_scatter, DType::kF32, prepare_select_and_scatter},
    {&op_select_and_scatter, DType::kBF16, prepare_select_and_scatter},
    {&op_select_and_scatter, DType::kF16, prepare_select_and_scatter},
    {&op_adam, DType::kF32, prepare_adam},
    {&op_softmax, DType::kF32, prepare_softmax},
    {&op_softmax, DType::kF16, through_f32<prepare_softmax>},
    {&op_softmax_cross_entropy, DType::kF32, prepare_softmax_cross_entropy},
    {&op_softmax_cross_entropy, DType::kF16, through_f32<prepare_softmax_cross_entropy>},
    {&op_softmax_cross_entropy_gradient, DType::kF32, prepare_softmax_cross_entropy_gradient},
    {&op_softmax_cross_entropy_gradient, DType::kF16, through_f32<prepare_softmax_cross_entropy_gradient>},
    {&op_argmax, DType::kF32, prepare_argmax},
    {&op_argmax, DType::kF16, through_f32<prepare_argmax>},
    {&op_transpose, DType::kF32, prepare_transpose},
    {&op_transpose, DType::kI32, prepare_transpose},
    {&op_broadcast_in_dim, DType::kF32, prepare_broadcast},
    {&op_broadcast_in_dim, DType::kI32, prepare_broadcast},
    {&op_slice, DType::kF32, prepare_slice},
    {&op_slice, DType::kI32, prepare_slice},
    {&op_slice, DType::kBF16, prepare_slice},
    {&op_slice, DType::kF16, prepare_slice},
    {&op_pad, DType::kF32, prepare_pad},
    {&op_pad, DType::kI32, prepare_pad},
    {&op_pad, DType::kBF16, prepare_pad},
    {&op_pad, DType::kF16, prepare_pad},
};

void run_nothing(const KernelCall&) {}

}  // namespace

PreparedKernel prepare_kernel(const KernelSite& site) {
  if (site.inputs.empty()) return {};
  for (const Entry& entry : kEntries) {
    if (entry.op != &site.op || entry.dtype != site.dtype) continue;
    // Asked once, here: loops that write a first block, or divide by a number of rows, need not ask again.
    const bool empty =
        std::ranges::all_of(site.outputs, [](const TensorType* type) { return type->elements() == 0; });
    return empty ? PreparedKernel{run_nothing, nullptr} : entry.prepare(site);
  }
  return {};
}

bool casts_operand(const OpDef& op, size_t operand, DType memory, DType result) {
  if (&op == &op_adam) return operand == kAdamGradient && (memory == DType::kBF16 || memory == DType::kF16);
  return &op == &op_dot_general && memory == DType::kF32 && runs_on_tiles(result);
}

bool has_kernel(const OpDef& op, DType dtype) {
  for (const Entry& entry : kEntries) {
    if (entry.op == &op && entry.dtype == dtype) return true;
  }
  return false;
}

}  // namespace espalier
