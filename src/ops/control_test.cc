#include "espalier/control.h"

#include "interp/interpreter.h"
#include "ops/composite/scan.h"
#include "ops/op_test.h"

namespace espalier {
namespace {

In flag() { return {.shape = {}, .dtype = DType::kBool, .differentiable = false}; }

// Calls `op` on a choice and values that all branches take.
OpCall branches(const OpDef& op, std::vector<TensorFunction> functions) {
  return [&op, functions = std::move(functions)](Inputs x) {
    std::vector<RegionSpec> specs;
    for (const TensorFunction& f : functions) specs.push_back({types_of(x.subspan(1)), f});
    return emit_regions(op, nullptr, {x.begin(), x.end()}, specs);
  };
}

Array product(const Array& a, const Array& b) {
  Array out = a;
  for (size_t i = 0; i < out.values.size(); ++i) out.values[i] *= b.values[i];
  return out;
}

OP_TEST(if) {
  OpTest test;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{4}, Shape{0, 3}}) {
    for (const bool inverted : {false, true}) {
      std::vector<TensorFunction> functions{[](const Tensor& x, const Tensor& y) -> Tensors {
                                              return {x * y, x};
                                            },
                                            [](const Tensor&, const Tensor& y) -> Tensors {
                                              return {y, y * y};
                                            }};
      if (inverted) std::swap(functions[0], functions[1]);
      test.cases.push_back({.name = cat(shape, inverted ? " inverted" : ""),
                            .inputs = {flag(), {.shape = shape}, {.shape = shape}},
                            .call = branches(op_if, functions),
                            .oracle = [inverted](Arrays x) -> std::vector<Array> {
                              if ((x[0].values[0] != 0) != inverted) return {product(x[1], x[2]), x[1]};
                              return {x[2], product(x[2], x[2])};
                            },
                            .dtypes = kAnyDType});
    }
  }
  return test;
}

OP_TEST(case) {
  OpTest test;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}}) {
    for (int64_t index = -1; index < 5; ++index) {
      test.cases.push_back(
          {.name = cat(shape, " ", index),
           .inputs = {{.shape = {}, .int_low = index, .int_high = index + 1, .dtype = DType::kI32},
                      {.shape = shape}},
           .call =
               branches(op_case, {[](const Tensor& x) { return x; }, [](const Tensor& x) { return x * x; },
                                  [](const Tensor& x) { return x * x * x; }}),
           .oracle =
               [](Arrays x) {
                 const auto i = static_cast<int>(x[0].values[0]);
                 Array out = x[1];
                 for (int k = 0; k < (i < 0 || i > 2 ? 2 : i); ++k) out = product(out, x[1]);
                 return out;
               },
           .dtypes = kAnyDType});
    }
  }
  return test;
}

// x += y while the counter is below a limit.
OP_TEST(while) {
  OpTest test;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}}) {
    test.cases.push_back({.name = to_string(shape),
                          .inputs = {{.shape = shape},
                                     {.shape = {}, .int_low = 0, .int_high = 2, .dtype = DType::kI32},
                                     {.shape = shape},
                                     {.shape = {}, .int_low = 0, .int_high = 5, .dtype = DType::kI32}},
                          .call =
                              [](Inputs x) {
                                const std::vector<TensorType> types = types_of(x);
                                const RegionSpec specs[] = {{types,
                                                             [](std::span<const Tensor> v) -> Tensors {
                                                               return {compare(v[1], v[3], Comparison::kLT)};
                                                             }},
                                                            {types, [](std::span<const Tensor> v) -> Tensors {
                                                               return {v[0] + v[2], v[1] + 1};
                                                             }}};
                                return emit_regions(op_while, nullptr, {x.begin(), x.end()}, specs);
                              },
                          .oracle = [](Arrays x) -> std::vector<Array> {
                            const double steps = std::max(0.0, x[3].values[0] - x[1].values[0]);
                            Array sum = x[0], counter = x[1];
                            for (size_t i = 0; i < sum.values.size(); ++i) {
                              for (int step = 0; step < steps; ++step)
                                sum.values[i] = x[0].type.dtype == DType::kBool
                                                    ? (sum.values[i] != 0 || x[2].values[i] != 0)
                                                    : sum.values[i] + x[2].values[i];
                            }
                            counter.values[0] += steps;
                            return {sum, counter};
                          },
                          .dtypes = kAnyDType,
                          .tolerance = {.ulp = 8, .absolute = 16},
                          .no_gradient = "a loop without a bound has none"});
  }
  return test;
}

