// scatter by any named reducer, over several operands.
#pragma once

#include "ops/indexed.h"
#include "ops/reducer.h"

namespace espalier {

struct ScatterAttributes final : Attributes {
  Reducer reducer = Reducer::kRegion;
  IndexAxes axes;
  IndexHints hints;
  void fields(FieldVisitor& v) override {
    v.word("reducer", reducer, kReducerWords);
    v.field("scatter_dimension_numbers.update_window_dims", axes.window);
    v.field("scatter_dimension_numbers.inserted_window_dims", axes.collapsed);
    v.field("scatter_dimension_numbers.input_batching_dims", axes.operand_batching);
    v.field("scatter_dimension_numbers.scatter_indices_batching_dims", axes.indices_batching);
    v.field("scatter_dimension_numbers.scatter_dims_to_operand_dims", axes.index_map);
    v.field("scatter_dimension_numbers.index_vector_dim", axes.index_vector);
    v.field("indices_are_sorted", hints.sorted);
    v.field("unique_indices", hints.unique);
  }
};

std::vector<Tensor> scatter(std::span<const Tensor> operands, const Tensor& indices,
                            std::span<const Tensor> updates, Reducer reducer, const IndexAxes& axes,
                            const IndexHints& hints);

// Zeros of `type` with `updates` added at places `indices` along `axis` (the inverse of take_along_axis).
// REQUIRES: distinct indices in range.
Tensor put_along_axis(const TensorType& type, const Tensor& indices, const Tensor& updates, int64_t axis);

}  // namespace espalier
