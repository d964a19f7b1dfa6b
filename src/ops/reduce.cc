#include "ir/graph.h"
#include "ops/movement.h"
#include "ops/reducer.h"

namespace espalier {
namespace {

struct ReduceAttributes final : Attributes {
  Reducer reducer = Reducer::kSum;
  Dims axes;
  void fields(FieldVisitor& v) override {
    v.word("reducer", reducer, kReducerWords);
    v.field("dimensions", axes);
  }
};

Shape without_axes(const Shape& shape, const Dims& axes) {
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!axes.contains(static_cast<int64_t>(i))) out.push_back(shape[i]);
  }
  return out;
}

void infer_reduce(InferContext& c) {
  const auto& a = c.attributes<ReduceAttributes>();
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
    c.require(a.reducer != Reducer::kUpdate, "c1", "update combines nothing");
    c.require_dtype(in_set(c.in(0).dtype, reducer_set(a.reducer)), "c2",
                    kReducerWords[static_cast<int>(a.reducer)], " takes ", set_text(reducer_set(a.reducer)),
                    " elements, got ", c.in(0));
  }
  for (size_t i = 0; i < a.axes.size(); ++i) {
    c.require_axis(a.axes[i], c.in(0).rank(), "c3");
    for (size_t j = 0; j < i; ++j) c.require(a.axes[i] != a.axes[j], "c3", "axes must be distinct: ", a.axes);
  }
  for (size_t i = 0; i < count; ++i) {
    c.require(c.in(i).shape == c.in(0).shape, "c4", "operands must have one shape: ", c.in(0), " and ",
              c.in(i));
    c.require(c.in(count + i).rank() == 0 && c.in(count + i).dtype == c.in(i).dtype, "c5",
              "the initial value of ", c.in(i), " must be a scalar of its dtype, got ", c.in(count + i));
    c.result({c.in(i).dtype, without_axes(c.in(i).shape, a.axes)});
  }
}

// Calls f(result index, operand offset) over kept axes, and inside g over reduced axes, both in row-major
// order.
struct Split {
  Shape kept, reduced;
  Dims kept_strides, reduced_strides;
  Split(const Shape& shape, const Dims& axes) {
    const Dims strides = row_major_strides(shape);
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool gone = axes.contains(static_cast<int64_t>(i));
      (gone ? reduced : kept).push_back(shape[i]);
      (gone ? reduced_strides : kept_strides).push_back(strides[i]);
    }
  }
};

void eval_region_reduce(EvalContext& c, const Split& split) {
  const size_t count = c.outputs.size();
  const int64_t total = num_elements(split.reduced);
  std::vector<TensorType> scalar(count);
  for (size_t k = 0; k < count; ++k) scalar[k] = {c.in(k).type->dtype, {}};
  std::vector<std::array<std::byte, 8>> state(count), next(count);
  std::vector<ArrayView> arguments(c.inputs.begin(), c.inputs.end());
  std::vector<MutableArrayView> results(count);
  walk(split.kept, split.kept_strides, 0, [&](int64_t i, int64_t base) {
    for (size_t k = 0; k < count; ++k)
      std::memcpy(state[k].data(), c.in(count + k).data, size_of(scalar[k].dtype));
    if (total > 0) {
      walk(split.reduced, split.reduced_strides, base, [&](int64_t, int64_t offset) {
        for (size_t k = 0; k < count; ++k) {
          arguments[k] = {&scalar[k], state[k].data()};
          arguments[count + k] = {&scalar[k], c.in(k).as<std::byte>() + offset * size_of(scalar[k].dtype)};
          results[k] = {&scalar[k], next[k].data()};
        }
        c.runner->run(*c.regions[0], arguments, results);
        std::swap(state, next);
      });
    }
    for (size_t k = 0; k < count; ++k) {
      const size_t size = size_of(scalar[k].dtype);
      std::memcpy(c.out(k).as<std::byte>() + i * size, state[k].data(), size);
    }
  });
}