// carry = carry * w + x, y = carry * x: one carry, one scanned value, one capture.
OP_TEST(scan) {
  OpTest test;
  struct Sizes {
    int64_t length;
    Shape shape;
    bool reverse;
  };
  for (const auto& [length, shape, reverse] :
       {Sizes{3, {2}, false}, Sizes{4, {}, true}, Sizes{1, {2, 2}, true}, Sizes{0, {2}, false},
        Sizes{2, {0, 3}, false}}) {
    Shape stacked = shape;
    stacked.insert(0, length);
    ScanAttributes attributes;
    attributes.carries = attributes.scanned = 1;
    attributes.length = length;
    attributes.reverse = reverse;
    test.cases.push_back({.name = cat(length, " steps of ", shape),
                          .inputs = {{.shape = shape, .low = -1, .high = 1, .int_low = -1, .int_high = 2},
                                     {.shape = stacked, .low = -1, .high = 1, .int_low = -1, .int_high = 2},
                                     {.shape = shape, .low = -1, .high = 1, .int_low = -1, .int_high = 2}},
                          .call =
                              [attributes](Inputs x) {
                                const RegionSpec body{{x[0].type(), slice_type(x[1].type()), x[2].type()},
                                                      [](std::span<const Tensor> v) -> Tensors {
                                                        const Tensor carry = v[0] * v[2] + v[1];
                                                        return {carry, carry * v[1]};
                                                      }};
                                return emit_scan(attributes, {x.begin(), x.end()}, body);
                              },
                          .oracle = [length = length, reverse = reverse](Arrays x) -> std::vector<Array> {
                            Array carry = x[0], ys = x[1];
                            const size_t n = carry.values.size();
                            for (int64_t step = 0; step < length; ++step) {
                              const auto t = static_cast<size_t>(reverse ? length - 1 - step : step);
                              for (size_t i = 0; i < n; ++i) {
                                const double value = x[1].values[t * n + i];
                                double& c = carry.values[i];
                                c = c * x[2].values[i] + value;
                                if (x[0].type.dtype == DType::kBool) c = c != 0;
                                ys.values[t * n + i] = c * value;
                              }
                            }
                            return {carry, ys};
                          },
                          .dtypes = kAnyDType,
                          .tolerance = {.ulp = 8, .absolute = 16},
                          .decomposition = {.ulp = 0, .absolute = 0}});
  }
  return test;
}

// One case for each shape of f(x, y) = x * y through an op that takes functions.
OpTest product_cases(const OpCall& call) {
  OpTest test;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}}) {
    test.cases.push_back({.name = to_string(shape),
                          .inputs = {{.shape = shape}, {.shape = shape}},
                          .call = call,
                          .oracle = [](Arrays x) { return product(x[0], x[1]); },
                          .dtypes = kAnyDType});
  }
  return test;
}

Tensor multiplied(const Tensor& x, const Tensor& y) { return x * y; }

OP_TEST(call) {
  return product_cases([](Inputs x) { return call(multiplied, {x.begin(), x.end()}, "product"); });
}

OP_TEST(checkpoint) {
  return product_cases([](Inputs x) { return checkpoint(multiplied)(x); });
}

OP_TEST(custom_gradient) {
  return product_cases([](Inputs x) {
    const CustomBackward backward = [](Inputs operands, Inputs, Inputs cotangents) -> Tensors {
      if (cotangents.empty()) return {};
      return {cotangents[0] * operands[1], cotangents[0] * operands[0]};
    };
    return custom_gradient(multiplied, backward)(x);
  });
}

