#include <algorithm>
#include <limits>

#include "espalier/control.h"
#include "ops/composite/call.h"
#include "ops/composite/custom_gradient.h"
#include "ops/composite/scan.h"

namespace espalier {
namespace {

Tensors branch_call(const OpDef& op, const Tensor& choice, const std::vector<TensorFunction>& branches,
                    const Tensors& operands) {
  std::vector<RegionSpec> specs;
  for (const TensorFunction& branch : branches)
    specs.push_back({{}, [&](std::span<const Tensor>) { return branch(operands); }});
  return emit_regions(op, nullptr, {choice}, specs);
}

int64_t scan_length(const Tensors& xs, const ScanOptions& options) {
  if (xs.empty() && !options.length)
    throw ValueError("scan.length", "a scan over nothing does not know its length", "set .length");
  const int64_t length = options.length ? *options.length : xs[0].rank() ? xs[0].size(0) : 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].rank() == 0 || xs[i].size(0) != length) {
      throw ShapeError("scan.c3", cat("scanned values must have a leading axis of ", length, ": value ", i,
                                      " is ", xs[i].type()));
    }
  }
  return length;
}

RegionSpec over(std::span<const Tensor> inputs, const TensorFunction& f) { return {types_of(inputs), f}; }

// The index as i32, out of range for `count` branches exactly when it was before.
Tensor branch_index(const Tensor& index, size_t count) {
  if (!is_integer(index.dtype()) || index.dtype() == DType::kI32) return index;
  if (size_of(index.dtype()) < 4) return convert(index, DType::kI32);
  const auto last = static_cast<int64_t>(count) - 1;
  const Tensor high = select(compare(index, last, Comparison::kGT), constant_like(index.type(), last), index);
  if (is_unsigned_integer(index.dtype())) return convert(high, DType::kI32);
  return convert(select(compare(index, 0, Comparison::kLT), constant_like(index.type(), last), high),
                 DType::kI32);
}

}  // namespace

Tensors cond(Operand predicate, const TensorFunction& true_fn, const TensorFunction& false_fn,
             const Tensors& operands) {
  CallScope scope(predicate.at());
  const Tensor choice = predicate.is_scalar() ? predicate.as(DType::kBool) : predicate.tensor();
  if (choice.concrete() && choice.type() == TensorType{DType::kBool, {}})
    return (choice.item<bool>() ? true_fn : false_fn)(operands);
  return branch_call(op_if, choice, {true_fn, false_fn}, operands);
}

Tensors switch_case(Operand index, const std::vector<TensorFunction>& branches, const Tensors& operands) {
  CallScope scope(index.at());
  if (branches.empty()) throw ValueError("switch_case.branches", "there is no branch to take");
  const Tensor choice = branch_index(index.as(DType::kI32), branches.size());
  if (choice.concrete() && choice.type() == TensorType{DType::kI32, {}}) {
    const auto count = static_cast<int64_t>(branches.size()), i = int64_t{choice.item<int32_t>()};
    return branches[static_cast<size_t>(i < 0 || i >= count ? count - 1 : i)](operands);
  }
  return branch_call(op_case, choice, branches, operands);
}

Tensors while_loop(const TensorFunction& condition, const TensorFunction& body, const Tensors& vars,
                   const WhileOptions& options, Location at) {
  CallScope scope(at);
  if (!options.max_iterations) {
    const RegionSpec specs[] = {over(vars, condition), over(vars, body)};
    return emit_regions(op_while, nullptr, vars, specs);
  }
  ScanAttributes attributes;
  attributes.carries = static_cast<int64_t>(vars.size());
  attributes.length = *options.max_iterations;
  return emit_scan(attributes, vars,
                   {types_of(vars), [&](std::span<const Tensor> now) {
                      const Tensors holds = condition(now);
                      if (holds.size() != 1) {
                        throw ShapeError("while.c2", cat("the condition must give one bool[], gives ",
                                                         holds.size(), " tensors"));
                      }
                      const Tensors operands(now.begin(), now.end());
                      return cond(
                          holds[0], body, [](const Tensors& same) { return same; }, operands);
                    }});
}

