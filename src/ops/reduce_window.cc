#include "ops/reduce_window.h"

#include "ir/builder.h"
#include "ops/movement.h"
#include "ops/select_and_scatter.h"

namespace espalier {
namespace {

void infer_reduce_window(InferContext& c) {
  const auto& a = c.attributes<ReduceWindowAttributes>();
  size_t count = 1;
  if (a.reducer == Reducer::kRegion) {
    c.require(c.regions() == 1, "c1", "a region says how to combine");
    count = c.region(0)->outputs().size();
    c.require(count > 0 && c.size() >= 2 * count, "arity", "takes ", count,
              " operands and as many initial values, got ", c.size());
    c.require(c.region(0)->inputs().size() == c.size(), "c1", "the region takes ",
              c.region(0)->inputs().size(), " values, the call gives ", c.size());
  } else {
    c.require_inputs(2);
    c.require_dtype(in_set(c.in(0).dtype, reducer_set(a.reducer)), "c2",
                    kReducerWords[static_cast<int>(a.reducer)], " takes ", set_text(reducer_set(a.reducer)),
                    " elements, got ", c.in(0));
  }
  const Shape& base = c.in(0).shape;
  require_window(c, a.window, base, "c3", "c4");
  for (const int64_t size : a.window.sizes)
    c.require(size > 0, "c4", "window sizes must be positive, got ", a.window.sizes);
  const Shape shape = window_counts(a.window, base);
  for (size_t i = 0; i < count; ++i) {
    c.require(c.in(i).shape == base, "c5", "operands must have one shape: ", c.in(0), " and ", c.in(i));
    c.require(c.in(count + i).rank() == 0 && c.in(count + i).dtype == c.in(i).dtype, "c6",
              "the initial value of ", c.in(i), " must be a scalar of its dtype, got ", c.in(count + i));
    c.result({c.in(i).dtype, shape});
  }
}

// Calls element(result index, operand offset or -1 for padding) for the elements of each window in row-major
// order, begin(result index) before and end(result index) behind them.
template <class Begin, class Element, class End>
void walk_windows_reduce_window(const Window& window, const Shape& base, const Shape& result, Begin begin,
                                Element element, End end) {
  const size_t rank = base.size();
  const Dims strides = row_major_strides(base);
  std::vector<std::vector<int64_t>> positions;
  for (size_t i = 0; i < rank; ++i) positions.push_back(window.positions(i, base[i]));
  std::vector<int64_t> offsets, next;
  Dims at = Dims::filled(rank, 0);
  const int64_t n = num_elements(result);
  for (int64_t r = 0; r < n; ++r) {
    offsets.assign(1, 0);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t* line = positions[i].data() + at[i] * window.sizes[i];
      next.clear();
      for (const int64_t offset : offsets) {
        for (int64_t k = 0; k < window.sizes[i]; ++k)
          next.push_back(offset < 0 || line[k] < 0 ? -1 : offset + line[k] * strides[i]);
      }
      offsets.swap(next);
    }
    begin(r);
    for (const int64_t offset : offsets) element(r, offset);
    end(r);
    for (size_t i = rank; i-- > 0;) {
      if (++at[i] < result[i]) break;
      at[i] = 0;
    }
  }
}

using Element = std::array<std::byte, 8>;

void eval_region_reduce_window(EvalContext& c, const Window& window) {
  const size_t count = c.outputs.size();
  std::vector<TensorType> scalar(count);
  for (size_t k = 0; k < count; ++k) scalar[k] = {c.in(k).type->dtype, {}};
  std::vector<Element> state(count), next(count);
  std::vector<ArrayView> arguments(c.inputs.begin(), c.inputs.end());
  std::vector<MutableArrayView> results(count);
  const auto size = [&](size_t k) { return size_of(scalar[k].dtype); };
  walk_windows_reduce_window(
      window, c.in(0).type->shape, c.out(0).type->shape,
      [&](int64_t) {
        for (size_t k = 0; k < count; ++k) std::memcpy(state[k].data(), c.in(count + k).data, size(k));
      },
      [&](int64_t, int64_t offset) {
        for (size_t k = 0; k < count; ++k) {
          arguments[k] = {&scalar[k], state[k].data()};
          arguments[count + k] = {
              &scalar[k], offset < 0 ? c.in(count + k).data
                                     : c.in(k).as<std::byte>() + static_cast<size_t>(offset) * size(k)};
          results[k] = {&scalar[k], next[k].data()};
        }
        c.runner->run(*c.regions[0], arguments, results);
        std::swap(state, next);
      },
      [&](int64_t r) {
        for (size_t k = 0; k < count; ++k)
          std::memcpy(c.out(k).as<std::byte>() + static_cast<size_t>(r) * size(k), state[k].data(), size(k));
      });
}

void eval_reduce_window(EvalContext& c) {
  const auto& a = c.attributes<ReduceWindowAttributes>();
  if (a.reducer == Reducer::kRegion) return eval_region_reduce_window(c, a.window);
  visit_reducer(a.reducer, [&](auto reducer) {
    visit_dtype(c.in(0).type->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using A = Accumulator<reducer.value, T>;
      const T* x = c.in(0).as<T>();
      T* out = c.out(0).as<T>();
      const A initial = static_cast<A>(*c.in(1).as<T>());
      A sum{};
      walk_windows_reduce_window(
          a.window, c.in(0).type->shape, c.out(0).type->shape, [&](int64_t) { sum = initial; },
          [&](int64_t, int64_t offset) {
            sum = combine<reducer.value>(sum, offset < 0 ? initial : static_cast<A>(x[offset]));
          },
          [&](int64_t r) { out[r] = static_cast<T>(sum); });
    });
  });
}

