#include "ops/registry.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "ops/scatter.h"

namespace espalier {
namespace {

using Prepare = PreparedKernel (*)(const KernelSite&);

// The kernels of an op by the dtype of its first operand; null where there is none.
struct Entry {
  const OpDef* op;
  Prepare any = nullptr;  // of every dtype
  Prepare f32 = nullptr, bf16 = nullptr, f16 = nullptr, i32 = nullptr;
};

template <PreparedKernel (*kPrepare)(const KernelSite&)>
PreparedKernel through_f32(const KernelSite& site) {
  return prepare_widened(site, kPrepare);
}

// The list of fast kernels. An eager call looks through it.
const Entry kEntries[] = {
    {.op = &op_dot_general,
     .f32 = prepare_dot_general,
     .bf16 = prepare_dot_general_bf16,
     .f16 = through_f32<prepare_dot_general>},
    {.op = &op_convolution,
     .f32 = prepare_convolution,
     .bf16 = prepare_convolution_bf16,
     .f16 = through_f32<prepare_convolution>},
    {.op = &op_reduce, .f32 = prepare_reduce, .bf16 = prepare_reduce_half, .f16 = prepare_reduce_half},
    {.op = &op_reduce_window,
     .f32 = prepare_reduce_window,
     .bf16 = prepare_reduce_window,
     .f16 = prepare_reduce_window},
    {.op = &op_select_and_scatter,
     .f32 = prepare_select_and_scatter,
     .bf16 = prepare_select_and_scatter,
     .f16 = prepare_select_and_scatter},
    {.op = &op_adam, .f32 = prepare_adam},
    {.op = &op_softmax, .f32 = prepare_softmax, .f16 = through_f32<prepare_softmax>},
    {.op = &op_softmax_cross_entropy,
     .f32 = prepare_softmax_cross_entropy,
     .f16 = through_f32<prepare_softmax_cross_entropy>},
    {.op = &op_softmax_cross_entropy_gradient,
     .f32 = prepare_softmax_cross_entropy_gradient,
     .f16 = through_f32<prepare_softmax_cross_entropy_gradient>},
    {.op = &op_argmax, .f32 = prepare_argmax, .f16 = through_f32<prepare_argmax>},
    {.op = &op_transpose, .f32 = prepare_transpose, .i32 = prepare_transpose},
    {.op = &op_broadcast_in_dim, .f32 = prepare_broadcast, .i32 = prepare_broadcast},
    {.op = &op_slice,
     .f32 = prepare_slice,
     .bf16 = prepare_slice,
     .f16 = prepare_slice,
     .i32 = prepare_slice},
    {.op = &op_gather, .any = prepare_gather},
    {.op = &op_scatter, .any = prepare_indexed_scatter},
    {.op = &op_dynamic_update_slice, .any = prepare_dynamic_update_slice},
    {.op = &op_pad, .f32 = prepare_pad, .bf16 = prepare_pad, .f16 = prepare_pad, .i32 = prepare_pad},
};

// Those of collectives, of every dtype.
Prepare find_collective(const OpDef& op) {
  if (&op == &op_all_reduce) return prepare_all_reduce;
  if (&op == &op_all_gather) return prepare_all_gather;
  if (&op == &op_reduce_scatter) return prepare_reduce_scatter;
  return &op == &op_collective_broadcast ? prepare_collective_broadcast : nullptr;
}

Prepare find_kernel(const OpDef& op, DType dtype) {
  if (op.fallible) return find_collective(op);
  if (op.fusion == Fusion::kElementwise) return nullptr;  // they run as tiles
  for (const Entry& entry : kEntries) {
    if (entry.op != &op) continue;
    if (entry.any) return entry.any;
    switch (dtype) {
      case DType::kF32:
        return entry.f32;
      case DType::kBF16:
        return entry.bf16;
      case DType::kF16:
        return entry.f16;
      case DType::kI32:
        return entry.i32;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

void run_nothing(const KernelCall&) {}

}  // namespace

PreparedKernel prepare_kernel(const KernelSite& site) {
  if (site.inputs.empty()) return {};
  const Prepare prepare = find_kernel(site.op, site.dtype);
  if (!prepare) return {};
  // Asked once, here: loops that write a first block, or divide by a number of rows, need not ask again.
  const bool empty =
      std::ranges::all_of(site.outputs, [](const TensorType* type) { return type->elements() == 0; });
  return empty ? PreparedKernel{run_nothing, nullptr} : prepare(site);
}

bool casts_operand(const OpDef& op, size_t operand, DType memory, DType result) {
  if (&op == &op_adam) return operand == kAdamGradient && (memory == DType::kBF16 || memory == DType::kF16);
  return &op == &op_dot_general && memory == DType::kF32 && runs_on_tiles(result);
}

bool updates_operand(const OpDef& op, const Attributes* attributes, size_t operand, size_t operands) {
  if (&op == &op_dynamic_update_slice) return operand == 0;
  if (&op != &op_scatter) return false;
  const auto& scatter = static_cast<const ScatterAttributes&>(*attributes);
  return scatter.reducer != Reducer::kRegion && operand < (operands - 1) / 2;
}

bool exchanges_in_place(const OpDef& op) { return &op == &op_all_reduce; }

bool begins_apart(const OpDef& op, size_t operands) {
  return &op == &op_all_reduce || (&op == &op_all_gather && operands == 1);
}

bool has_kernel(const OpDef& op, DType dtype) { return find_kernel(op, dtype) != nullptr; }

}  // namespace espalier
