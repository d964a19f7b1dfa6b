#include "ops/select_and_scatter.h"

#include "ir/graph.h"

namespace espalier {
namespace {

void infer_select_and_scatter(InferContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  const size_t regions = (a.select == SelectBy::kRegion) + (a.scatter == Reducer::kRegion);
  c.require(c.regions() == regions, "c1", "takes ", regions, " regions, got ", c.regions());
  c.require(c.size() >= 3 && (regions > 0 || c.size() == 3), "arity",
            "takes an operand, a source and an initial value, got ", c.size());
  for (size_t i = 0; i < regions; ++i) {
    c.require(c.region(i)->inputs().size() == c.size() - 1 && c.region(i)->outputs().size() == 1, "c1",
              "a region takes two elements and the captures and gives one value; region ", i, " takes ",
              c.region(i)->inputs().size(), " of ", c.size() - 1);
  }
  const TensorType &x = c.in(0), &source = c.in(1), &initial = c.in(2);
  c.require_dtype(x.dtype == source.dtype && x.dtype == initial.dtype, "c2", "dtypes must be equal: ", x,
                  ", ", source, " and ", initial);
  if (a.scatter != Reducer::kRegion) {
    c.require_dtype(in_set(x.dtype, reducer_set(a.scatter)), "c2", kReducerWords[static_cast<int>(a.scatter)],
                    " takes ", set_text(reducer_set(a.scatter)), " elements, got ", x);
  }
  require_window(c, a.window, x.shape, "c3", "c4");
  for (const int64_t size : a.window.sizes)
    c.require(size > 0, "c4", "window sizes must be positive, got ", a.window.sizes);
  c.require(source.shape == window_counts(a.window, x.shape), "c5",
            "the source needs one element a window: ", source, " for windows ",
            window_counts(a.window, x.shape), " over ", x);
  c.require(initial.rank() == 0, "c6", "the initial value must be a scalar, got ", initial);
  c.result(x);
}

// Runs region `i` on two elements of the operand's dtype; writes its result.
void run_region(EvalContext& c, size_t i, const void* a, const void* b, const TensorType& result, void* out) {
  const TensorType scalar{c.in(0).type->dtype, {}};
  std::vector<ArrayView> arguments{{&scalar, a}, {&scalar, b}};
  arguments.insert(arguments.end(), c.inputs.begin() + 3, c.inputs.end());
  const MutableArrayView target{&result, out};
  c.runner->run(*c.regions[i], arguments, {&target, 1});
}

std::vector<int64_t> choose_all(EvalContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  if (a.select != SelectBy::kRegion) return choose(a.window, c.in(0), a.select);
  const size_t size = size_of(c.in(0).type->dtype);
  const auto element = [&](int64_t i) { return c.in(0).as<std::byte>() + static_cast<size_t>(i) * size; };
  const TensorType truth{DType::kBool, {}};
  return choose(a.window, c.in(0).type->shape, [&](int64_t chosen, int64_t candidate) {
    bool stays = false;
    run_region(c, 0, element(chosen), element(candidate), truth, &stays);
    return stays;
  });
}

void scatter_by_region(EvalContext& c, const std::vector<int64_t>& chosen) {
  const TensorType scalar{c.in(0).type->dtype, {}};
  const size_t size = size_of(scalar.dtype);
  fill_elements(c.out(0).data, c.in(2).data, size, c.out(0).type->elements());
  std::array<std::byte, 8> result;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    std::byte* target = c.out(0).as<std::byte>() + static_cast<size_t>(chosen[i]) * size;
    run_region(c, c.regions.size() - 1, target, c.in(1).as<std::byte>() + i * size, scalar, result.data());
    std::memcpy(target, result.data(), size);
  }
}

void eval_select_and_scatter(EvalContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  const std::vector<int64_t> chosen = choose_all(c);
  if (a.scatter == Reducer::kRegion) return scatter_by_region(c, chosen);
  visit_reducer(a.scatter, [&](auto reducer) {
    visit_dtype(c.in(0).type->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using A = Accumulator<reducer.value, T>;
      const auto n = static_cast<size_t>(c.out(0).type->elements());
      const auto sums = std::make_unique<A[]>(n);
      std::fill_n(sums.get(), n, static_cast<A>(*c.in(2).as<T>()));
      for (size_t i = 0; i < chosen.size(); ++i) {
        if (chosen[i] < 0) continue;
        A& sum = sums[static_cast<size_t>(chosen[i])];
        sum = combine<reducer.value>(sum, static_cast<A>(c.in(1).as<T>()[i]));
      }
      for (size_t i = 0; i < n; ++i) c.out(0).as<T>()[i] = static_cast<T>(sums[i]);
    });
  });
}

