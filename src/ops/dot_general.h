// dot_general's attributes and axis bookkeeping, which kernels and passes read too.
#pragma once

#include "ops/call.h"

namespace espalier {

struct DotAttributes final : Attributes {
  DotAxes axes;
  DType dtype = DType::kF32;
  void fields(FieldVisitor& v) override {
    v.field("dot_dimension_numbers.lhs_batching_dimensions", axes.lhs_batching);
    v.field("dot_dimension_numbers.rhs_batching_dimensions", axes.rhs_batching);
    v.field("dot_dimension_numbers.lhs_contracting_dimensions", axes.lhs_contracting);
    v.field("dot_dimension_numbers.rhs_contracting_dimensions", axes.rhs_contracting);
    v.field("dtype", dtype);
  }
};

// The axes that neither batch nor contract, ascending.
Dims free_axes(size_t rank, const Dims& batching, const Dims& contracting);

// dot_general with a result dtype of its own (bf16 operands, f32 result).
Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes, DType dtype);

}  // namespace espalier