void eval_reduce(EvalContext& c) {
  const auto& a = c.attributes<ReduceAttributes>();
  const Split split(c.in(0).type->shape, a.axes);
  if (a.reducer == Reducer::kRegion) return eval_region_reduce(c, split);
  visit_reducer(a.reducer, [&](auto reducer) {
    visit_dtype(c.in(0).type->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using A = Accumulator<reducer.value, T>;
      const T* x = c.in(0).as<T>();
      T* out = c.out(0).as<T>();
      const A init = static_cast<A>(*c.in(1).as<T>());
      walk(split.kept, split.kept_strides, 0, [&](int64_t i, int64_t base) {
        A sum = init;
        walk(split.reduced, split.reduced_strides, base,
             [&](int64_t, int64_t offset) { sum = combine<reducer.value>(sum, static_cast<A>(x[offset])); });
        out[i] = static_cast<T>(sum);
      });
    });
  });
}

// The result with the reduced axes back as repeated ones.
Tensor restore(const Tensor& reduced, const Shape& shape, const Dims& axes) {
  Dims kept;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!axes.contains(static_cast<int64_t>(i))) kept.push_back(static_cast<int64_t>(i));
  }
  return broadcast_in_dim(reduced, shape, kept);
}

// For each element the product of all others that are reduced with it: what stands before it times what
// stands after it, so that zeros need no case of their own in any order of differentiation.
Tensor product_of_others(const Tensor& x, const Dims& axes) {
  Dims order, back = Dims::filled(x.rank(), 0);
  Shape lines{1, 1};
  for (const bool reduced : {false, true}) {
    for (size_t i = 0; i < x.rank(); ++i) {
      if (axes.contains(static_cast<int64_t>(i)) != reduced) continue;
      back[i] = static_cast<int64_t>(order.size());
      order.push_back(static_cast<int64_t>(i));
      lines[reduced] *= x.shape()[i];
    }
  }
  if (x.type().elements() == 0) return x;
  const Tensor ordered = transpose(x, order), flat = reshape(ordered, lines);
  const Tensor one = constant_like({x.dtype(), {}}, 1);
  const Tensor before = cumprod(pad(flat, one, {0, 1}, {0, -1}), 1);
  const Tensor after = cumprod(pad(flat, one, {0, -1}, {0, 1}), 1, true);
  return transpose(reshape(before * after, ordered.shape()), back);
}

void gradient_reduce(GradientContext& c) {
  const auto& a = c.attributes<ReduceAttributes>();
  const Shape& shape = c.in(0).shape();
  const auto spread = [&](const Tensor& t) { return restore(t, shape, a.axes); };
  switch (a.reducer) {
    case Reducer::kSum:
      if (c.wants(0)) c.set(0, spread(c.cotangent()));
      if (c.wants(1)) c.set(1, reduce_sum(c.cotangent(), Dims::range(c.out(0).rank())));
      return;
    case Reducer::kMax:
    case Reducer::kMin: {
      // Which of them won is not known where one is NaN: then all of them get NaN.
      const Tensor &x = c.in(0), &out = c.out(0);
      const Comparison loses = a.reducer == Reducer::kMax ? Comparison::kLT : Comparison::kGT;
      const Tensor hits = bitwise_not(compare(x, spread(out), loses));
      Tensor count = reduce_sum(convert(hits, x.dtype()), a.axes), own;
      // An initial value that takes part shares a tie like any element; an identity has no say.
      if (c.wants(1)) {
        own = bitwise_not(compare(broadcast_to(c.in(1), out.shape()), out, loses));
        count = count + convert(own, x.dtype());
      }
      const Tensor known = compare(out, out, Comparison::kEQ);
      const Tensor nan = constant_like(out.type(), std::numeric_limits<double>::quiet_NaN());
      const Tensor share = c.cotangent() / select(known, count, nan);
      if (c.wants(0)) c.set(0, select(hits, spread(share), 0));
      if (c.wants(1)) c.set(1, reduce_sum(select(own, share, 0), Dims::range(out.rank())));
      return;
    }
    case Reducer::kProd:
      if (c.wants(0)) c.set(0, product_of_others(c.in(0), a.axes) * spread(c.cotangent() * c.in(1)));
      if (c.wants(1)) {
        c.set(1, reduce_sum(c.cotangent() * reduce_prod(c.in(0), a.axes), Dims::range(c.out(0).rank())));
      }
      return;
    default:
      throw UnsupportedError(
          "reduce.gradient",
          cat("a reduction by ", kReducerWords[static_cast<int>(a.reducer)], " has no gradient"));
  }
}