// Only sums are linear in source and initial value; what is chosen does not move.
void gradient_select_and_scatter(GradientContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  if (a.select == SelectBy::kRegion || a.scatter != Reducer::kSum)
    throw UnsupportedError("select_and_scatter.gradient", "only sums by a named choice have a gradient");
  if (c.wants(1)) c.set(1, select_and_gather(c.cotangent(), c.in(0), a.window, a.select));
  if (c.wants(2)) c.set(2, reduce_sum(c.cotangent(), Dims::range(c.out(0).rank())));
}

void batch_select_and_scatter(BatchContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (size_t i = 2; i < inputs.size(); ++i) {
    if (c.batched[i])
      throw UnsupportedError("select_and_scatter.batch", "initial and captured values must not be batched");
  }
  inputs[0] = batch_expand(c, 0);
  inputs[1] = batch_expand(c, 1);
  auto attributes = std::make_shared<SelectAttributes>(a);
  attributes->window = with_leading_axis(a.window);
  c.outputs = emit_all(op_select_and_scatter, attributes, inputs, c.regions);
}

Cost cost_select_and_scatter(const Attributes* attributes, std::span<const TensorType* const> inputs,
                             std::span<const TensorType> outputs) {
  const Window& window = static_cast<const SelectAttributes*>(attributes)->window;
  return {static_cast<double>(num_elements(window.sizes)) * static_cast<double>(inputs[1]->elements()),
          static_cast<double>(inputs[0]->bytes() + inputs[1]->bytes() + outputs[0].bytes())};
}

}  // namespace

std::vector<int64_t> choose(const Window& window, const ArrayView& array, SelectBy select) {
  return visit_dtype(array.type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const T* x = array.as<T>();
    return choose(window, array.type->shape, [&](int64_t a, int64_t b) {
      const C p = static_cast<C>(x[a]), q = static_cast<C>(x[b]);
      return select == SelectBy::kGE ? p >= q : p <= q;
    });
  });
}

const OpDef op_select_and_scatter = {
    .name = "select_and_scatter",
    .doc =
        "Each window of the operand chooses an element, the first that no later one displaces (GE: a later "
        "one must be larger), and the source's element of that window is combined into the result there; "
        "the rest is the initial value. Padding is never chosen. c1: regions for what is not named: "
        "select, then scatter. c2: one dtype, taken by the reducer. c3: window lists have one entry an axis "
        "or none. c4: positive sizes and strides up to 2^30. c5: one source element a window. c6: a scalar "
        "initial value.",
    .attributes = make_attributes<SelectAttributes>,
    .infer = infer_select_and_scatter,
    .eval = eval_select_and_scatter,
    .gradient = gradient_select_and_scatter,
    .batch = batch_select_and_scatter,
    .cost = cost_select_and_scatter,
};

Tensor select_and_scatter(const Tensor& x, const Tensor& source, const Tensor& initial, const Window& window,
                          SelectBy select) {
  auto attributes = std::make_shared<SelectAttributes>();
  attributes->select = select;
  attributes->window = window;
  return emit(op_select_and_scatter, attributes, {x, source, initial});
}

}  // namespace espalier
