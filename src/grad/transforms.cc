#include "espalier/transforms.h"

#include "grad/batch.h"
#include "grad/grad.h"
#include "ops/regions.h"

namespace espalier {
namespace {

// Traces `body` on arguments like `inputs` and calls what came out in the current sink. The trace makes
// arguments that are none of the tensors outside, so one that f also captures stays a constant.
Tensors run_traced(std::span<const Tensor> inputs,
                   const std::function<Tensors(std::span<const Tensor>)>& body) {
  const StatefulRegion traced = trace_stateful({types_of(inputs), body});
  Tensors out = inline_graph(traced.graph(), traced.operands(inputs));
  forward_state(traced.cells, out);
  return out;
}

// Calls f and keeps its calls.
struct Recording {
  Recording(const TensorFunction& f, std::span<const Tensor> inputs) {
    CallTape log;
    results = f(inputs);
    calls = log.take();
  }
  Tensors results;
  std::vector<TapeEntry> calls;
};

std::vector<size_t> chosen(const GradOptions& options, std::span<const Tensor> inputs, Location at) {
  const CallScope scope(at);
  std::vector<size_t> out = options.arguments;
  for (const size_t i : out) {
    if (i >= inputs.size())
      throw ValueError("grad.arguments", cat("argument ", i, " of a call with ", inputs.size()));
    if (!is_float(inputs[i].dtype()))
      throw DTypeError("grad.arguments",
                       cat("argument ", i, " is ", inputs[i].type(), ", not floating-point"));
  }
  for (size_t i = 0; options.arguments.empty() && i < inputs.size(); ++i) {
    if (is_float(inputs[i].dtype())) out.push_back(i);
  }
  return out;
}

Tensors pick(std::span<const Tensor> inputs, const std::vector<size_t>& positions) {
  Tensors out;
  for (const size_t i : positions) out.push_back(inputs[i]);
  return out;
}

Tensors floats(std::span<const Tensor> tensors) { return pick(tensors, chosen({}, tensors, {})); }

Tensors zeros_for_undefined(Tensors gradients, std::span<const Tensor> sources) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = constant_like(sources[i].type(), 0);
  }
  return gradients;
}

Tensors gradients_of(const Recording& run, std::span<const Tensor> targets,
                     std::span<const Tensor> cotangents, std::span<const Tensor> sources) {
  return zeros_for_undefined(reverse(run.calls, targets, cotangents, sources), sources);
}

void check_like(const char* rule, const char* what, std::span<const Tensor> given,
                std::span<const Tensor> wanted, Location at) {
  const CallScope scope(at);
  if (given.size() != wanted.size())
    throw ValueError(rule, cat("needs ", wanted.size(), " ", what, ", got ", given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].type() != wanted[i].type())
      throw ShapeError(rule, cat(what, " must be ", wanted[i].type(), " at ", i, ", got ", given[i].type()));
  }
}

Tensors differentiate(const TensorFunction& f, const GradOptions& options, std::span<const Tensor> inputs,
                      bool with_value, Location at) {
  const std::vector<size_t> positions = chosen(options, inputs, at);
  return run_traced(inputs, [&](std::span<const Tensor> x) {
    const Recording run(f, x);
    if (run.results.empty() || run.results[0].rank() != 0 || !is_float(run.results[0].dtype())) {
      const CallScope scope(at);
      throw ShapeError("grad.scalar",
                       cat("only a floating-point scalar has a gradient, the function gives ",
                           run.results.empty() ? "nothing" : to_string(run.results[0].type())),
                       "sum or average the result, or use jacobian");
    }
    Tensors gradients = gradients_of(run, {run.results.data(), 1}, {}, pick(x, positions));
    if (!with_value) return gradients;
    Tensors out = run.results;
    out.insert(out.end(), gradients.begin(), gradients.end());
    return out;
  });
}

// `elements` one-hot tensors of `type`, stacked.
Tensor basis(const TensorType& type) {
  const int64_t n = type.elements();
  const TensorType index{DType::kI64, {n, n}};
  Shape shape = type.shape;
  shape.insert(0, n);
  return reshape(convert(compare(iota(index, 0), iota(index, 1), Comparison::kEQ), type.dtype), shape);
}

