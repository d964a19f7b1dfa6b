#include "ops/dot_general.h"

#include "ops/elementwise.h"

namespace espalier {
namespace {

void check_axes(InferContext& c, size_t side, const Dims& batching, const Dims& contracting) {
  Dims seen;
  for (const Dims* list : {&batching, &contracting}) {
    for (const int64_t axis : *list) {
      c.require_axis(axis, c.in(side).rank(), "c2");
      c.require(!seen.contains(axis), "c2", "axis ", axis, " of input ", side, " is named twice");
      seen.push_back(axis);
    }
  }
}

void infer_dot_general(InferContext& c) {
  c.require_inputs(2);
  const auto& a = c.attributes<DotAttributes>();
  const DotAxes& x = a.axes;
  c.require(
      x.lhs_batching.size() == x.rhs_batching.size() && x.lhs_contracting.size() == x.rhs_contracting.size(),
      "c1", "axis lists must pair up: batching ", x.lhs_batching, " and ", x.rhs_batching, ", contracting ",
      x.lhs_contracting, " and ", x.rhs_contracting);
  check_axes(c, 0, x.lhs_batching, x.lhs_contracting);
  check_axes(c, 1, x.rhs_batching, x.rhs_contracting);
  const auto pair = [&](const Dims& lhs, const Dims& rhs, const char* what) {
    for (size_t i = 0; i < lhs.size(); ++i) {
      c.require(c.in(0).shape[lhs[i]] == c.in(1).shape[rhs[i]], "c3", what, " axes must be equal: axis ",
                lhs[i], " of ", c.in(0), " and axis ", rhs[i], " of ", c.in(1));
    }
  };
  pair(x.lhs_batching, x.rhs_batching, "batching");
  pair(x.lhs_contracting, x.rhs_contracting, "contracting");
  c.require_dtype(c.in(0).dtype == c.in(1).dtype, "c4", "dtypes must be equal: ", c.in(0), " and ", c.in(1));
  const bool both_float = is_float(c.in(0).dtype) && is_float(a.dtype);
  c.require_dtype(
      a.dtype == c.in(0).dtype || (size_of(a.dtype) > size_of(c.in(0).dtype) &&
                                   (both_float || (is_integer(a.dtype) && is_integer(c.in(0).dtype)))),
      "c5", "the result is of the operands' dtype or a wider one of its kind: ", a.dtype, " from ", c.in(0));
  Shape shape;
  for (const int64_t axis : x.lhs_batching) shape.push_back(c.in(0).shape[axis]);
  for (const int64_t axis : free_axes(c.in(0).rank(), x.lhs_batching, x.lhs_contracting))
    shape.push_back(c.in(0).shape[axis]);
  for (const int64_t axis : free_axes(c.in(1).rank(), x.rhs_batching, x.rhs_contracting))
    shape.push_back(c.in(1).shape[axis]);
  c.result({a.dtype, shape});
}

// Offsets of all index tuples over `axes`, row-major.
std::vector<int64_t> offsets(const Shape& shape, const Dims& axes) {
  const Dims strides = row_major_strides(shape);
  std::vector<int64_t> out{0};
  for (const int64_t axis : axes) {
    std::vector<int64_t> next;
    next.reserve(out.size() * static_cast<size_t>(shape[axis]));
    for (const int64_t base : out) {
      for (int64_t i = 0; i < shape[axis]; ++i) next.push_back(base + i * strides[axis]);
    }
    out = std::move(next);
  }
  return out;
}

void eval_dot_general(EvalContext& c) {
  const auto& a = c.attributes<DotAttributes>();
  const Shape &ls = c.in(0).type->shape, &rs = c.in(1).type->shape;
  const auto lb = offsets(ls, a.axes.lhs_batching), rb = offsets(rs, a.axes.rhs_batching);
  const auto lk = offsets(ls, a.axes.lhs_contracting), rk = offsets(rs, a.axes.rhs_contracting);
  const auto lf = offsets(ls, free_axes(ls.size(), a.axes.lhs_batching, a.axes.lhs_contracting));
  const auto rf = offsets(rs, free_axes(rs.size(), a.axes.rhs_batching, a.axes.rhs_contracting));
  visit_dtype(c.in(0).type->dtype, [&](auto in_tag) {
    using In = typename decltype(in_tag)::type;
    visit_dtype(c.out(0).type->dtype, [&](auto out_tag) {
      using Out = typename decltype(out_tag)::type;
      if constexpr (is_floating<In> == is_floating<Out> &&
                    std::is_same_v<In, bool> == std::is_same_v<Out, bool>) {
        using A = std::conditional_t<is_half<In>, float, std::conditional_t<is_floating<Out>, double, Out>>;
        const In *x = c.in(0).as<In>(), *y = c.in(1).as<In>();
        Out* out = c.out(0).as<Out>();
        for (size_t b = 0; b < lb.size(); ++b) {
          for (const int64_t i : lf) {
            for (const int64_t j : rf) {
              A sum{};
              for (size_t k = 0; k < lk.size(); ++k) {
                const A p = static_cast<A>(x[lb[b] + i + lk[k]]), q = static_cast<A>(y[rb[b] + j + rk[k]]);
                if constexpr (std::is_same_v<A, bool>) {
                  sum = sum || (p && q);
                } else if constexpr (std::is_integral_v<A>) {
                  sum = static_cast<A>(static_cast<Wrapping<A>>(sum) +
                                       static_cast<Wrapping<A>>(p) * static_cast<Wrapping<A>>(q));
                } else {
                  sum += p * q;
                }
              }
              *out++ = static_cast<Out>(sum);
            }
          }
        }
      }
    });
  });
}

// The gradient of one side: contract the cotangent with the other side over the other's free axes.
Tensor side_gradient(const Tensor& cotangent, const Tensor& other, const Shape& self, const Dims& self_batch,
                     const Dims& self_contract, const Dims& other_batch, const Dims& other_contract,
                     bool self_is_lhs, DType dtype) {
  const size_t batch = self_batch.size();
  const Dims self_free = free_axes(self.size(), self_batch, self_contract);
  const Dims other_free = free_axes(other.rank(), other_batch, other_contract);
  DotAxes axes;
  axes.lhs_batching = Dims::range(batch);
  axes.rhs_batching = other_batch;
  const size_t first = batch + (self_is_lhs ? self_free.size() : 0);
  for (size_t i = 0; i < other_free.size(); ++i)
    axes.lhs_contracting.push_back(static_cast<int64_t>(first + i));
  axes.rhs_contracting = other_free;
  const Tensor product = dot_general(cotangent, other, axes, cotangent.dtype());
  // Axes of the product: batch, own free axes, then the other's contracting axes in ascending order.
  Dims permutation = Dims::filled(self.size(), 0);
  for (size_t i = 0; i < batch; ++i) permutation[self_batch[i]] = static_cast<int64_t>(i);
  for (size_t i = 0; i < self_free.size(); ++i) permutation[self_free[i]] = static_cast<int64_t>(batch + i);
  for (size_t i = 0; i < self_contract.size(); ++i) {
    int64_t rank_of = 0;
    for (const int64_t axis : other_contract) rank_of += axis < other_contract[i];
    permutation[self_contract[i]] = static_cast<int64_t>(batch + self_free.size()) + rank_of;
  }
  return convert(transpose(product, permutation), dtype);
}

void gradient_dot_general(GradientContext& c) {
  const auto& a = c.attributes<DotAttributes>();
  const DotAxes& x = a.axes;
  const DType in = c.in(0).dtype();
  const Tensor g = c.cotangent();
  const auto widen = [&](const Tensor& t) { return convert(t, g.dtype()); };
  if (c.wants(0)) {
    c.set(0, side_gradient(g, widen(c.in(1)), c.in(0).shape(), x.lhs_batching, x.lhs_contracting,
                           x.rhs_batching, x.rhs_contracting, true, in));
  }
  if (c.wants(1)) {
    c.set(1, side_gradient(g, widen(c.in(0)), c.in(1).shape(), x.rhs_batching, x.rhs_contracting,
                           x.lhs_batching, x.lhs_contracting, false, in));
  }
}

void batch_dot_general(BatchContext& c) {
  const auto& a = c.attributes<DotAttributes>();
  DotAxes axes = a.axes;
  const auto shift = [](Dims& list) {
    for (int64_t& axis : list) ++axis;
  };
  if (c.batched[0]) shift(axes.lhs_batching), shift(axes.lhs_contracting);
  if (c.batched[1]) shift(axes.rhs_batching), shift(axes.rhs_contracting);
  if (c.batched[0] && c.batched[1]) {
    axes.lhs_batching.insert(0, 0);
    axes.rhs_batching.insert(0, 0);
    c.outputs = {dot_general(c.in(0), c.in(1), axes, a.dtype)};
    return;
  }
  const Tensor out = dot_general(c.in(0), c.in(1), axes, a.dtype);
  const size_t batch = axes.lhs_batching.size();
  const size_t lhs_free = c.in(0).rank() - batch - axes.lhs_contracting.size();
  const size_t from = c.batched[0] ? batch : batch + lhs_free;
  Dims permutation{static_cast<int64_t>(from)};
  for (size_t i = 0; i < out.rank(); ++i) {
    if (i != from) permutation.push_back(static_cast<int64_t>(i));
  }
  c.outputs = {transpose(out, permutation)};
}

Cost cost_dot_general(const Attributes* attributes, std::span<const TensorType* const> inputs,
                      std::span<const TensorType> outputs) {
  double k = 1;
  for (const int64_t axis : static_cast<const DotAttributes*>(attributes)->axes.lhs_contracting)
    k *= static_cast<double>(inputs[0]->shape[axis]);
  return {2 * k * static_cast<double>(outputs[0].elements()),
          static_cast<double>(inputs[0]->bytes() + inputs[1]->bytes() + outputs[0].bytes())};
}

}  // namespace

Dims free_axes(size_t rank, const Dims& batching, const Dims& contracting) {
  Dims out;
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (!batching.contains(axis) && !contracting.contains(axis)) out.push_back(axis);
  }
  return out;
}

