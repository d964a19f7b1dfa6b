#include "ops/regions.h"

namespace espalier {

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.type());
  return out;
}

std::string output_types(const Graph& region) {
  std::string out;
  for (size_t i = 0; i < region.outputs().size(); ++i) {
    out += i ? ", " : "";
    out += to_string(output_type(region, i));
  }
  return cat("(", out, ")");
}

void require_regions(const InferContext& c, size_t count) {
  c.require(c.regions() == count, "regions", "takes ", counted(count, "region"), ", got ", c.regions());
}

void require_region_inputs(const InferContext& c, size_t r, size_t first, const char* rule) {
  const Graph& region = *c.region(r);
  c.require(c.size() >= first && region.inputs().size() == c.size() - first, rule, "region ", r, " takes ",
            counted(region.inputs().size(), "value"), ", the call has ", counted(c.size(), "input"));
  for (size_t i = first; i < c.size(); ++i) {
    c.require(input_type(region, i - first) == c.in(i), rule, "region ", r, " takes ",
              input_type(region, i - first), " as value ", i - first, ", the call gives ", c.in(i));
  }
}

void infer_branches(InferContext& c) {
  const Graph& first = *c.region(0);
  for (size_t r = 0; r < c.regions(); ++r) {
    require_region_inputs(c, r, 1, "c2");
    const Graph& branch = *c.region(r);
    c.require(branch.outputs().size() == first.outputs().size(), "c3",
              "branches must give the same number of results: branch 0 gives ", output_types(first),
              ", branch ", r, " gives ", output_types(branch));
    for (size_t i = 0; i < first.outputs().size(); ++i) {
      c.require(output_type(branch, i) == output_type(first, i), "c3", "branches must agree in result ", i,
                ": branch 0 gives ", output_type(first, i), ", branch ", r, " gives ",
                output_type(branch, i));
    }
  }
  for (size_t i = 0; i < first.outputs().size(); ++i) c.result(output_type(first, i));
}

std::vector<Tensor> batched_branch(const BatchContext& c, size_t r) {
  const Graph& branch = *c.regions[r];
  return region_batch(branch, c.inputs.subspan(1), {c.batched.begin() + 1, c.batched.end()},
                      std::vector<bool>(branch.outputs().size(), true), c.size);
}

Tensor select_examples(const Tensor& predicate, const Tensor& yes, const Tensor& no) {
  return select(broadcast_in_dim(predicate, yes.shape(), {0}), yes, no);
}

Tensor repeat_leading(const Tensor& x, int64_t size) {
  Shape shape = x.shape();
  shape.insert(0, size);
  return broadcast_to(x, shape);
}

std::vector<Tensor> emit_regions(const OpDef& op, AttributesPtr attributes, std::vector<Tensor> inputs,
                                 std::span<const RegionSpec> specs) {
  const Regions regions = trace_regions(specs);
  inputs.insert(inputs.end(), regions.captures.begin(), regions.captures.end());
  return emit_all(op, std::move(attributes), inputs, regions.graphs);
}

std::vector<Tensor> StatefulRegion::operands(std::span<const Tensor> inputs) const {
  std::vector<Tensor> out(inputs.begin(), inputs.end());
  out.insert(out.end(), regions.captures.begin(), regions.captures.end());
  return out;
}

StatefulRegion trace_stateful(const RegionSpec& spec) {
  StatefulRegion out;
  const RegionSpec with_state{spec.arguments, [&](std::span<const Tensor> arguments) {
                                StateScope scope;
                                std::vector<Tensor> results = spec.body(arguments);
                                out.cells = scope.assigned();
                                for (const StateCellPtr& cell : out.cells) results.push_back(cell->read());
                                return results;
                              }};
  out.regions = trace_regions({&with_state, 1});
  return out;
}

void forward_state(const std::vector<StateCellPtr>& cells, std::vector<Tensor>& results) {
  const size_t first = results.size() - cells.size();
  for (size_t i = 0; i < cells.size(); ++i) cells[i]->assign(results[first + i]);
  results.resize(first);
}

void sample_regions(const OpDef& op, AttributesPtr attributes, std::vector<Tensor> inputs, size_t first,
                    size_t count) {
  const RegionSpec same{types_of(std::span(inputs).subspan(first)), [](std::span<const Tensor> values) {
                          return std::vector<Tensor>(values.begin(), values.end());
                        }};
  emit_regions(op, std::move(attributes), std::move(inputs), std::vector<RegionSpec>(count, same));
}

void gradient_by_regions(GradientContext& c, const OpDef& op, size_t first) {
  std::vector<bool> wanted(c.inputs.size() - first);
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = c.wants(first + i) && is_float(c.in(first + i).dtype());
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (const Tensor& cotangent : c.cotangents) {
    if (cotangent.defined()) inputs.push_back(cotangent);
  }
  const std::vector<TensorType> types = types_of(std::span(inputs).subspan(first));
  std::vector<RegionSpec> specs;
  for (const GraphPtr& region : c.regions) {
    specs.push_back({types, [&](std::span<const Tensor> arguments) {
                       std::vector<Tensor> cotangents(c.cotangents.size());
                       size_t next = wanted.size();
                       for (size_t i = 0; i < cotangents.size(); ++i) {
                         if (c.cotangents[i].defined()) cotangents[i] = arguments[next++];
                       }
                       const auto found =
                           region_vjp(*region, arguments.first(wanted.size()), cotangents, wanted);
                       std::vector<Tensor> out;
                       for (size_t i = 0; i < wanted.size(); ++i) {
                         if (wanted[i])
                           out.push_back(found[i].defined() ? found[i] : constant_like(types[i], 0));
                       }
                       return out;
                     }});
  }
  const std::vector<Tensor> out = emit_regions(op, c.attributes_ptr, std::move(inputs), specs);
  for (size_t i = 0, next = 0; i < wanted.size(); ++i) {
    if (wanted[i]) c.set(first + i, out[next++]);
  }
}

void batch_by_regions(BatchContext& c, size_t first) {
  const std::vector<bool> batched(c.batched.begin() + static_cast<std::ptrdiff_t>(first), c.batched.end());
  std::vector<RegionSpec> specs;
  for (const GraphPtr& region : c.regions) {
    specs.push_back({types_of(c.inputs.subspan(first)), [&](std::span<const Tensor> arguments) {
                       return region_batch(*region, arguments, batched,
                                           std::vector<bool>(region->outputs().size(), true), c.size);
                     }});
  }
  c.outputs = emit_regions(c.op, c.attributes_ptr, {c.inputs.begin(), c.inputs.end()}, specs);
}

}  // namespace espalier