OP_TEST(stop_gradient) {
  return {elementwise_cases<1>([](Inputs x) { return stop_gradient(x[0]); },
                               elementwise([](double x) { return x; }),
                               {.dtypes = kAnyDType, .no_gradient = "it stops gradients"})};
}

template <class E, class F>
E error_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return E("", "");
}

TEST(Control, BranchesThatDisagreeNameBothTypesAndTheResult) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor p = builder.argument("p", {DType::kBool, {}}),
               x = builder.argument("x", {DType::kF32, {2, 3}});
  const auto error = error_of<ShapeError>([&] {
    cond(
        p,
        [&]() -> Tensors {
          return {x, x};
        },
        [&]() -> Tensors {
          return {x, reduce_sum(x, {0})};
        });
  });
  EXPECT_EQ(error.rule(), "if.c3");
  EXPECT_NE(error.message().find("result 1: branch 0 gives f32[2,3], branch 1 gives f32[3]"),
            std::string::npos)
      << error.message();
  const auto count = error_of<ShapeError>([&] {
    switch_case(Tensor::scalar(int32_t{0}) + convert(p, DType::kI32), {[&]() -> Tensors {
                                                                         return {x, x};
                                                                       },
                                                                       [&]() -> Tensors { return {x}; }});
  });
  EXPECT_EQ(count.rule(), "case.c3");
}