void batch_reduce(BatchContext& c) {
  const auto& a = c.attributes<ReduceAttributes>();
  const size_t count = a.reducer == Reducer::kRegion ? c.regions[0]->outputs().size() : 1;
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i >= count && c.batched[i]) {
      throw UnsupportedError("reduce.batch", "the initial value of a batched reduction must not be batched");
    }
    if (i < count) inputs[i] = batch_expand(c, i);
  }
  auto attributes = std::make_shared<ReduceAttributes>(a);
  for (int64_t& axis : attributes->axes) ++axis;
  c.outputs = emit_all(op_reduce, attributes, inputs, c.regions);
}

Cost cost_reduce(const Attributes*, std::span<const TensorType* const> inputs, std::span<const TensorType>) {
  return {static_cast<double>(inputs[0]->elements()), static_cast<double>(inputs[0]->bytes())};
}

Tensor reduce(const Operand& x, const Dims& axes, Reducer reducer) {
  CallScope scope(x.at());
  const Tensor& t = x.tensor();
  if (axes.empty()) return t;
  auto attributes = std::make_shared<ReduceAttributes>();
  attributes->reducer = reducer;
  for (const int64_t axis : axes) attributes->axes.push_back(normalize_axis("reduce", axis, t.rank()));
  return emit(op_reduce, attributes, {t, make_concrete(reducer_identity(reducer, t.dtype()))});
}

}  // namespace

Literal reducer_identity(Reducer reducer, DType dtype) {
  std::array<std::byte, 8> element{};
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value{};
    const auto lowest = [] {
      if constexpr (is_floating<T>) {
        return T(-std::numeric_limits<float>::infinity());
      } else {
        return std::numeric_limits<T>::lowest();
      }
    };
    const auto highest = [] {
      if constexpr (is_floating<T>) {
        return T(std::numeric_limits<float>::infinity());
      } else {
        return std::numeric_limits<T>::max();
      }
    };
    switch (reducer) {
      case Reducer::kProd:
        value = T(1.0f);
        break;
      case Reducer::kMax:
        value = lowest();
        break;
      case Reducer::kMin:
        value = highest();
        break;
      case Reducer::kAnd:
        if constexpr (std::is_same_v<T, bool>) {
          value = true;
        } else if constexpr (std::is_integral_v<T>) {
          value = static_cast<T>(-1);
        }
        break;
      default:
        break;
    }
    std::memcpy(element.data(), &value, sizeof value);
  });
  return Literal::splat({dtype, {}}, element.data());
}

const OpDef op_reduce = {
    .name = "reduce",
    .doc =
        "Combines elements along `dimensions`, from an initial value, in row-major order. Sums and products "
        "of f32 are "
        "accumulated in f64, of f16 and bf16 in f32, and rounded once. c1: a region (k accumulators, k "
        "elements, captures) "
        "or a named reducer. c2: and, or, xor take integers and bool. c3: distinct axes in range. c4: "
        "operands of one "
        "shape. c5: scalar initial values.",
    .attributes = make_attributes<ReduceAttributes>,
    .infer = infer_reduce,
    .eval = eval_reduce,
    .gradient = gradient_reduce,
    .batch = batch_reduce,
    .cost = cost_reduce,
};

Tensor reduce_sum(Operand x, const Dims& axes) { return reduce(x, axes, Reducer::kSum); }
Tensor reduce_max(Operand x, const Dims& axes) { return reduce(x, axes, Reducer::kMax); }
Tensor reduce_min(Operand x, const Dims& axes) { return reduce(x, axes, Reducer::kMin); }
Tensor reduce_prod(Operand x, const Dims& axes) { return reduce(x, axes, Reducer::kProd); }
Tensor reduce_and(Operand x, const Dims& axes) { return reduce(x, axes, Reducer::kAnd); }
Tensor reduce_or(Operand x, const Dims& axes) { return reduce(x, axes, Reducer::kOr); }

}  // namespace espalier
