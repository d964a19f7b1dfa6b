#include "ops/movement.h"
#include "ops/select_and_scatter.h"

namespace espalier {
namespace {

void infer_select_and_gather(InferContext& c) {
  c.require_inputs(2);
  const auto& a = c.attributes<SelectAttributes>();
  c.require(a.select != SelectBy::kRegion, "c1", "the choice must be a named one");
  c.require(c.in(0) == c.in(1), "c2", "values and operand must have one type: ", c.in(0), " and ", c.in(1));
  require_window(c, a.window, c.in(1).shape, "c3", "c4");
  for (const int64_t size : a.window.sizes)
    c.require(size > 0, "c4", "window sizes must be positive, got ", a.window.sizes);
  c.result({c.in(0).dtype, window_counts(a.window, c.in(1).shape)});
}

// The elements at place k of every window; `fill` where there is padding.
Tensor at_place(const Tensor& x, const Tensor& fill, const Window& w, int64_t place) {
  Dims low, high, start, limit, strides;
  for (size_t i = 0; i < w.rank(); ++i) {
    low.push_back(w.pad_low(i));
    high.push_back(w.pad_high(i));
    strides.push_back(w.stride(i));
  }
  const Shape counts = window_counts(w, x.shape()), inside = row_major_strides(w.sizes);
  for (size_t i = 0; i < w.rank(); ++i) {
    start.push_back(place / inside[i] % w.sizes[i]);
    limit.push_back(start[i] + (counts[i] - 1) * strides[i] + 1);
  }
  return slice(pad(x, fill, low, high), start, limit, strides);
}

// A walk over the places of the window: each displaces the choice so far unless that stays.
std::vector<Tensor> decompose_select_and_gather(const DecomposeContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  const Tensor &values = c.in(0), &x = c.in(1), zero = constant_like({x.dtype(), {}}, 0);
  const Shape counts = window_counts(a.window, x.shape());
  const TensorType bools{DType::kBool, x.shape()};
  const Tensor there = make_concrete(Literal::splat(bools, int64_t{1}));
  Tensor value = constant_like({x.dtype(), counts}, 0);
  if (num_elements(counts) == 0) return {value};
  Tensor best = value, known = compare(value, 0, Comparison::kNE);
  for (int64_t k = 0; k < num_elements(a.window.sizes); ++k) {
    const Tensor next = at_place(x, zero, a.window, k);
    const Tensor real = at_place(there, Tensor::scalar(false), a.window, k);
    const Tensor stays = compare(best, next, a.select == SelectBy::kGE ? Comparison::kGE : Comparison::kLE);
    const Tensor keep = ~real | (known & stays);
    value = select(keep, value, at_place(values, zero, a.window, k));
    best = select(keep, best, next);
    known = known | real;
  }
  return {value};
}

void eval_select_and_gather(EvalContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  const std::vector<int64_t> chosen = choose(a.window, c.in(1), a.select);
  visit_width(c.in(0).type->dtype, [&](auto word) {
    using Word = decltype(word);
    for (size_t i = 0; i < chosen.size(); ++i)
      c.out(0).as<Word>()[i] = chosen[i] < 0 ? Word{} : c.in(0).as<Word>()[chosen[i]];
  });
}

void gradient_select_and_gather(GradientContext& c) {
  const auto& a = c.attributes<SelectAttributes>();
  if (!c.wants(0)) return;
  const Tensor zero = constant_like({c.in(0).dtype(), {}}, 0);
  c.set(0, select_and_scatter(c.in(1), c.cotangent(), zero, a.window, a.select));
}

void batch_select_and_gather(BatchContext& c) {
  auto attributes = std::make_shared<SelectAttributes>(c.attributes<SelectAttributes>());
  attributes->window = with_leading_axis(attributes->window);
  const Tensor inputs[] = {batch_expand(c, 0), batch_expand(c, 1)};
  c.outputs = emit_all(op_select_and_gather, attributes, inputs);
}

}  // namespace

const OpDef op_select_and_gather = {
    .name = "select_and_gather",
    .doc =
        "From (values, operand): the element of `values` where each window of the operand chooses, as in "
        "select_and_scatter, whose gradient it is; zero for a window that holds padding alone. c1: a named "
        "choice. c2: one type. c3: window lists have one entry an axis or none. c4: positive sizes and "
        "strides up to 2^30.",
    .composite = true,
    .attributes = make_attributes<SelectAttributes>,
    .infer = infer_select_and_gather,
    .eval = eval_select_and_gather,
    .decompose = decompose_select_and_gather,
    .gradient = gradient_select_and_gather,
    .batch = batch_select_and_gather,
};

Tensor select_and_gather(const Tensor& values, const Tensor& x, const Window& window, SelectBy select) {
  auto attributes = std::make_shared<SelectAttributes>();
  attributes->select = select;
  attributes->window = window;
  return emit(op_select_and_gather, attributes, {values, x});
}

}  // namespace espalier