void gradient_reduce_window(GradientContext& c) {
  const auto& a = c.attributes<ReduceWindowAttributes>();
  const Window& w = a.window;
  const Tensor &x = c.in(0), g = c.cotangent();
  const bool dilated = !(w.base_dilations.empty() || w.base_dilations == Dims::filled(w.rank(), 1)) ||
                       !(w.window_dilations.empty() || w.window_dilations == Dims::filled(w.rank(), 1));
  if (a.reducer == Reducer::kSum) {
    if (c.wants(0)) {
      c.set(0, g.type().elements() == 0 ? constant_like(x.type(), 0)
                                        : reduce_window(g, w.transposed(x.shape()), Reducer::kSum));
    }
    if (c.wants(1)) {
      // A window counts the initial value once, and once more for each place without an element.
      const Tensor present = reduce_window(constant_like(x.type(), 1), w, Reducer::kSum);
      const Tensor times = static_cast<double>(1 + num_elements(w.sizes)) - present;
      c.set(1, reduce_sum(g * times, Dims::range(g.rank())));
    }
    return;
  }
  if ((a.reducer == Reducer::kMax || a.reducer == Reducer::kMin) && !dilated) {
    const SelectBy by = a.reducer == Reducer::kMax ? SelectBy::kGE : SelectBy::kLE;
    const Tensor initial_won = compare(c.out(0), c.in(1), Comparison::kEQ);
    if (c.wants(0))
      c.set(0, select_and_scatter(x, select(initial_won, 0, g), constant_like({x.dtype(), {}}, 0), w, by));
    if (c.wants(1)) c.set(1, reduce_sum(select(initial_won, g, 0), Dims::range(g.rank())));
    return;
  }
  throw UnsupportedError("reduce_window.gradient",
                         cat("a window reduction by ", kReducerWords[static_cast<int>(a.reducer)],
                             dilated ? " with dilation has no gradient" : " has no gradient"));
}

void batch_reduce_window(BatchContext& c) {
  const auto& a = c.attributes<ReduceWindowAttributes>();
  const size_t count = a.reducer == Reducer::kRegion ? c.regions[0]->outputs().size() : 1;
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i >= count && c.batched[i])
      throw UnsupportedError("reduce_window.batch",
                             "the initial value of a batched reduction must not be batched");
    if (i < count) inputs[i] = batch_expand(c, i);
  }
  auto attributes = std::make_shared<ReduceWindowAttributes>(a);
  attributes->window = with_leading_axis(a.window);
  c.outputs = emit_all(op_reduce_window, attributes, inputs, c.regions);
}

Cost cost_reduce_window(const Attributes* attributes, std::span<const TensorType* const> inputs,
                        std::span<const TensorType> outputs) {
  const Window& window = static_cast<const ReduceWindowAttributes*>(attributes)->window;
  return {static_cast<double>(num_elements(window.sizes)) * static_cast<double>(outputs[0].elements()),
          static_cast<double>(inputs[0]->bytes() + outputs[0].bytes())};
}

// x over windows of its spatial axes.
Tensor pool(const Operand& x, const PoolOptions& o, Reducer reducer) {
  CallScope scope(x.at());
  return reduce_window(x.tensor(), {o.window, o.strides, {}, {}, o.padding_low, o.padding_high}, reducer);
}

}  // namespace

const OpDef op_reduce_window = {
    .name = "reduce_window",
    .doc =
        "Reduces the elements under each place of a window, from an initial value, in row-major order; "
        "padding and the gaps of base_dilations hold the initial value. Accumulates as reduce does. c1: a "
        "region (k accumulators, k elements, captures) or a named reducer. c2: and, or, xor take integers "
        "and bool. c3: window lists have one entry an axis or none. c4: positive sizes, strides and "
        "dilations, all up to 2^30. c5: operands of one shape. c6: scalar initial values. The gradient of a "
        "maximum goes to the initial value where that is the maximum, else to the first largest element; "
        "prod and dilated max and min have none.",
    .attributes = make_attributes<ReduceWindowAttributes>,
    .infer = infer_reduce_window,
    .eval = eval_reduce_window,
    .gradient = gradient_reduce_window,
    .batch = batch_reduce_window,
    .cost = cost_reduce_window,
};

Tensor reduce_window(const Tensor& x, const Tensor& initial, const Window& window, Reducer reducer) {
  auto attributes = std::make_shared<ReduceWindowAttributes>();
  attributes->reducer = reducer;
  attributes->window = window;
  return emit(op_reduce_window, attributes, {x, initial});
}

Tensor reduce_window(const Tensor& x, const Window& window, Reducer reducer) {
  return reduce_window(x, make_concrete(reducer_identity(reducer, x.dtype())), window, reducer);
}

Tensor sum_pool(Operand x, const PoolOptions& options) { return pool(x, options, Reducer::kSum); }
Tensor max_pool(Operand x, const PoolOptions& options) { return pool(x, options, Reducer::kMax); }
Tensor min_pool(Operand x, const PoolOptions& options) { return pool(x, options, Reducer::kMin); }

Tensor average_pool(Operand x, const PoolOptions& options) {
  const Tensor sum = pool(x, options, Reducer::kSum);
  return sum / pool(constant_like(x.tensor().type(), 1), options, Reducer::kSum);
}

}  // namespace espalier
