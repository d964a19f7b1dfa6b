#include <algorithm>
#include <limits>
#include <numeric>

#include "espalier/function.h"
#include "grad/grad.h"
#include "interp/interpreter.h"
#include "ops/composite/axis.h"
#include "ops/op_test.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using Line = std::vector<double>;

// f on each line along `axis`: lines of the inputs in, a line of every result out.
template <class F>
std::vector<Array> by_line(Arrays x, int64_t axis, std::vector<TensorType> results, F f) {
  std::vector<Array> out;
  for (TensorType& type : results) {
    const auto count = static_cast<size_t>(type.elements());
    out.push_back({std::move(type), Line(count)});
  }
  const AxisView view(x[0].shape(), axis);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      std::vector<Line> lines;
      for (const Array& a : x) {
        lines.emplace_back();
        for (int64_t k = 0; k < view.size; ++k)
          lines.back().push_back(a.values[static_cast<size_t>((o * view.size + k) * view.inner + i)]);
      }
      const std::vector<Line> done = f(lines);
      for (size_t r = 0; r < out.size(); ++r) {
        const auto length = static_cast<int64_t>(done[r].size());
        for (int64_t k = 0; k < length; ++k)
          out[r].values[static_cast<size_t>((o * length + k) * view.inner + i)] =
              done[r][static_cast<size_t>(k)];
      }
    }
  }
  return out;
}

std::vector<TensorType> types_of(Arrays x) {
  std::vector<TensorType> out;
  for (const Array& a : x) out.push_back(a.type);
  return out;
}

std::vector<size_t> sorted_places(const Line& line, bool descending) {
  std::vector<size_t> order(line.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Insertion keeps equal elements in their order.
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t k = i; k > 0; --k) {
      const double above = line[order[k - 1]], here = line[order[k]];
      if (descending ? here > above : here < above) std::swap(order[k - 1], order[k]);
    }
  }
  return order;
}

OpCase sort_case(const std::string& name, const Shape& shape, size_t operands, int64_t axis,
                 bool descending) {
  std::vector<In> inputs(operands, {.shape = shape});
  inputs[0].distinct = true;
  inputs[0].int_low = 0;
  return {.name = name,
          .inputs = inputs,
          .call = [=](Inputs x) { return sort(std::vector<Tensor>(x.begin(), x.end()), axis, descending); },
          .oracle =
              [=](Arrays x) {
                return by_line(x, axis, types_of(x), [&](const std::vector<Line>& lines) {
                  const auto order = sorted_places(lines[0], descending);
                  std::vector<Line> out;
                  for (const Line& line : lines) {
                    out.emplace_back();
                    for (const size_t from : order) out.back().push_back(line[from]);
                  }
                  return out;
                });
              },
          .dtypes = kAnyDType,
          .tolerance = {.ulp = 0}};
}

OP_TEST(sort) {
  return {{sort_case("last axis", {3, 5}, 1, 1, false), sort_case("descending", {3, 5}, 1, 1, true),
           sort_case("passengers", {4, 2, 3}, 3, 0, false),
           sort_case("passengers down the middle", {2, 4, 3}, 2, 1, true), sort_case("one", {1}, 1, 0, false),
           sort_case("nothing", {0, 2}, 2, 1, false), sort_case("empty lines", {2, 0}, 1, 1, true)}};
}

TEST(Sort, NanIsAboveAndZerosAreEqual) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of({nan, 0.0f, inf, -0.0f, -nan, -inf});
  const Tensor place = iota({DType::kI32, {6}}, 0);
  EXPECT_EQ(sort({x, place}, 0)[1].to_vector<int32_t>(), (std::vector<int32_t>{5, 1, 3, 2, 0, 4}));
  EXPECT_EQ(sort({x, place}, 0, true)[1].to_vector<int32_t>(), (std::vector<int32_t>{0, 4, 2, 1, 3, 5}));
  // top_k's order is total.
  EXPECT_EQ(top_k(x, 6)[1].to_vector<int32_t>(), (std::vector<int32_t>{0, 2, 1, 3, 5, 4}));
}

// Orders by the distance of operand 0 from a captured value.
std::vector<Tensor> sort_by_distance(const std::vector<Tensor>& operands, const Tensor& center) {
  RegionSpec spec;
  for (const Tensor& x : operands) spec.arguments.insert(spec.arguments.end(), 2, {x.dtype(), {}});
  spec.body = [&](std::span<const Tensor> v) {
    const auto distance = [&](const Tensor& t) { return (t - center) * (t - center); };
    return std::vector<Tensor>{compare(distance(v[0]), distance(v[1]), Comparison::kLT)};
  };
  const Regions regions = trace_regions({&spec, 1});
  std::vector<Tensor> inputs = operands;
  inputs.insert(inputs.end(), regions.captures.begin(), regions.captures.end());
  return emit_all(op_sort, op_sort.attributes(), inputs, regions.graphs);
}

