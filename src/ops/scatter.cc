#include "ops/scatter.h"

#include "ir/graph.h"

namespace espalier {
namespace {

// Operands of a call of `inputs` inputs: k operands, indices, k updates, captures of a region.
size_t operand_count_scatter(const ScatterAttributes& a, size_t inputs, std::span<const GraphPtr> regions) {
  return a.reducer == Reducer::kRegion ? regions[0]->outputs().size() : (inputs - 1) / 2;
}

void infer_scatter(InferContext& c) {
  const auto& a = c.attributes<ScatterAttributes>();
  const bool region = a.reducer == Reducer::kRegion;
  c.require(c.size() >= 3, "arity", "takes operands, indices and as many updates, got ", c.size(), " inputs");
  c.require(c.regions() == (region ? 1 : 0), "c9", "a region, or a named reducer, says how to combine");
  const size_t count = region ? c.region(0)->outputs().size() : (c.size() - 1) / 2;
  c.require(count > 0 && (region ? c.size() >= 2 * count + 1 : c.size() == 2 * count + 1), "arity",
            "takes operands, indices and as many updates, got ", c.size(), " inputs");
  if (region) {
    c.require(c.region(0)->inputs().size() + 1 == c.size(), "c9", "the region takes ",
              c.region(0)->inputs().size(), " values, the call gives ", c.size() - 1);
  }
  const TensorType &operand = c.in(0), &indices = c.in(count), &updates = c.in(count + 1);
  check_index_axes(c, a.axes, operand, indices, updates.rank());
  const Shape batch = index_batch(a.axes, indices.shape);
  c.require(batch.size() + a.axes.window.size() == updates.rank(), "c10",
            "updates have the axes of the indices and of the window: ", indices, ", window ", a.axes.window,
            ", updates ", updates);
  const Dims kept = kept_axes(a.axes, operand.rank());
  for (size_t axis = 0, window = 0, other = 0; axis < updates.rank(); ++axis) {
    const int64_t size = updates.shape[axis];
    if (a.axes.window.contains(static_cast<int64_t>(axis))) {
      const int64_t limit = operand.shape[kept[window++]];
      c.require(size <= limit, "c10", "axis ", axis, " of the updates ", updates, " must fit the operand ",
                operand, ": ", size, " > ", limit);
    } else {
      c.require(size == batch[other], "c10", "axis ", axis, " of the updates ", updates,
                " must be an axis of the indices ", indices, ": ", size, " vs ", batch[other]);
      ++other;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    const TensorType &x = c.in(k), &u = c.in(count + 1 + k);
    c.require(x.shape == operand.shape && u.shape == updates.shape, "c11",
              "operands must have one shape, and updates one: ", operand, " and ", x, ", ", updates, " and ",
              u);
    c.require_dtype(x.dtype == u.dtype, "c12", "an update has its operand's dtype: ", x, " and ", u);
    c.require_dtype(region || in_set(x.dtype, reducer_set(a.reducer)), "c12",
                    kReducerWords[static_cast<int>(a.reducer)], " takes ", set_text(reducer_set(a.reducer)),
                    " elements, got ", x);
    c.result(x);
  }
}

// Calls f(offset in the updates, offset in the operand) for each update that lands inside of the operand.
template <class F>
void each_update(const ScatterAttributes& a, const Shape& operand, const ArrayView& indices,
                 const Shape& updates, F f) {
  const Dims strides = row_major_strides(operand), update_strides = row_major_strides(updates);
  const Shape sizes = window_sizes(a.axes, operand.size(), updates);
  Dims steps = Dims::filled(operand.size(), 0);
  const Dims kept = kept_axes(a.axes, operand.size());
  for (size_t i = 0; i < kept.size(); ++i) steps[kept[i]] = update_strides[a.axes.window[i]];
  Shape box = sizes;
  each_window(a.axes, operand.size(), indices, updates, [&](const Dims& start, int64_t base) {
    int64_t from = base, to = 0;
    for (size_t i = 0; i < start.size(); ++i) {
      // What lies further outside is outside as well, and may be too far for a product.
      const int64_t begin = std::clamp(start[i], -sizes[i], operand[i]), first = std::max<int64_t>(0, -begin);
      box[i] = std::max<int64_t>(0, std::min(sizes[i], operand[i] - begin) - first);
      from += first * steps[i];
      to += (begin + first) * strides[i];
    }
    if (num_elements(box) > 0) walk_pair(box, steps, from, strides, to, f);
  });
}

void eval_region_scatter(EvalContext& c, const ScatterAttributes& a, size_t count) {
  std::vector<TensorType> scalar(count);
  std::vector<std::array<std::byte, 8>> next(count);
  std::vector<ArrayView> arguments(c.inputs.begin(), c.inputs.end());
  arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<MutableArrayView> results(count);
  for (size_t k = 0; k < count; ++k) {
    scalar[k] = {c.in(k).type->dtype, {}};
    results[k] = {&scalar[k], next[k].data()};
  }
  each_update(
      a, c.in(0).type->shape, c.in(count), c.in(count + 1).type->shape, [&](int64_t from, int64_t to) {
        for (size_t k = 0; k < count; ++k) {
          const auto size = static_cast<int64_t>(size_of(scalar[k].dtype));
          arguments[k] = {&scalar[k], c.out(k).as<std::byte>() + to * size};
          arguments[count + k] = {&scalar[k], c.in(count + 1 + k).as<std::byte>() + from * size};
        }
        c.runner->run(*c.regions[0], arguments, results);
        for (size_t k = 0; k < count; ++k) {
          const size_t size = size_of(scalar[k].dtype);
          std::memcpy(c.out(k).as<std::byte>() + to * static_cast<int64_t>(size), next[k].data(), size);
        }
      });
}

void eval_scatter(EvalContext& c) {
  const auto& a = c.attributes<ScatterAttributes>();
  const size_t count = c.outputs.size();
  for (size_t k = 0; k < count; ++k) {
    if (c.out(k).type->bytes()) std::memcpy(c.out(k).data, c.in(k).data, c.out(k).type->bytes());
  }
  if (a.reducer == Reducer::kRegion) return eval_region_scatter(c, a, count);
  const Shape &shape = c.in(0).type->shape, &updates = c.in(count + 1).type->shape;
  const auto each = [&](auto f) { each_update(a, shape, c.in(count), updates, f); };
  for (size_t k = 0; k < count; ++k) {
    const ArrayView& in = c.in(count + 1 + k);
    const MutableArrayView& out = c.out(k);
    if (a.reducer == Reducer::kUpdate) {
      visit_width(out.type->dtype, [&](auto word) {
        const auto* source = in.as<decltype(word)>();
        auto* destination = out.as<decltype(word)>();
        each([&](int64_t from, int64_t to) { destination[to] = source[from]; });
      });
      continue;
    }
    visit_reducer(a.reducer, [&](auto reducer) {
      visit_dtype(out.type->dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        using F = Compute<T>;
        const T* source = in.as<T>();
        T* destination = out.as<T>();
        each([&](int64_t from, int64_t to) {
          destination[to] = static_cast<T>(
              combine<reducer.value, F>(static_cast<F>(destination[to]), static_cast<F>(source[from])));
        });
      });
    });
  }
}

// The elements that updates at `indices` would land on, and zero where they would be dropped. gather clamps
// whole windows, so it reads from an operand with one window of zeros around it, at starts moved by one
// window.
Tensor gather_or_zero(const Tensor& x, const Tensor& indices, const IndexAxes& axes, const Shape& updates) {
  Shape sizes = window_sizes(axes, x.rank(), updates);
  Dims edge = Dims::filled(x.rank(), 0);
  for (const int64_t axis : axes.index_map) edge[axis] = sizes[axis];
  for (size_t i = 0; i < edge.size(); ++i) sizes[i] = std::min(sizes[i], x.shape()[i] + 2 * edge[i]);
  const Tensor padded = pad(x, 0, edge, edge);
  std::vector<int64_t> moves;
  for (const int64_t axis : axes.index_map) moves.push_back(edge[axis]);
  Tensor move = Tensor::of(moves, {static_cast<int64_t>(moves.size())});
  const bool spelled = static_cast<size_t>(axes.index_vector) < indices.rank();
  move = spelled ? broadcast_in_dim(move, indices.shape(), {axes.index_vector})
                 : broadcast_to(reshape(move, {}), indices.shape());
  const Tensor values = index_values(indices);
  const Tensor low = select(compare(values, negate(move), Comparison::kLT), negate(move), values);
  return gather(padded, clamp_starts(low + move, axes, padded.shape(), sizes), axes, sizes);
}

// 1 where an update is the last one that its element got, else 0.
Tensor last_writers(const Tensor& indices, const Tensor& updates, const TensorType& operand,
                    const ScatterAttributes& a) {
  const Shape& shape = updates.shape();
  const Tensor flat = iota({DType::kI64, {num_elements(shape)}}, 0) + 1;
  const Tensor ids = reshape(flat, shape);
  const Tensor none = constant_like({DType::kI64, operand.shape}, 0);
  const Tensor kept = scatter_update(none, indices, ids, a.axes, a.hints);
  return compare(gather_or_zero(kept, indices, a.axes, shape), ids, Comparison::kEQ);
}

void gradient_scatter(GradientContext& c) {
  const auto& a = c.attributes<ScatterAttributes>();
  const size_t count = operand_count_scatter(a, c.inputs.size(), c.regions);
  const Tensor& indices = c.in(count);
  const auto fetch = [&](const Tensor& x) {
    return gather_or_zero(x, indices, a.axes, c.in(count + 1).shape());
  };
  for (size_t k = 0; k < count; ++k) {
    const size_t u = count + 1 + k;
    if (!c.wants(k) && !c.wants(u)) continue;
    const Tensor &x = c.in(k), &updates = c.in(u), g = c.cotangent(k);
    const Tensor none = constant_like(updates.type(), 0);
    switch (a.reducer) {
      case Reducer::kSum:
        if (c.wants(k)) c.set(k, g);
        if (c.wants(u)) c.set(u, fetch(g));
        break;
      case Reducer::kUpdate:
        if (c.wants(k)) c.set(k, scatter_update(g, indices, none, a.axes, a.hints));
        if (c.wants(u)) {
          const Tensor all = fetch(g);
          c.set(u, a.hints.unique ? all : select(last_writers(indices, updates, x.type(), a), all, none));
        }
        break;
      case Reducer::kProd: {
        if (c.wants(u) && !a.hints.unique) {
          throw UnsupportedError("scatter.gradient",
                                 "the gradient of scatter_mul for updates needs unique indices",
                                 "pass {.unique = true} when no two updates meet");
        }
        const Tensor ones = constant_like(x.type(), 1);
        if (c.wants(k)) c.set(k, g * scatter_mul(ones, indices, updates, a.axes, a.hints));
        if (c.wants(u)) c.set(u, fetch(g * x));
        break;
      }
      case Reducer::kMax:
      case Reducer::kMin: {
        // As reduce does: where one is NaN all get NaN.
        const Tensor& out = c.out(k);
        const Comparison loses = a.reducer == Reducer::kMax ? Comparison::kLT : Comparison::kGT;
        const Tensor kept = bitwise_not(compare(x, out, loses));
        const Tensor won = bitwise_not(compare(updates, fetch(out), loses));
        const Tensor ties =
            scatter_add(convert(kept, x.dtype()), indices, convert(won, x.dtype()), a.axes, a.hints);
        const Tensor known = compare(out, out, Comparison::kEQ);
        const Tensor nan = constant_like(x.type(), std::numeric_limits<double>::quiet_NaN());
        const Tensor share = g / select(known, ties, nan);
        if (c.wants(k)) c.set(k, select(kept, share, 0));
        if (c.wants(u)) c.set(u, select(won, fetch(share), 0));
        break;
      }
      default:
        throw UnsupportedError(
            "scatter.gradient",
            cat("a scatter by ", kReducerWords[static_cast<int>(a.reducer)], " has no gradient"));
    }
  }
}

void batch_scatter(BatchContext& c) {
  auto attributes = std::make_shared<ScatterAttributes>(c.attributes<ScatterAttributes>());
  const size_t count = operand_count_scatter(*attributes, c.inputs.size(), c.regions);
  if (any_batched(c, 2 * count + 1))
    throw UnsupportedError("scatter.batch", "a value captured by the region must not be batched");
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (size_t i = 0; i < 2 * count + 1; ++i) {
    if (i != count) inputs[i] = batch_expand(c, i);
  }
  attributes->axes = c.batched[count] ? batch_both(attributes->axes) : batch_operand(attributes->axes);
  attributes->hints.sorted = attributes->hints.sorted && !c.batched[count];
  c.outputs = emit_all(op_scatter, attributes, inputs, c.regions);
}

Cost cost_scatter(const Attributes*, std::span<const TensorType* const> inputs,
                  std::span<const TensorType> outputs) {
  const TensorType& updates = *inputs[outputs.size() + 1];
  const auto count = static_cast<double>(outputs.size());
  return {count * static_cast<double>(updates.elements()),
          count * static_cast<double>(2 * outputs[0].bytes() + 3 * updates.bytes())};
}

Tensor scatter_one(const Operand& x, const Operand& indices, const Operand& updates, Reducer reducer,
                   const IndexAxes& axes, const IndexHints& hints) {
  CallScope scope(x.at());
  const Tensor operand = x.tensor(), update = updates.as(operand.dtype());
  return scatter({&operand, 1}, indices.tensor(), {&update, 1}, reducer, axes, hints)[0];
}

}  // namespace

const OpDef op_scatter = {
    .name = "scatter",
    .doc =
        "Operands with each update combined into the element that its index vector and its place in the "
        "window name; updates outside of the operand are dropped. Index vectors in row-major order; every "
        "combination rounds to the dtype, as the update computation says. c1 .. c8: as "
        "gather's, for updates in place of the result. c9: a region (k elements, k updates, captures) or a "
        "named reducer. c10: updates have the axes of indices and window, and windows fit. c11: one shape "
        "of operands, one of updates. c12: paired dtypes that the reducer takes.",
    .attributes = make_attributes<ScatterAttributes>,
    .infer = infer_scatter,
    .eval = eval_scatter,
    .gradient = gradient_scatter,
    .batch = batch_scatter,
    .cost = cost_scatter,
    .sample =
        [](DType dtype) {
          const Tensor x = constant_like({dtype, {2}}, 1);
          scatter_update(x, constant_like({DType::kI32, {2}}, 0), x,
                         {.collapsed = {0}, .index_map = {0}, .index_vector = 1});
        },
};

std::vector<Tensor> scatter(std::span<const Tensor> operands, const Tensor& indices,
                            std::span<const Tensor> updates, Reducer reducer, const IndexAxes& axes,
                            const IndexHints& hints) {
  auto attributes = std::make_shared<ScatterAttributes>();
  attributes->reducer = reducer;
  attributes->axes = axes;
  attributes->hints = hints;
  std::vector<Tensor> inputs(operands.begin(), operands.end());
  inputs.push_back(indices);
  inputs.insert(inputs.end(), updates.begin(), updates.end());
  return emit_all(op_scatter, attributes, inputs);
}

Tensor scatter_add(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& hints) {
  return scatter_one(x, indices, updates, Reducer::kSum, axes, hints);
}
Tensor scatter_mul(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& hints) {
  return scatter_one(x, indices, updates, Reducer::kProd, axes, hints);
}
Tensor scatter_max(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& hints) {
  return scatter_one(x, indices, updates, Reducer::kMax, axes, hints);
}
Tensor scatter_min(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& hints) {
  return scatter_one(x, indices, updates, Reducer::kMin, axes, hints);
}
Tensor scatter_update(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                      const IndexHints& hints) {
  return scatter_one(x, indices, updates, Reducer::kUpdate, axes, hints);
}

Tensor put_along_axis(const TensorType& type, const Tensor& indices, const Tensor& updates, int64_t axis) {
  Shape shape = indices.shape();
  shape.push_back(1);
  return scatter_add(constant_like(type, 0), reshape(indices, shape), updates, along_axis(type.rank(), axis),
                     {.unique = true});
}

}  // namespace espalier
