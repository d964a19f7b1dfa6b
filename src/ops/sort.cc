#include "ops/sort.h"

#include <numeric>

#include "ir/builder.h"
#include "ops/composite/axis.h"
#include "ops/movement.h"
#include "ops/registry.h"
#include "ops/scatter.h"

namespace espalier {
namespace {

size_t operand_count_sort(const SortAttributes& a, size_t inputs, std::span<const GraphPtr> regions) {
  if (a.comparator != Comparator::kRegion) return inputs;
  return regions[0]->inputs().size() - inputs;
}

void infer_sort(InferContext& c) {
  const auto& a = c.attributes<SortAttributes>();
  const bool region = a.comparator == Comparator::kRegion;
  c.require(c.size() > 0, "arity", "takes one or more operands");
  c.require(c.regions() == (region ? 1 : 0), "c1", "a region, or a named comparator, says what comes first");
  size_t count = c.size();
  if (region) {
    const auto& inputs = c.region(0)->inputs();
    c.require(inputs.size() > c.size() && inputs.size() <= 2 * c.size(), "c1", "the region takes ",
              inputs.size(), " values, the call gives ", c.size());
    count = inputs.size() - c.size();
    c.require(c.region(0)->outputs().size() == 1 &&
                  c.region(0)->type(c.region(0)->outputs()[0].value) == TensorType{DType::kBool, {}},
              "c1", "the region must give one bool");
  }
  const auto rank = static_cast<int64_t>(c.in(0).rank());
  c.require(-rank <= a.axis && (a.axis < rank), "c2", "axis ", a.axis, " is outside of ", c.in(0));
  for (size_t k = 0; k < count; ++k) {
    c.require(c.in(k).shape == c.in(0).shape, "c3", "operands must have one shape: ", c.in(0), " and ",
              c.in(k));
    c.result(c.in(k));
  }
}

template <class Before>
void order_line(std::vector<int64_t>& order, Before before) {
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), before);
}

void eval_sort(EvalContext& c) {
  const auto& a = c.attributes<SortAttributes>();
  const Shape& shape = c.in(0).type->shape;
  const size_t count = c.outputs.size();
  if (shape.empty()) {
    for (size_t k = 0; k < count; ++k) std::memcpy(c.out(k).data, c.in(k).data, c.in(k).type->bytes());
    return;
  }
  const int64_t axis = normalize_axis("sort", a.axis, shape.size());
  const AxisView view(shape, axis);
  std::vector<int64_t> order(static_cast<size_t>(view.size));
  const auto move = [&](int64_t start) {
    for (size_t k = 0; k < count; ++k) {
      visit_width(c.in(k).type->dtype, [&](auto word) {
        const auto* in = c.in(k).as<decltype(word)>() + start;
        auto* out = c.out(k).as<decltype(word)>() + start;
        for (size_t i = 0; i < order.size(); ++i)
          out[static_cast<int64_t>(i) * view.inner] = in[order[i] * view.inner];
      });
    }
  };
  if (a.comparator == Comparator::kRegion) {
    std::vector<TensorType> scalar;
    for (size_t k = 0; k < count; ++k) scalar.push_back({c.in(k).type->dtype, {}});
    std::vector<ArrayView> arguments(2 * count);
    arguments.insert(arguments.end(), c.inputs.begin() + static_cast<std::ptrdiff_t>(count), c.inputs.end());
    const TensorType flag{DType::kBool, {}};
    bool before = false;
    const MutableArrayView result{&flag, &before};
    view.lines([&](int64_t start) {
      order_line(order, [&](int64_t x, int64_t y) {
        for (size_t k = 0; k < count; ++k) {
          const auto* base = c.in(k).as<std::byte>();
          const auto size = static_cast<int64_t>(size_of(scalar[k].dtype));
          arguments[2 * k] = {&scalar[k], base + (start + x * view.inner) * size};
          arguments[2 * k + 1] = {&scalar[k], base + (start + y * view.inner) * size};
        }
        c.runner->run(*c.regions[0], arguments, {&result, 1});
        return before;
      });
      move(start);
    });
    return;
  }
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = c.in(0).as<T>();
    const auto less = [](T p, T q) {
      if constexpr (is_floating<T>) {
        using F = Compute<T>;
        return std::isnan(F(q)) ? !std::isnan(F(p)) : F(p) < F(q);
      } else {
        return p < q;
      }
    };
    view.lines([&](int64_t start) {
      const auto at = [&](int64_t i) { return x[start + i * view.inner]; };
      if (a.comparator == Comparator::kAscending) {
        order_line(order, [&](int64_t p, int64_t q) { return less(at(p), at(q)); });
      } else {
        order_line(order, [&](int64_t p, int64_t q) { return less(at(q), at(p)); });
      }
      move(start);
    });
  });
}