const OpDef op_dot_general = {
    .name = "dot_general",
    .doc =
        "Sums products over the contracting axes, for each index of the batching axes; the result has "
        "batching axes, free "
        "axes of lhs, free axes of rhs. f16 and bf16 accumulate in f32 and round once; integers wrap. c1: "
        "lists pair up. c2: "
        "distinct axes in range. c3: paired sizes equal. c4: one operand dtype. c5: the result dtype is the "
        "operands' or a "
        "wider one.",
    .attributes = make_attributes<DotAttributes>,
    .infer = infer_dot_general,
    .eval = eval_dot_general,
    .gradient = gradient_dot_general,
    .batch = batch_dot_general,
    .cost = cost_dot_general,
};

Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes, DType dtype) {
  CallScope scope(lhs.at());
  auto attributes = std::make_shared<DotAttributes>();
  attributes->axes = axes;
  attributes->dtype = dtype;
  return emit(op_dot_general, attributes, {lhs.tensor(), rhs.tensor()});
}

Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes) {
  const DType dtype = lhs.tensor().dtype();
  return dot_general(std::move(lhs), std::move(rhs), axes, dtype);
}

Tensor dot(Operand lhs, Operand rhs) {
  const auto last = static_cast<int64_t>(lhs.tensor().rank()) - 1;
  return dot_general(std::move(lhs), std::move(rhs), {.lhs_contracting = {last}, .rhs_contracting = {0}});
}

}  // namespace espalier