Tensors all_jacobians(const TensorFunction& f, const GradOptions& options, std::span<const Tensor> inputs,
                      Location at) {
  const std::vector<size_t> positions = chosen(options, inputs, at);
  const StatefulRegion traced = trace_stateful({types_of(inputs), f});
  const Graph& region = traced.graph();
  const Tensors operands = traced.operands(inputs);
  std::vector<bool> wanted(operands.size(), false);
  for (const size_t i : positions) wanted[i] = true;
  if (!traced.cells.empty()) {
    Tensors values = inline_graph(region, operands);
    forward_state(traced.cells, values);
  }

  Tensors out;
  for (size_t r = 0; r + traced.cells.size() < region.outputs().size(); ++r) {
    const TensorType& result = output_type(region, r);
    if (!is_float(result.dtype)) continue;
    std::vector<TensorType> types = types_of(operands);
    types.push_back(result);
    const RegionSpec pullback{types, [&](std::span<const Tensor> x) {
                                Tensors cotangents(region.outputs().size());
                                cotangents[r] = x.back();
                                const Tensors all =
                                    region_vjp(region, x.first(operands.size()), cotangents, wanted);
                                return zeros_for_undefined(pick(all, positions), pick(x, positions));
                              }};
    const Regions rows = trace_regions({&pullback, 1});
    Tensors row_inputs = operands;
    row_inputs.push_back(basis(result));
    row_inputs.insert(row_inputs.end(), rows.captures.begin(), rows.captures.end());
    std::vector<bool> batched(row_inputs.size(), false);
    batched[operands.size()] = true;
    const std::vector<bool> every(positions.size(), true);
    const Tensors found = region_batch(*rows.graphs[0], row_inputs, batched, every, result.elements());
    for (size_t i = 0; i < positions.size(); ++i) {
      Shape shape = result.shape;
      for (const int64_t size : inputs[positions[i]].shape()) shape.push_back(size);
      out.push_back(reshape(found[i], shape));
    }
  }
  return out;
}

Tensor move_axis(const Tensor& x, int64_t from, int64_t to) {
  Dims axes = Dims::range(x.rank());
  axes.erase(static_cast<size_t>(from));
  axes.insert(static_cast<size_t>(to), from);
  return from == to ? x : transpose(x, axes);
}

// The arguments of vmap with the axis of examples in front, and the types of one example.
struct Examples {
  Tensors operands;
  std::vector<TensorType> types;
  std::vector<bool> batched;
  int64_t size = -1;
};

Examples examples_of(const VmapOptions& options, std::span<const Tensor> inputs, Location at) {
  const CallScope scope(at);
  if (options.in_axes.size() > inputs.size()) {
    throw ValueError("vmap.axes", cat("in_axes names ", options.in_axes.size(), " arguments of a call with ",
                                      inputs.size()));
  }
  Examples out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<int64_t> where = i < options.in_axes.size() ? options.in_axes[i] : 0;
    out.batched.push_back(where.has_value());
    out.operands.push_back(where ? move_axis(inputs[i], normalize_axis("vmap", *where, inputs[i].rank()), 0)
                                 : inputs[i]);
    out.types.push_back(out.operands[i].type());
    if (!where) continue;
    const int64_t here = out.operands[i].size(0);
    if (out.size >= 0 && here != out.size) {
      throw ShapeError("vmap.size", cat("arguments must hold equally many examples: ", out.size,
                                        " and, in argument ", i, ", ", here));
    }
    out.size = here;
    out.types.back().shape.erase(0);
  }
  if (out.size < 0)
    throw ValueError("vmap.size", "no argument has an axis of examples", "call the function itself");
  return out;
}

