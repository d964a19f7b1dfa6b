#include <algorithm>
#include <limits>

#include "espalier/control.h"
#include "ir/state.h"
#include "ops/composite/call.h"
#include "ops/composite/custom_gradient.h"
#include "ops/composite/scan.h"

namespace espalier {
namespace {

using Cells = std::vector<StateCellPtr>;

// f in a region: `cells` are bound to `bound` (or, when that is empty, as outside), their new values stand
// after the results. Cells that f assigns beside them are added.
Tensors with_state(Cells& cells, const size_t known, std::span<const Tensor> bound,
                   std::span<const Tensor> arguments, const TensorFunction& f) {
  StateScope scope;
  for (size_t i = 0; i < bound.size(); ++i) scope.bind(cells[i], bound[i]);
  Tensors out = f(arguments);
  for (StateCellPtr& cell : scope.assigned()) {
    if (std::find(cells.begin(), cells.end(), cell) == cells.end()) cells.push_back(std::move(cell));
  }
  for (size_t i = 0; i < known; ++i) out.push_back(cells[i]->read());
  return out;
}

struct RegionCall {
  Tensors inputs;
  std::vector<RegionSpec> specs;
};
// Calls `op` with regions that may assign variables. `make(cells, known)` gives the call whose regions hand
// out the values of the first `known` cells; it is traced anew while its regions assign more cells than
// that. Hands those values (the results from `first` on; by default the last) on to the cells.
Tensors emit_stateful(const OpDef& op, const std::function<AttributesPtr(size_t known)>& attributes,
                      const std::function<RegionCall(Cells&, size_t known)>& make,
                      std::optional<size_t> first = {}) {
  Cells cells;
  for (;;) {
    const size_t known = cells.size();
    RegionCall call = make(cells, known);
    const Regions regions = trace_regions(call.specs);
    if (cells.size() > known) continue;
    call.inputs.insert(call.inputs.end(), regions.captures.begin(), regions.captures.end());
    Tensors out = emit_all(op, attributes(known), call.inputs, regions.graphs);
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first ? *first : out.size() - known);
    for (size_t i = 0; i < known; ++i) cells[i]->assign(begin[static_cast<std::ptrdiff_t>(i)]);
    out.erase(begin, begin + static_cast<std::ptrdiff_t>(known));
    return out;
  }
}

Tensors read_all(const Cells& cells, Tensors before) {
  for (const StateCellPtr& cell : cells) before.push_back(cell->read());
  return before;
}

Tensors branch_call(const OpDef& op, const Tensor& choice, const std::vector<TensorFunction>& branches,
                    const Tensors& operands) {
  return emit_stateful(
      op, [](size_t) { return nullptr; },
      [&](Cells& cells, size_t known) {
        RegionCall call{{choice}, {}};
        for (const TensorFunction& branch : branches) {
          call.specs.push_back({{}, [&, known](std::span<const Tensor>) {
                                  return with_state(cells, known, {}, operands, branch);
                                }});
        }
        return call;
      });
}

// f(operands) as the one region of `op`.
Tensors function_call(const OpDef& op, AttributesPtr attributes, const TensorFunction& f,
                      std::span<const Tensor> operands) {
  const StatefulRegion region = trace_stateful({types_of(operands), f});
  Tensors out = emit_all(op, std::move(attributes), region.operands(operands), region.regions.graphs);
  forward_state(region.cells, out);
  return out;
}

// The scan of `body` over `inputs` (carries..., scanned...); variables that it assigns are carries of their
// own, after the others.
Tensors scan_call(const ScanAttributes& attributes, const Tensors& inputs, const TensorFunction& body) {
  const auto carries = static_cast<size_t>(attributes.carries);
  return emit_stateful(
      op_scan,
      [&](size_t known) {
        auto all = std::make_shared<ScanAttributes>(attributes);
        all->carries += static_cast<int64_t>(known);
        return all;
      },
      [&](Cells& cells, size_t known) {
        const auto first = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(carries); };
        Tensors all(inputs.begin(), first(inputs));
        all = read_all(cells, std::move(all));
        std::vector<TensorType> types = types_of(all);
        for (size_t i = carries; i < inputs.size(); ++i) {
          types.push_back(slice_type(inputs[i].type()));
          all.push_back(inputs[i]);
        }
        return RegionCall{
            std::move(all),
            {{std::move(types), [&, first, known](std::span<const Tensor> values) {
                Tensors arguments(values.begin(), first(values));
                arguments.insert(arguments.end(), first(values) + static_cast<std::ptrdiff_t>(known),
                                 values.end());
                Tensors out = with_state(cells, known, values.subspan(carries, known), arguments, body);
                if (out.size() < carries + known) {
                  throw ShapeError("scan.c4", cat("the body must give the ", carries,
                                                  " values it carries, gives ", out.size() - known));
                }
                // The states come last; carries stand before what is stacked.
                std::rotate(first(out), out.end() - static_cast<std::ptrdiff_t>(known), out.end());
                return out;
              }}}};
      },
      carries);
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
  if (options.max_iterations) {
    ScanAttributes attributes;
    attributes.carries = static_cast<int64_t>(vars.size());
    attributes.length = *options.max_iterations;
    return scan_call(attributes, vars, [&](std::span<const Tensor> now) {
      const Tensors holds = condition(now);
      if (holds.size() != 1) {
        throw ShapeError("while.c2",
                         cat("the condition must give one bool[], gives ", holds.size(), " tensors"));
      }
      return cond(
          holds[0], body, [](const Tensors& same) { return same; }, Tensors(now.begin(), now.end()));
    });
  }
  return emit_stateful(
      op_while, [](size_t) { return nullptr; },
      [&](Cells& cells, size_t known) {
        Tensors inputs = read_all(cells, vars);
        const std::vector<TensorType> types = types_of(inputs);
        return RegionCall{std::move(inputs),
                          {{types,
                            [&, known](std::span<const Tensor> now) {
                              StateScope scope;
                              for (size_t i = 0; i < known; ++i) scope.bind(cells[i], now[vars.size() + i]);
                              Tensors holds = condition(now.first(vars.size()));
                              for (const StateCellPtr& cell : scope.assigned()) {
                                throw StateError("while.condition",
                                                 cat("the condition assigns variable \"", cell->name(), "\""),
                                                 "assign it in the body");
                              }
                              return holds;
                            }},
                           {types, [&, known](std::span<const Tensor> now) {
                              return with_state(cells, known, now.subspan(vars.size()),
                                                now.first(vars.size()), body);
                            }}}};
      });
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
  ScanAttributes attributes;
  attributes.carries = static_cast<int64_t>(vars.size());
  attributes.scanned = 1;
  attributes.length = length;
  return scan_call(attributes, inputs, [&](std::span<const Tensor> values) {
    Tensors arguments{values.back()};
    arguments.insert(arguments.end(), values.begin(), values.end() - 1);
    return body(arguments);
  });
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
  Tensors out = scan_call(attributes, inputs, [&](std::span<const Tensor> values) {
    ScanResult step = body(values.first(init.size()), values.subspan(init.size(), xs.size()));
    if (step.carry.size() != init.size()) {
      throw ShapeError("scan.c4", cat("the body must give the ", init.size(), " values it carries, gives ",
                                      step.carry.size()));
    }
    Tensors results = std::move(step.carry);
    results.insert(results.end(), step.ys.begin(), step.ys.end());
    return results;
  });
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
  return function_call(op_call, attributes, f, operands);
}

TensorFunction checkpoint(TensorFunction f) {
  return [f = std::move(f)](std::span<const Tensor> operands) {
    return function_call(op_checkpoint, nullptr, f, operands);
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
