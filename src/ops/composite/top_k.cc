#include <numeric>

#include "ir/builder.h"
#include "ops/registry.h"
#include "ops/scatter.h"
#include "ops/sort.h"
#include "ops/total_order.h"

namespace espalier {
namespace {

struct TopKAttributes final : Attributes {
  int64_t k = 1;
  void fields(FieldVisitor& v) override { v.field("k", k); }
};

void infer_top_k(InferContext& c) {
  c.require_inputs(1);
  const int64_t k = c.attributes<TopKAttributes>().k;
  c.require(c.in(0).rank() > 0, "c1", "takes one axis or more, got ", c.in(0));
  c.require(0 <= k && k <= c.in(0).shape.back(), "c2", "k is at most the size of the last axis: ", k, " of ",
            c.in(0));
  Shape shape = c.in(0).shape;
  shape.back() = k;
  c.result({c.in(0).dtype, shape});
  c.result({DType::kI32, shape});
}

void eval_top_k(EvalContext& c) {
  const int64_t k = c.attributes<TopKAttributes>().k, size = c.in(0).type->shape.back();
  if (k == 0) return;
  const int64_t lines = c.in(0).type->elements() / size;
  std::vector<int32_t> order(static_cast<size_t>(size));
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto key = [](T value) {
      if constexpr (is_floating<T>) {
        return total_order(value);
      } else {
        return value;
      }
    };
    for (int64_t line = 0; line < lines; ++line) {
      const T* x = c.in(0).as<T>() + line * size;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int32_t p, int32_t q) {
        const auto a = key(x[p]), b = key(x[q]);
        return a != b ? a > b : p < q;
      });
      for (int64_t i = 0; i < k; ++i) {
        c.out(0).as<T>()[line * k + i] = x[order[static_cast<size_t>(i)]];
        c.out(1).as<int32_t>()[line * k + i] = order[static_cast<size_t>(i)];
      }
    }
  });
}

std::vector<Tensor> decompose_top_k(const DecomposeContext& c) {
  const Tensor& x = c.in(0);
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  const RegionSpec above{{{x.dtype(), {}}, {x.dtype(), {}}, {DType::kI32, {}}, {DType::kI32, {}}},
                         [&](std::span<const Tensor> v) {
                           return std::vector<Tensor>{is_float(x.dtype())
                                                          ? compare_total_order(v[0], v[1], Comparison::kGT)
                                                          : compare(v[0], v[1], Comparison::kGT)};
                         }};
  auto attributes = std::make_shared<SortAttributes>();
  attributes->axis = axis;
  attributes->stable = true;
  std::vector<Tensor> sorted =
      emit_all(op_sort, attributes, std::vector<Tensor>{x, iota({DType::kI32, x.shape()}, axis)},
               trace_regions({&above, 1}).graphs);
  Shape limit = x.shape();
  limit.back() = c.attributes<TopKAttributes>().k;
  for (Tensor& t : sorted) t = slice(t, Dims::filled(limit.size(), 0), limit);
  return sorted;
}

void gradient_top_k(GradientContext& c) {
  const auto axis = static_cast<int64_t>(c.in(0).rank()) - 1;
  c.set(0, put_along_axis(c.in(0).type(), c.out(1), c.cotangent(0), axis));
}

}  // namespace

const OpDef op_top_k = {
    .name = "top_k",
    .doc =
        "The k largest elements along the last axis, largest first, and their i32 indices; floats by IEEE "
        "totalOrder (NaN above every number, -NaN below), of equal elements the first comes first. c1: one "
        "axis or more. c2: "
        "0 <= k <= size.",
    .composite = true,
    .attributes = make_attributes<TopKAttributes>,
    .infer = infer_top_k,
    .eval = eval_top_k,
    .decompose = decompose_top_k,
    .gradient = gradient_top_k,
    .batch = batch_elementwise,
};

std::vector<Tensor> top_k(Operand x, int64_t k) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<TopKAttributes>();
  attributes->k = k;
  return emit_all(op_top_k, attributes, std::vector<Tensor>{x.tensor()});
}

}  // namespace espalier