Tensors run_vectorized(const TensorFunction& f, const VmapOptions& options, std::span<const Tensor> inputs,
                       Location at) {
  auto [operands, types, batched, size] = examples_of(options, inputs, at);
  const StatefulRegion traced = trace_stateful({types, f});
  operands = traced.operands(operands);
  batched.resize(operands.size(), false);
  auto [out, has_axis] = vectorize(traced.graph(), operands, batched, size);
  const size_t results = out.size() - traced.cells.size();
  for (size_t i = results; i < out.size(); ++i) {
    if (!has_axis[i]) continue;
    const CallScope scope(at);
    throw StateError("variable.region",
                     cat("variable \"", traced.cells[i - results]->name(),
                         "\" is assigned a value of its own for each example of vmap"),
                     "return the values and assign what they have in common");
  }
  forward_state(traced.cells, out);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!has_axis[i]) out[i] = repeat_leading(out[i], size);
    const int64_t where = i < options.out_axes.size() ? options.out_axes[i] : 0;
    out[i] = move_axis(out[i], 0, normalize_axis("vmap", where, out[i].rank()));
  }
  return out;
}

}  // namespace

TensorFunction grad(TensorFunction f, GradOptions options, Location at) {
  return [f = std::move(f), options = std::move(options), at](std::span<const Tensor> inputs) {
    return differentiate(f, options, inputs, false, at);
  };
}

TensorFunction value_and_grad(TensorFunction f, GradOptions options, Location at) {
  return [f = std::move(f), options = std::move(options), at](std::span<const Tensor> inputs) {
    return differentiate(f, options, inputs, true, at);
  };
}

Vjp vjp(const TensorFunction& f, const Tensors& inputs, Location at) {
  Tensors outputs = run_traced(inputs, f);
  auto pullback = [f, inputs, like = floats(outputs), at](std::span<const Tensor> cotangents) {
    check_like("vjp.cotangents", "cotangents", cotangents, like, at);
    Tensors all = inputs;
    all.insert(all.end(), cotangents.begin(), cotangents.end());
    return run_traced(all, [&](std::span<const Tensor> values) {
      const StateScope forgotten;  // only the first run of f counts
      const auto x = values.first(inputs.size());
      const Recording run(f, x);
      return gradients_of(run, floats(run.results), values.subspan(inputs.size()), floats(x));
    });
  };
  return {std::move(outputs), std::move(pullback)};
}

Jvp jvp(const TensorFunction& f, const Tensors& inputs, const Tensors& tangents, Location at) {
  check_like("jvp.tangents", "tangents", tangents, floats(inputs), at);
  Tensors all = inputs;
  all.insert(all.end(), tangents.begin(), tangents.end());
  size_t results = 0;
  Tensors out = run_traced(all, [&](std::span<const Tensor> values) {
    const auto x = values.first(inputs.size());
    const Tensors sources = floats(x);
    Recording forward(f, x);
    results = forward.results.size();
    const Tensors targets = floats(forward.results);
    // Gradients are linear in their weights; the derivative with respect to these is the Jacobian's product.
    Tensors weights;
    for (const Tensor& target : targets) weights.push_back(constant_like(target.type(), 0));
    const Recording backward(
        [&](std::span<const Tensor>) { return gradients_of(forward, targets, weights, sources); }, {});
    Tensors outputs = forward.results;
    const Tensors found = gradients_of(backward, backward.results, values.subspan(inputs.size()), weights);
    outputs.insert(outputs.end(), found.begin(), found.end());
    return outputs;
  });
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(results);
  return {{out.begin(), first}, {first, out.end()}};
}

TensorFunction jacobian(TensorFunction f, GradOptions options, Location at) {
  return [f = std::move(f), options = std::move(options), at](std::span<const Tensor> inputs) {
    return all_jacobians(f, options, inputs, at);
  };
}

TensorFunction hessian(TensorFunction f, GradOptions options, Location at) {
  return jacobian(grad(std::move(f), options, at), options, at);
}

TensorFunction vmap(TensorFunction f, VmapOptions options, Location at) {
  return [f = std::move(f), options = std::move(options), at](std::span<const Tensor> inputs) {
    return run_vectorized(f, options, inputs, at);
  };
}

}  // namespace espalier