TEST(Sort, RegionComparesWithACapturedValue) {
  const OpCase c{.name = "region",
                 .inputs = {{.shape = {3, 4}, .distinct = true}, {.shape = {3, 4}}, {.shape = {}}},
                 .call =
                     [](Inputs x) {
                       return sort_by_distance({x[0], x[1]}, x[2]);
                     },
                 .oracle =
                     [](Arrays x) {
                       const double center = x[2].values[0];
                       const Arrays operands = x.first(2);
                       return by_line(operands, 1, types_of(operands), [&](const std::vector<Line>& lines) {
                         Line distance;
                         for (const double v : lines[0]) distance.push_back((v - center) * (v - center));
                         std::vector<Line> out(2);
                         for (const size_t from : sorted_places(distance, false)) {
                           out[0].push_back(lines[0][from]);
                           out[1].push_back(lines[1][from]);
                         }
                         return out;
                       });
                     },
                 .dtypes = kFloats,
                 .tolerance = {.ulp = 0}};
  const std::vector<Tensor> x = draw_inputs(c, DType::kF64, 3);
  std::vector<Array> arrays;
  for (const Tensor& t : x) arrays.push_back(to_array(t));
  const std::vector<Array> expected = c.oracle(arrays);
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const Tensor& t : x) arguments.push_back(builder.argument("x", t.type()));
  const auto sorted = c.call(arguments, DType::kF64);
  const Tensor weights = Tensor::of(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {3, 4});
  builder.result("loss", reduce_sum(sorted[1] * weights, {0, 1}));
  builder.result("first", sorted[0]);
  const auto graph = builder.finish();
  const size_t sources[] = {1};
  const auto with_gradient = add_gradients(*graph, 0, sources);
  std::vector<Literal> inputs;
  for (const Tensor& t : x) inputs.push_back(t.node()->literal());
  const auto results = interpret(*with_gradient, inputs, RunContext::current());
  expect_close(make_concrete(results[1]), expected[0], {.ulp = 0}, "sorted");
  // The loss weighs each element of operand 1 by the place that it went to.
  double loss = 0;
  const Array gradient = to_array(make_concrete(results[2]));
  for (size_t i = 0; i < 12; ++i) loss += gradient.values[i] * arrays[1].values[i];
  EXPECT_NEAR(loss, results[0].view().as<double>()[0], 1e-12);
  Line seen = gradient.values;
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (Line{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

OpCase top_k_case(const Shape& shape, int64_t k) {
  return {.name = cat(k, " of ", shape),
          .inputs = {{.shape = shape, .int_low = 0, .int_high = 4, .distinct = true}},
          .call = [=](Inputs x) { return top_k(x[0], k); },
          .oracle =
              [=](Arrays x) {
                TensorType values = x[0].type;
                values.shape.back() = k;
                const TensorType places{DType::kI32, values.shape};
                return by_line(x, static_cast<int64_t>(shape.size()) - 1, {values, places},
                               [&](const std::vector<Line>& lines) {
                                 std::vector<Line> out(2);
                                 auto order = sorted_places(lines[0], true);
                                 order.resize(static_cast<size_t>(k));
                                 for (const size_t from : order) {
                                   out[0].push_back(lines[0][from]);
                                   out[1].push_back(static_cast<double>(from));
                                 }
                                 return out;
                               });
              },
          .dtypes = kAnyDType,
          .tolerance = {.ulp = 0},
          .decomposition = {.ulp = 0}};
}

OP_TEST(top_k) {
  return {{top_k_case({3, 5}, 2), top_k_case({2, 2, 4}, 4), top_k_case({1}, 1), top_k_case({4}, 0),
           top_k_case({0, 3}, 2)}};
}

template <class Better>
OpCase arg_case(const Shape& shape, int64_t axis, DType index, Tensor (*call)(Operand, int64_t, DType),
                Better better) {
  return {.name = cat(shape, " along ", axis, " as ", index),
          .inputs = {{.shape = shape, .int_low = 0, .int_high = 2}},
          .call = [=](Inputs x) { return call(x[0], axis, index); },
          .oracle =
              [=](Arrays x) {
                TensorType type{index, shape};
                type.shape.erase(static_cast<size_t>(axis));
                return by_line(x, axis, {type}, [&](const std::vector<Line>& lines) {
                  size_t best = 0;
                  for (size_t i = 1; i < lines[0].size(); ++i) {
                    if (better(lines[0][i], lines[0][best])) best = i;
                  }
                  return std::vector<Line>{{static_cast<double>(best)}};
                });
              },
          .dtypes = kAnyDType,
          .no_gradient = "an index"};
}

template <class Better>
std::vector<OpCase> arg_cases(Tensor (*call)(Operand, int64_t, DType), Better better) {
  return {arg_case({6}, 0, DType::kI32, call, better), arg_case({3, 7, 2}, 1, DType::kI64, call, better),
          arg_case({3, 4}, 0, DType::kU8, call, better), arg_case({1, 1}, 1, DType::kI16, call, better),
          arg_case({0, 2}, 1, DType::kI32, call, better)};
}

OP_TEST(argmax) { return {arg_cases(argmax, std::greater<double>())}; }
OP_TEST(argmin) { return {arg_cases(argmin, std::less<double>())}; }

TEST(Arg, TheFirstNanWins) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::of({1.0f, nan, 3.0f, nan});
  EXPECT_EQ(argmax(x, 0).item<int32_t>(), 1);
  EXPECT_EQ(argmin(x, -1).item<int32_t>(), 1);
  EXPECT_EQ(argmax(Tensor::of({-0.0f, 0.0f}), 0).item<int32_t>(), 0);
  EXPECT_THROW(argmax(full({2, 0}, 0), 1), ShapeError);
}

OpCase take_case(const Shape& shape, const Shape& indices, int64_t axis, DType dtype) {
  Shape out = shape;
  out.erase(static_cast<size_t>(axis));
  for (size_t i = 0; i < indices.size(); ++i) out.insert(static_cast<size_t>(axis) + i, indices[i]);
  return {.name = cat(shape, " at ", indices, " along ", axis, " by ", dtype),
          .inputs = {{.shape = shape},
                     {.shape = indices,
                      .int_low = is_unsigned_integer(dtype) ? 0 : -shape[axis],
                      .int_high = std::max<int64_t>(shape[axis] - 1, 0),
                      .dtype = dtype}},
          .call = [=](Inputs x) { return take(x[0], x[1], axis); },
          .oracle =
              [=](Arrays x) {
                const AxisView view(shape, axis);
                Array result{{x[0].type.dtype, out}, {}};
                for (int64_t o = 0; o < view.outer; ++o) {
                  for (const double index : x[1].values) {
                    const double row = index < 0 ? index + static_cast<double>(view.size) : index;
                    for (int64_t i = 0; i < view.inner; ++i) {
                      const auto at = (o * view.size + static_cast<int64_t>(row)) * view.inner + i;
                      result.values.push_back(x[0].values[static_cast<size_t>(at)]);
                    }
                  }
                }
                return result;
              },
          .dtypes = kAnyDType};
}

OP_TEST(take) {
  return {{take_case({4, 3}, {5}, 0, DType::kI32), take_case({2, 4, 3}, {2, 2}, 1, DType::kI64),
           take_case({3, 4}, {}, 1, DType::kU8), take_case({3}, {1}, 0, DType::kI8),
           take_case({3, 2}, {0}, 0, DType::kI32), take_case({0, 2}, {0, 2}, 0, DType::kI32)}};
}

TEST(Take, AlongAxisTakesOneElementEach) {
  const Tensor x = Tensor::of(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor i = Tensor::of(std::vector<int32_t>{2, 0, -1, 1}, {2, 2});
  EXPECT_EQ(take_along_axis(x, i, 1).to_vector<float>(), (std::vector<float>{3, 1, 6, 5}));
}

// Known indices are checked; those under trace count from the back and are clamped.
TEST(Take, IndicesOutsideOfTheAxis) {
  const Tensor x = Tensor::of<float>({1, 2, 3});
  const Tensor i = Tensor::of<int32_t>({-1, -3, -9, 9, 1});
  EXPECT_THROW(take(x, i), ShapeError);
  EXPECT_THROW(take_along_axis(x, i, 0), ShapeError);
  EXPECT_THROW(take(x, x), DTypeError);
  auto taken = function([](const Tensor& a, const Tensor& b) { return take(a, b); });
  auto along = function([](const Tensor& a, const Tensor& b) { return take_along_axis(a, b, 0); });
  EXPECT_EQ(taken(x, i).to_vector<float>(), (std::vector<float>{3, 1, 1, 3, 2}));
  EXPECT_EQ(along(x, i).to_vector<float>(), (std::vector<float>{3, 1, 1, 3, 2}));
}

OpCase one_hot_case(const Shape& indices, int64_t depth, int64_t axis, DType dtype) {
  Shape out = indices;
  out.insert(static_cast<size_t>(axis), depth);
  return {.name = cat(indices, " of ", depth, " at ", axis),
          .inputs = {{.shape = indices, .int_low = -1, .int_high = depth, .dtype = dtype}},
          .call = [=](Inputs x, DType to) { return one_hot(x[0], depth, axis, to); },
          .oracle =
              [=](Arrays x, DType to) {
                Array result{{to, out}, {}};
                const AxisView view(out, axis);
                for (int64_t o = 0; o < view.outer; ++o) {
                  for (int64_t k = 0; k < depth; ++k) {
                    for (int64_t i = 0; i < view.inner; ++i)
                      result.values.push_back(x[0].values[static_cast<size_t>(o * view.inner + i)] ==
                                              static_cast<double>(k));
                  }
                }
                return result;
              },
          .dtypes = kAnyDType,
          .no_gradient = "indices"};
}

OP_TEST(one_hot) {
  return {{one_hot_case({3}, 4, 1, DType::kI32), one_hot_case({2, 3}, 3, 0, DType::kI64),
           one_hot_case({2, 2}, 3, 1, DType::kU8), one_hot_case({}, 1, 0, DType::kI32),
           one_hot_case({0}, 3, 1, DType::kI32)}};
}

OpCase running_case(const Shape& shape, int64_t axis, bool reverse, Tensor (*call)(Operand, int64_t, bool),
                    double (*f)(double, double), unsigned dtypes, Tolerance tolerance) {
  return {.name = cat(shape, " along ", axis, reverse ? " from the end" : ""),
          .inputs = {{.shape = shape, .int_low = -3, .int_high = 3, .distinct = true}},
          .call = [=](Inputs x) { return call(x[0], axis, reverse); },
          .oracle =
              [=](Arrays x) {
                return by_line(x, axis, types_of(x), [&](std::vector<Line> lines) {
                  Line& line = lines[0];
                  if (reverse) std::reverse(line.begin(), line.end());
                  for (size_t i = 1; i < line.size(); ++i) line[i] = f(line[i - 1], line[i]);
                  if (reverse) std::reverse(line.begin(), line.end());
                  return lines;
                });
              },
          .dtypes = dtypes,
          .tolerance = tolerance,
          .decomposition = {.ulp = 16, .absolute = 16}};
}

std::vector<OpCase> running_cases(Tensor (*call)(Operand, int64_t, bool), double (*f)(double, double),
                                  unsigned dtypes, Tolerance tolerance = {.ulp = 1, .absolute = 1}) {
  std::vector<OpCase> out;
  for (const bool reverse : {false, true}) {
    for (const auto& [shape, axis] : std::initializer_list<std::pair<Shape, int64_t>>{
             {{7}, 0}, {{2, 5, 2}, 1}, {{3, 4}, 0}, {{1}, 0}, {{2, 0}, 1}})
      out.push_back(running_case(shape, axis, reverse, call, f, dtypes, tolerance));
  }
  return out;
}

OP_TEST(cumsum) {
  return {running_cases(
      cumsum, [](double a, double b) { return a + b; }, kNumbers)};
}
OP_TEST(cumprod) {
  return {running_cases(
      cumprod, [](double a, double b) { return a * b; }, kNumbers)};
}
OP_TEST(cummax) {
  return {running_cases(
      cummax, [](double a, double b) { return std::max(a, b); }, kAnyDType)};
}
OP_TEST(cummin) {
  return {running_cases(
      cummin, [](double a, double b) { return std::min(a, b); }, kAnyDType)};
}
OP_TEST(cumlogsumexp) {
  return {running_cases(cumlogsumexp, [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); },
                        kFloats, {.ulp = 1, .absolute = 2})};
}

TEST(Cumulative, ProductsThroughZeroHaveGradients) {
  struct Log final : Recorder {
    std::vector<TapeEntry> calls;
    void record(const Call& call, std::span<const Tensor> outputs) override {
      calls.push_back({&call.op,
                       call.attributes,
                       {call.inputs.begin(), call.inputs.end()},
                       {outputs.begin(), outputs.end()},
                       {}});
    }
  };
  const Tensor x = Tensor::of({2.0, 0.0, 3.0});
  Log log;
  const Tensor y = cumprod(x, 0);
  const auto calls = log.calls;
  // y = (a, ab, abc): the sum's gradient is 1 + b + bc, a + ac, ab.
  EXPECT_EQ(reverse(calls, {&y, 1}, {}, {&x, 1})[0].to_vector<double>(), (std::vector<double>{1, 8, 0}));
}

TEST(Cumulative, LogSumExpOfInfinities) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto run = [](const std::vector<double>& x) {
    return cumlogsumexp(Tensor::of(x, {static_cast<int64_t>(x.size())}), 0).to_vector<double>();
  };
  EXPECT_EQ(run({-inf, -inf, 1}), (std::vector<double>{-inf, -inf, 1}));
  EXPECT_EQ(run({1, inf, -inf, inf}), (std::vector<double>{1, inf, inf, inf}));
  EXPECT_NEAR(run({1000, 1000})[1], 1000 + std::log(2.0), 1e-12);
  EXPECT_TRUE(std::isnan(run({std::nan(""), 1})[1]));
}

}  // namespace
}  // namespace espalier