TEST(Control, AKnownPredicateRunsOneBranchInPlace) {
  int calls = 0;
  const Tensor x = Tensor::of({1.0f, 2.0f});
  const Tensor y = cond(
      Tensor::scalar(true),
      [&] {
        ++calls;
        return x + x;
      },
      [&]() -> Tensor { throw InternalError("not this branch"); });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST(Control, WideIndicesTakeTheLastBranchWhenOutside) {
  const std::vector<TensorFunction> branches{[] { return Tensor::scalar(10); },
                                             [] { return Tensor::scalar(20); },
                                             [] { return Tensor::scalar(30); }};
  const auto taken = [&](const Tensor& index) { return switch_case(index, branches)[0].item<int>(); };
  EXPECT_EQ(taken(Tensor::scalar(int64_t{1})), 20);
  EXPECT_EQ(taken(Tensor::scalar(int64_t{1} << 32)), 30);
  EXPECT_EQ(taken(Tensor::scalar(-(int64_t{1} << 32))), 30);
  EXPECT_EQ(taken(Tensor::scalar(uint64_t{1} << 63)), 30);
  EXPECT_EQ(taken(Tensor::scalar(uint8_t{0})), 10);
  EXPECT_EQ(taken(Tensor::scalar(int8_t{-1})), 30);
}

// The greatest common divisor, by Euclid.
TEST(Control, WhileLoopRunsUntilItsConditionFails) {
  const auto out =
      while_loop([](const Tensor& a, const Tensor&) { return compare(a, 0, Comparison::kGT); },
                 [](const Tensor& a, const Tensor& b) -> Tensors {
                   return {cond(
                               compare(a, b, Comparison::kLT), [&] { return b - a; }, [&] { return a - b; }),
                           cond(
                               compare(a, b, Comparison::kLT), [&] { return a; }, [&] { return b; })};
                 },
                 Tensors{Tensor::scalar(48), Tensor::scalar(180)});
  EXPECT_EQ(out[1].item<int>(), 12);
}

TEST(Control, ABoundedLoopStopsAtItsConditionAndAtItsBound) {
  const auto below = [](const Tensor& x) { return compare(x, 100, Comparison::kLT); };
  const auto twice = [](const Tensor& x) { return x + x; };
  EXPECT_EQ(while_loop(below, twice, Tensor::scalar(3), {.max_iterations = 20}).item<int>(), 192);
  EXPECT_EQ(while_loop(below, twice, Tensor::scalar(3), {.max_iterations = 2}).item<int>(), 12);
  EXPECT_EQ(while_loop(below, twice, Tensor::scalar(300), {.max_iterations = 2}).item<int>(), 300);
}

TEST(Control, ForLoopCountsFromLowerToUpper) {
  const auto sum = [](const Tensor& i, const Tensor& s) { return s * 10 + i; };
  EXPECT_EQ(fori_loop(2, 5, sum, Tensor::scalar(0)).item<int>(), 234);
  EXPECT_EQ(fori_loop(5, 2, sum, Tensor::scalar(7)).item<int>(), 7);
}

TEST(Control, ScanAndMapStackWhatTheirBodiesGive) {
  const auto [last, sums] = scan([](const Tensor& c, const Tensor& x) { return std::pair(c + x, c + x); },
                                 Tensor::scalar(0.0f), Tensor::of({1.0f, 2.0f, 3.0f}), {.reverse = true});
  EXPECT_EQ(last.item<float>(), 6);
  EXPECT_EQ(sums.to_vector<float>(), (std::vector<float>{6, 5, 3}));
  const Tensor squares = map([](const Tensor& x) { return x * x; }, Tensor::of({1, 2, 3}));
  EXPECT_EQ(squares.to_vector<int>(), (std::vector<int>{1, 4, 9}));
  EXPECT_EQ(error_of<ValueError>([] { scan([](Inputs, Inputs) { return ScanResult{}; }, {}, {}); }).rule(),
            "scan.length");
  EXPECT_EQ(
      error_of<ShapeError>([] {
        map([](const Tensor& x, const Tensor&) { return x; }, {Tensor::of({1, 2}), Tensor::of({1, 2, 3})});
      }).rule(),
      "scan.c3");
}

TEST(Control, AssociativeScanEqualsTheLoop) {
  // Maps x -> a x + b compose associatively, and do not commute.
  const TensorFunction compose = [](const Tensor& a0, const Tensor& b0, const Tensor& a1,
                                    const Tensor& b1) -> Tensors {
    return {a0 * a1, b0 * a1 + b1};
  };
  for (int64_t n = 0; n < 12; ++n) {
    SCOPED_TRACE(n);
    std::vector<int64_t> a, b, expected;
    int64_t slope = 1, offset = 0;
    for (int64_t i = 0; i < n; ++i) {
      a.push_back(i % 3 - 1 + i % 2);
      b.push_back(5 * i % 7 - 3);
      slope *= a.back();
      offset = offset * a.back() + b.back();
      expected.push_back(slope);
      expected.push_back(offset);
    }
    const Tensors out = associative_scan(compose, {Tensor::of(a, {1, n}), Tensor::of(b, {1, n})}, -1);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      EXPECT_EQ(out[0].to_vector<int64_t>()[i], expected[2 * i]);
      EXPECT_EQ(out[1].to_vector<int64_t>()[i], expected[2 * i + 1]);
    }
  }
  EXPECT_EQ(associative_scan(add, Tensor::of({1, 2, 3})).to_vector<int>(), (std::vector<int>{1, 3, 6}));
}

TEST(Control, ALoopOverNothingIsALoop) {
  const TensorFunction never([](const Tensors&) { return Tensor::scalar(false); });
  EXPECT_TRUE(while_loop(never, TensorFunction([](const Tensors& all) { return all; }), Tensors{}).empty());
}

TEST(Control, NestingIsBounded) {
  GraphBuilder builder;
  SinkScope scope(builder);
  TensorFunction f = [](const Tensor& x) { return x + x; };
  for (int i = 0; i < 255; ++i) f = [f](std::span<const Tensor> x) { return call(f, {x.begin(), x.end()}); };
  const Tensor x = builder.argument("x", {DType::kF32, {}});
  builder.result("y", call(f, {x})[0]);
  const auto deeper = [f](std::span<const Tensor> v) { return call(f, {v.begin(), v.end()}); };
  EXPECT_EQ(error_of<UnsupportedError>([&] { call(deeper, {x}); }).rule(), "graph.depth");
  const std::vector<Literal> inputs{Literal::splat({DType::kF32, {}}, 2.0)};
  EXPECT_EQ(load_scalar(DType::kF32, interpret(*builder.finish(), inputs, RunContext::current())[0].raw()),
            4);
}

}  // namespace
}  // namespace espalier
