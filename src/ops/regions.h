// What ops with regions share.
#pragma once

#include "ir/builder.h"
#include "ir/state.h"
#include "ops/call.h"
#include "ops/registry.h"

namespace espalier {

inline const TensorType& input_type(const Graph& region, size_t i) {
  return region.type(region.inputs()[i].value);
}
inline const TensorType& output_type(const Graph& region, size_t i) {
  return region.type(region.outputs()[i].value);
}
std::vector<TensorType> types_of(std::span<const Tensor> tensors);
// "(f32[2], i32[])": the types of a region's outputs.
std::string output_types(const Graph& region);

// Requires `count` regions (rule "regions").
void require_regions(const InferContext& c, size_t count);
// Requires that region `r` takes the call's inputs from `first` on.
void require_region_inputs(const InferContext& c, size_t r, size_t first, const char* rule);

// c2: every region takes the inputs after the first. c3: every region gives the same types, the results'.
void infer_branches(InferContext& c);
// The results of branch `r` for all examples, whichever of them take it.
std::vector<Tensor> batched_branch(const BatchContext& c, size_t r);
// Example by example: yes where `predicate` (one per example) holds, else no.
Tensor select_examples(const Tensor& predicate, const Tensor& yes, const Tensor& no);
// x repeated along a new leading axis of `size`.
Tensor repeat_leading(const Tensor& x, int64_t size);

// Traces the functions and calls `op` with their regions on `inputs` and, after them, what was captured.
std::vector<Tensor> emit_regions(const OpDef& op, AttributesPtr attributes, std::vector<Tensor> inputs,
                                 std::span<const RegionSpec> specs);

// One region whose code may assign variables; their new values stand after its results.
struct StatefulRegion {
  Regions regions;
  std::vector<StateCellPtr> cells;
  const Graph& graph() const { return *regions.graphs[0]; }
  // `inputs` and what the region captured.
  std::vector<Tensor> operands(std::span<const Tensor> inputs) const;
};
StatefulRegion trace_stateful(const RegionSpec& spec);
// Hands the last results on to the cells and takes them off.
void forward_state(const std::vector<StateCellPtr>& cells, std::vector<Tensor>& results);

// For support tables: `op` on `inputs`, with `count` regions that give back the inputs from `first` on.
void sample_regions(const OpDef& op, AttributesPtr attributes, std::vector<Tensor> inputs, size_t first,
                    size_t count);

// The rules of ops whose regions take the inputs from `first` on and whose results are a region's: the
// gradient is the op with the regions' gradients, the batched op is the op with batched regions.
void gradient_by_regions(GradientContext& c, const OpDef& op, size_t first);
void batch_by_regions(BatchContext& c, size_t first);

}  // namespace espalier