// The region of the same comparison with one more operand of `dtype`, which it ignores.
GraphPtr with_passenger(const Graph& region, size_t count, DType dtype) {
  GraphBuilder builder(region.name());
  SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i <= region.inputs().size(); ++i) {
    if (i == 2 * count) {
      builder.argument("passenger0", {dtype, {}});
      builder.argument("passenger1", {dtype, {}});
    }
    if (i == region.inputs().size()) break;
    inputs.push_back(builder.argument(region.inputs()[i].name, region.type(region.inputs()[i].value)));
  }
  builder.result("before", inline_graph(region, inputs)[0]);
  return builder.finish();
}

// Where each element of the results came from: positions sorted along with the operands.
Tensor origins(const GradientContext& c, const SortAttributes& a, size_t count, int64_t axis) {
  auto attributes = std::make_shared<SortAttributes>(a);
  attributes->stable = true;
  const DType dtype = DType::kI64;
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(count), iota({dtype, c.in(0).shape()}, axis));
  std::vector<GraphPtr> regions(c.regions.begin(), c.regions.end());
  for (GraphPtr& region : regions) region = with_passenger(*region, count, dtype);
  return emit_all(op_sort, attributes, inputs, regions)[count];
}

void gradient_sort(GradientContext& c) {
  const auto& a = c.attributes<SortAttributes>();
  const size_t count = c.outputs.size();
  if (c.in(0).rank() == 0) {
    for (size_t k = 0; k < count; ++k) c.set(k, c.cotangent(k));
    return;
  }
  const int64_t axis = normalize_axis("sort", a.axis, c.in(0).rank());
  const Tensor from = origins(c, a, count, axis);
  for (size_t k = 0; k < count; ++k) {
    if (c.wants(k)) c.set(k, put_along_axis(c.in(k).type(), from, c.cotangent(k), axis));
  }
}

void batch_sort(BatchContext& c) {
  auto attributes = std::make_shared<SortAttributes>(c.attributes<SortAttributes>());
  const size_t count = operand_count_sort(*attributes, c.inputs.size(), c.regions);
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i >= count && c.batched[i])
      throw UnsupportedError("sort.batch", "a value captured by the comparator must not be batched");
    if (i < count) inputs[i] = batch_expand(c, i);
  }
  if (attributes->axis >= 0) ++attributes->axis;
  c.outputs = emit_all(op_sort, attributes, inputs, c.regions);
}

Cost cost_sort(const Attributes*, std::span<const TensorType* const>, std::span<const TensorType> outputs) {
  double bytes = 0;
  for (const TensorType& type : outputs) bytes += 2 * static_cast<double>(type.bytes());
  const auto n = static_cast<double>(outputs[0].elements());
  return {n * std::log2(n + 2), bytes};
}

}  // namespace

const OpDef op_sort = {
    .name = "sort",
    .doc =
        "Elements of all operands moved along `dimension` into the order of the comparator: ascending and "
        "descending compare operand 0, with NaN above every number and -0 equal to +0; a region takes the "
        "left and the right element of each operand. Equal elements keep their order here, and everywhere "
        "when `is_stable`. c1: a region that gives a bool, or a named comparator. c2: axis in range, "
        "counted from the back when negative. c3: operands of one shape.",
    .attributes = make_attributes<SortAttributes>,
    .infer = infer_sort,
    .eval = eval_sort,
    .gradient = gradient_sort,
    .batch = batch_sort,
    .cost = cost_sort,
    .sample =
        [](DType dtype) {
          sort(constant_like({dtype, {2}}, 1));
        },
};

std::vector<Tensor> sort(const std::vector<Tensor>& inputs, int64_t axis, bool descending, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<SortAttributes>();
  attributes->axis = inputs.empty() ? axis : normalize_axis("sort", axis, inputs[0].rank());
  attributes->stable = true;
  attributes->comparator = descending ? Comparator::kDescending : Comparator::kAscending;
  return emit_all(op_sort, attributes, inputs);
}

Tensor sort(Operand x, int64_t axis, bool descending) {
  return sort({x.tensor()}, axis, descending, x.at())[0];
}

Tensor argsort(Operand x, int64_t axis, bool descending) {
  CallScope scope(x.at());
  axis = normalize_axis("argsort", axis, x.tensor().rank());
  return sort({x.tensor(), iota({DType::kI32, x.tensor().shape()}, axis)}, axis, descending)[1];
}

}  // namespace espalier