Tensors fori_loop(int64_t lower, int64_t upper, const TensorFunction& body, const Tensors& vars,
                  Location at) {
  CallScope scope(at);
  constexpr int64_t kLast = std::numeric_limits<int32_t>::max();
  if (lower < -kLast || upper > kLast)
    throw ValueError("fori_loop.bounds", cat("the bounds must fit 32 bits: ", lower, " to ", upper));
  const int64_t length = std::max<int64_t>(upper - lower, 0);
  Tensors inputs = vars;
  inputs.push_back(iota({DType::kI32, {length}}, 0) + lower);
  std::vector<TensorType> types = types_of(vars);
  types.push_back({DType::kI32, {}});
  ScanAttributes attributes;
  attributes.carries = static_cast<int64_t>(vars.size());
  attributes.scanned = 1;
  attributes.length = length;
  return emit_scan(attributes, std::move(inputs), {std::move(types), [&](std::span<const Tensor> values) {
                                                     Tensors arguments{values.back()};
                                                     arguments.insert(arguments.end(), values.begin(),
                                                                      values.end() - 1);
                                                     return body(arguments);
                                                   }});
}

ScanResult scan(const ScanBody& body, const Tensors& init, const Tensors& xs, const ScanOptions& options,
                Location at) {
  CallScope scope(at);
  ScanAttributes attributes;
  attributes.carries = static_cast<int64_t>(init.size());
  attributes.scanned = static_cast<int64_t>(xs.size());
  attributes.length = scan_length(xs, options);
  attributes.reverse = options.reverse;
  Tensors inputs = init;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  std::vector<TensorType> types = types_of(init);
  for (const Tensor& x : xs) types.push_back(slice_type(x.type()));
  Tensors out =
      emit_scan(attributes, std::move(inputs),
                {std::move(types), [&](std::span<const Tensor> values) {
                   ScanResult step = body(values.first(init.size()), values.subspan(init.size(), xs.size()));
                   if (step.carry.size() != init.size()) {
                     throw ShapeError("scan.c4", cat("the body must give the ", init.size(),
                                                     " values it carries, gives ", step.carry.size()));
                   }
                   Tensors results = std::move(step.carry);
                   results.insert(results.end(), step.ys.begin(), step.ys.end());
                   return results;
                 }});
  const auto first_y = out.begin() + static_cast<std::ptrdiff_t>(init.size());
  return {{out.begin(), first_y}, {first_y, out.end()}};
}

Tensors map(const TensorFunction& f, const Tensors& xs, Location at) {
  const ScanBody body = [&](std::span<const Tensor>, std::span<const Tensor> x) {
    return ScanResult{{}, f(x)};
  };
  return scan(body, {}, xs, {}, at).ys;
}

Tensors call(const TensorFunction& f, const Tensors& operands, std::string name, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<CallAttributes>();
  attributes->callee = std::move(name);
  const RegionSpec spec = over(operands, f);
  return emit_regions(op_call, std::move(attributes), operands, {&spec, 1});
}

TensorFunction checkpoint(TensorFunction f) {
  return [f = std::move(f)](std::span<const Tensor> operands) {
    const RegionSpec spec = over(operands, f);
    return emit_regions(op_checkpoint, nullptr, {operands.begin(), operands.end()}, {&spec, 1});
  };
}

TensorFunction custom_gradient(TensorFunction forward, CustomBackward backward) {
  return [forward = std::move(forward), backward = std::move(backward)](std::span<const Tensor> operands) {
    const RegionSpec first = over(operands, forward);
    const Regions probe = trace_regions({&first, 1});  // what types does it give?
    const Graph& region = *probe.graphs[0];
    const size_t count = operands.size(), results = region.outputs().size();
    std::vector<TensorType> types = first.arguments;
    for (size_t i = 0; i < results; ++i) types.push_back(output_type(region, i));
    for (size_t i = 0; i < results; ++i) {
      if (is_float(output_type(region, i).dtype)) types.push_back(output_type(region, i));
    }
    const RegionSpec specs[] = {first, {types, [&](std::span<const Tensor> values) {
                                          return backward(values.first(count), values.subspan(count, results),
                                                          values.subspan(count + results));
                                        }}};
    auto attributes = std::make_shared<CustomGradientAttributes>();
    attributes->operands = static_cast<int64_t>(count);
    return emit_regions(op_custom_gradient, std::move(attributes), {operands.begin(), operands.end()}, specs);
  };
}

}  // namespace espalier
