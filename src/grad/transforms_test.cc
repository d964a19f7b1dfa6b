#include "espalier/transforms.h"

#include <cmath>

#include <gtest/gtest.h>

#include "espalier/control.h"
#include "espalier/tape.h"
#include "interp/interpreter.h"
#include "ir/builder.h"

namespace espalier {
namespace {

Tensor d(std::vector<double> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::of(values, {n});
}
Tensor d(double value) { return Tensor::scalar(value); }
Tensor total(const Tensor& x) { return reduce_sum(x, Dims::range(x.rank())); }

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance = 1e-12) {
  const auto values = got.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
}

// f through a trace: the graph is built on symbols and interpreted.
Tensors traced(const TensorFunction& f, const Tensors& inputs) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    Tensors arguments;
    for (const Tensor& input : inputs) arguments.push_back(builder.argument("x", input.type()));
    for (const Tensor& result : f(arguments)) builder.result("y", result);
  }
  const auto graph = builder.finish();
  graph->verify();
  std::vector<Literal> literals;
  for (const Tensor& input : inputs) literals.push_back(input.node()->literal());
  Tensors out;
  for (Literal& literal : interpret(*graph, literals, RunContext::current()))
    out.push_back(make_concrete(std::move(literal)));
  return out;
}

// The gradients of f (one scalar) eagerly and traced, against central differences.
void expect_gradient(const TensorFunction& f, const Tensors& inputs, double tolerance = 1e-7) {
  const Tensors eager = grad(f)(inputs), symbolic = traced(grad(f), inputs);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<double> at = inputs[i].to_vector<double>();
    std::vector<double> expected;
    for (size_t k = 0; k < at.size(); ++k) {
      const auto value = [&](double step) {
        std::vector<double> moved = at;
        moved[k] += step;
        Tensors all = inputs;
        all[i] = Tensor::of(moved, inputs[i].shape());
        return f(all)[0].item<double>();
      };
      expected.push_back((value(kStep) - value(-kStep)) / (2 * kStep));
    }
    SCOPED_TRACE(i);
    expect_near(eager[i], expected, tolerance);
    expect_near(symbolic[i], expected, tolerance);
  }
}

TEST(Transforms, PowersOfDifferentiation) {
  const TensorFunction cube = [](const Tensor& x) { return x * x * x; };
  expect_near(grad(cube)(d(2))[0], {12});
  expect_near(grad(grad(cube))(d(2))[0], {12});
  expect_near(grad(grad(grad(cube)))(d(2))[0], {6});
  expect_near(grad(grad(grad(grad(cube))))(d(2))[0], {0});
  const Tensors both = value_and_grad(cube)(d(3));
  expect_near(both[0], {27});
  expect_near(both[1], {27});
  expect_near(traced(grad(grad(cube)), {d(2)})[0], {12});
}

TEST(Transforms, OneTensorInTwoPlacesAndOutside) {
  const Tensor x = d(3);
  const TensorFunction product = [](const Tensor& a, const Tensor& b) { return a * a * b; };
  const Tensors both = grad(product)(x, x);
  expect_near(both[0], {18});
  expect_near(both[1], {9});
  // x outside is a constant, even where it is the argument.
  expect_near(grad([&](const Tensor& y) { return x * y; })(x)[0], {3});
  // d/dx (x * d/dy (x * y * y) at y = x) = d/dx 2 x^3.
  const TensorFunction nested = [](const Tensor& a) {
    return a * grad([&](const Tensor& y) { return a * y * y; })(a)[0];
  };
  expect_near(grad(nested)(x)[0], {54});
  expect_near(traced(grad(nested), {x})[0], {54});
}

TEST(Transforms, CallsWithTheSameArgumentTwice) {
  const TensorFunction square = [](const Tensor& a) {
    return call([](const Tensor& x, const Tensor& y) { return x * y; }, {a, a})[0];
  };
  expect_near(grad(square)(d(5))[0], {10});
  const TensorFunction kept = [](const Tensor& a) {
    return checkpoint([](const Tensor& x, const Tensor& y) { return x * y; })(a, a)[0];
  };
  expect_near(grad(kept)(d(5))[0], {10});
}

TEST(Transforms, VjpAndJvpAreTransposes) {
  const TensorFunction f = [](const Tensor& x, const Tensor& y) -> Tensors {
    return {exponential(x) * y, reduce_sum(x * y, {0})};
  };
  const Tensor x = d({0.5, -1}), y = d({2, 3}), dx = d({1, 2}), dy = d({-1, 0.5});
  const Jvp forward = jvp(f, {x, y}, {dx, dy});
  const double e0 = std::exp(0.5), e1 = std::exp(-1.0);
  expect_near(forward.outputs[0], {2 * e0, 3 * e1});
  expect_near(forward.tangents[0], {2 * e0 - e0, 6 * e1 + 0.5 * e1});
  expect_near(forward.tangents[1], {2 + 6 - 0.5 - 0.5});
  const Vjp backward = vjp(f, {x, y});
  const Tensors pulled = backward.pullback(d({1, 10}), d(100));
  expect_near(pulled[0], {2 * e0 + 200, 30 * e1 + 300});
  expect_near(pulled[1], {e0 + 50, 10 * e1 - 100});
  const Jvp identity = jvp([](const Tensor& v) { return v; }, {x}, {dx});
  expect_near(identity.tangents[0], {1, 2});
}

TEST(Transforms, JacobianAndHessian) {
  const TensorFunction f = [](const Tensor& x) { return x * reduce_sum(x * x, {0}); };  // x |x|^2
  const Tensor x = d({1, 2});
  const Tensor j = jacobian(f)(x)[0];
  EXPECT_EQ(j.shape(), (Shape{2, 2}));
  expect_near(j, {5 + 2, 4, 4, 5 + 8});
  const Tensor h = hessian([](const Tensor& v) { return reduce_sum(v * v * v, {0}); })(x)[0];
  expect_near(h, {6, 0, 0, 12});
  const Tensors blocks =
      hessian([](const Tensor& a, const Tensor& b) { return reduce_sum(a * a * b, {0}); })(x, x);
  ASSERT_EQ(blocks.size(), 4u);
  expect_near(blocks[0], {2, 0, 0, 4});
  expect_near(blocks[1], {2, 0, 0, 4});
  expect_near(blocks[3], {0, 0, 0, 0});
  expect_near(traced(hessian([](const Tensor& v) { return reduce_sum(v * v * v, {0}); }), {x})[0],
              {6, 0, 0, 12});
}

TEST(Transforms, WhatIsNotAScalarHasNoGradient) {
  try {
    grad([](const Tensor& x) { return x; })(d({1, 2}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.rule(), "grad.scalar");
  }
  try {
    grad([](const Tensor& x) { return x; })(d(1), d(2));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "function.arguments");
  }
}

// h = tanh-like cell by rational functions: a carry that depends on a capture and on the input.
Tensor cell(const Tensor& h, const Tensor& x, const Tensor& w) {
  const Tensor s = h * w + x;
  return s / sqrt(s * s + 1.0);
}

TEST(ControlGradients, AScanEqualsItsUnrolledLoop) {
  const TensorFunction by_scan = [](const Tensor& h0, const Tensor& xs, const Tensor& w) {
    const auto [last, ys] = scan(
        [&](const Tensor& h, const Tensor& x) {
          const Tensor next = cell(h, x, w);
          return std::pair(next, next * next);
        },
        h0, xs);
    return total(last) + total(ys);
  };
  const TensorFunction unrolled = [](const Tensor& h0, const Tensor& xs, const Tensor& w) {
    Tensor h = h0, sum;
    for (int64_t t = 0; t < 4; ++t) {
      const Tensor at = convert(compare(iota({DType::kI32, {4}}, 0), t, Comparison::kEQ), DType::kF64);
      const Tensor x = dot_general(at, xs, {.lhs_contracting = {0}, .rhs_contracting = {0}});
      h = cell(h, x, w);
      sum = sum.defined() ? sum + total(h * h) : total(h * h);
    }
    return total(h) + sum;
  };
  const Tensors inputs{d({0.1, -0.2}), Tensor::of<double>({1, 2, -1, 0.5, 0.3, 0.2, -0.7, 1.1}, {4, 2}),
                       d({0.8, -1.2})};
  expect_near(by_scan(inputs)[0], unrolled(inputs)[0].to_vector<double>());
  const Tensors a = grad(by_scan)(inputs), b = grad(unrolled)(inputs);
  for (size_t i = 0; i < 3; ++i) expect_near(a[i], b[i].to_vector<double>());
  expect_gradient(by_scan, inputs);
  const Tensors ha = hessian(by_scan)(inputs), hb = hessian(unrolled)(inputs);
  ASSERT_EQ(ha.size(), 9u);
  for (size_t i = 0; i < 9; ++i) expect_near(ha[i], hb[i].to_vector<double>(), 1e-11);
  const Tensors ht = traced(hessian(by_scan), inputs);
  for (size_t i = 0; i < 9; ++i) expect_near(ht[i], hb[i].to_vector<double>(), 1e-11);
}

TEST(ControlGradients, ScanWithIntegersInItsState) {
  // The product of x[i] over odd steps: the counter carries no gradient.
  const TensorFunction f = [](const Tensor& x) {
    const ScanBody body = [&](std::span<const Tensor> c, std::span<const Tensor> s) -> ScanResult {
      const Tensor odd = compare(c[1] - c[1] / 2 * 2, 1, Comparison::kEQ);
      return {{select(odd, c[0] * s[0], c[0]), c[1] + 1}, {}};
    };
    return scan(body, {d(1), Tensor::scalar(0)}, {x}).carry[0];
  };
  expect_near(grad(f)(d({2, 3, 5, 7}))[0], {0, 7, 0, 3});
  expect_near(grad(f)(d({2, 3, 5, 7}))[0], traced(grad(f), {d({2, 3, 5, 7})})[0].to_vector<double>());
}

TEST(ControlGradients, BranchesWithCaptures) {
  const TensorFunction f = [](const Tensor& x, const Tensor& y) {
    const Tensor big = compare(total(x), 1.0, Comparison::kGT);
    const Tensor inner = cond(
        big,
        [&] {
          return cond(
              compare(total(y), 0.0, Comparison::kGT), [&] { return x * y; }, [&] { return x * x * y; });
        },
        [&] { return exponential(x); });
    const Tensor which = convert(big, DType::kI32);
    return total(inner *
                 switch_case(which, {[&] { return y; }, [&] { return y * y; }, [&] { return x; }})[0]);
  };
  expect_gradient(f, {d({2, 1}), d({3, -1})});
  expect_gradient(f, {d({2, 1}), d({-3, -1})});
  expect_gradient(f, {d({-2, 1}), d({3, -1})});
  expect_gradient([&](const Tensor& x, const Tensor& y) { return total(grad(f)(x, y)[0] * y); },
                  {d({2, 1}), d({-3, -1})});
}

TEST(ControlGradients, BoundedLoopsAndNoOthers) {
  // Newton's iteration for a square root: the derivative of sqrt.
  const auto root = [](const Tensor& a, std::optional<int64_t> bound) {
    return while_loop([&](const Tensor& x) { return compare(x * x - a, 1e-14, Comparison::kGT); },
                      [&](const Tensor& x) { return (x + a / x) * 0.5; }, a, {.max_iterations = bound});
  };
  const TensorFunction bounded = [&](const Tensor& a) { return root(a, 40); };
  expect_near(bounded(d(9))[0], {3}, 1e-9);
  expect_near(grad(bounded)(d(9))[0], {1.0 / 6}, 1e-9);
  expect_near(grad(grad(bounded))(d(9))[0], {-1.0 / 108}, 1e-7);
  expect_near(traced(grad(bounded), {d(9)})[0], {1.0 / 6}, 1e-9);
  try {
    traced(grad([&](const Tensor& a) { return root(a, {}); }), {d(9)});
    FAIL();
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.rule(), "while.gradient");
    EXPECT_NE(std::string(error.what()).find("bound it: while_loop(max_iterations)"), std::string::npos);
  }
}

TEST(ControlGradients, AStoppedBranchDoesNotPoison) {
  // After the condition fails the body would divide by zero.
  const TensorFunction f = [](const Tensor& x) {
    return while_loop([](const Tensor& v) { return compare(v, 0.0, Comparison::kGT); },
                      [](const Tensor& v) { return (v - v) / v; }, x, {.max_iterations = 5});
  };
  EXPECT_TRUE(std::isfinite(grad(f)(d(2))[0].item<double>()));
}

TEST(ControlGradients, StopCustomAndCheckpoint) {
  expect_near(grad([](const Tensor& x) { return stop_gradient(x) * x; })(d(3))[0], {3});
  const TensorFunction clipped =
      custom_gradient([](const Tensor& x) { return x * x; },
                      [](auto x, auto, auto g) -> Tensors { return {minimum(g[0] * 2.0 * x[0], 1.0)}; });
  const TensorFunction f = [&](const Tensor& x) { return clipped(x)[0] * 3.0; };
  expect_near(f(d(5))[0], {75});
  expect_near(grad(f)(d(5))[0], {1});
  expect_near(grad(f)(d(0.1))[0], {0.6});
  expect_near(grad(grad(f))(d(0.1))[0], {6});
  const TensorFunction g = checkpoint([](const Tensor& x) { return exponential(x * x); });
  expect_gradient([&](const Tensor& x) { return total(g(x)[0]); }, {d({0.3, -0.5})});
  expect_gradient(
      [&](const Tensor& x) { return total(grad([&](const Tensor& y) { return total(g(y)[0]); })(x)[0]); },
      {d({0.3, -0.5})});
}

TEST(ControlGradients, ATapeSeesWhatBodiesCapture) {
  const Tensor w = d(2), x = d({1, 2, 3});
  GradientTape tape;
  tape.watch(w);
  const auto [last, ys] =
      scan([&](const Tensor& c, const Tensor& v) { return std::pair(c * w + v, c * w); }, d(0), x);
  // 1, 2 + 2, 8 + 3: c = w^2 + 2 w + 3.
  expect_near(last, {11});
  expect_near(tape.gradient(last, w), {6});
}

// vmap(f)(stack) is the stack of f.
void expect_batches(const TensorFunction& f, const std::vector<Tensors>& examples) {
  Tensors stacked;
  for (size_t i = 0; i < examples[0].size(); ++i) {
    std::vector<double> values;
    for (const Tensors& example : examples) {
      const auto part = example[i].to_vector<double>();
      values.insert(values.end(), part.begin(), part.end());
    }
    Shape shape = examples[0][i].shape();
    shape.insert(0, static_cast<int64_t>(examples.size()));
    stacked.push_back(Tensor::of(values, shape));
  }
  const Tensors eager = vmap(f)(stacked), symbolic = traced(vmap(f), stacked);
  for (size_t k = 0; k < eager.size(); ++k) {
    std::vector<double> expected;
    for (const Tensors& example : examples) {
      const auto part = f(example)[k].to_vector<double>();
      expected.insert(expected.end(), part.begin(), part.end());
    }
    SCOPED_TRACE(k);
    expect_near(eager[k], expected);
    expect_near(symbolic[k], expected);
  }
}

TEST(Vmap, StacksOfControlFlow) {
  const std::vector<Tensors> examples{{d({1, 2}), d(3)}, {d({-1, 2}), d(-1)}, {d({0.5, 0.25}), d(0)}};
  const TensorFunction branch = [](const Tensor& x, const Tensor& y) {
    return cond(
        compare(y, 0.0, Comparison::kGT), [&] { return x * y; }, [&] { return x - y; });
  };
  const TensorFunction loop = [](const Tensor& x, const Tensor& y) -> Tensors {
    return while_loop(
        [&](const Tensor& v, const Tensor&) { return compare(total(v), 20.0, Comparison::kLT); },
        [&](const Tensor& v, const Tensor& n) -> Tensors {
          return {v * v + 1.0, n + y};
        },
        Tensors{x, y});
  };
  const TensorFunction bounded = [](const Tensor& x, const Tensor& y) {
    return while_loop([&](const Tensor& v) { return compare(total(v), 20.0, Comparison::kLT); },
                      [&](const Tensor& v) { return v * v + 1.0 + y * 0.01; }, x, {.max_iterations = 6});
  };
  const TensorFunction chain = [](const Tensor& x, const Tensor& y) -> Tensors {
    const auto [last, ys] =
        scan([&](const Tensor& c, const Tensor& v) { return std::pair(c * v + y, c); }, y, x);
    return {last, ys};
  };
  const TensorFunction pick = [](const Tensor& x, const Tensor& y) {
    return switch_case(convert(y, DType::kI32), {[&] { return x; }, [&] { return x + x; },
                                                 [&] { return x * x; }, [&] { return y * x; }})[0];
  };
  const TensorFunction wrapped = [&](const Tensor& x, const Tensor& y) {
    return checkpoint([&](const Tensor& v) { return call(branch, {v, y})[0]; })(x)[0];
  };
  const TensorFunction custom = custom_gradient([](const Tensor& x, const Tensor& y) { return x * y; },
                                                [](auto in, auto, auto g) -> Tensors {
                                                  return {g[0] * in[1] * 7.0, total(g[0] * in[0])};
                                                });
  for (const TensorFunction& f : {branch, loop, bounded, chain, pick, wrapped, custom})
    expect_batches(f, examples);
  for (const TensorFunction& f : {branch, bounded, chain, pick, wrapped, custom}) {
    expect_batches(grad([f](const Tensor& x, const Tensor& y) { return total(f(x, y)[0]); }), examples);
    expect_batches(hessian([f](const Tensor& x, const Tensor& y) { return total(f(x, y)[0]); }), examples);
  }
}

TEST(Vmap, AxesAndSharedArguments) {
  const TensorFunction f = [](const Tensor& x, const Tensor& w) { return reduce_sum(x * w, {0}); };
  const Tensor x = Tensor::of<double>({1, 2, 3, 4, 5, 6}, {3, 2}), w = d({1, 10, 100});
  expect_near(vmap(f, {.in_axes = {1, std::nullopt}})(x, w)[0], {531, 642});
  const TensorFunction outer = [](const Tensor& a, const Tensor& b) { return a * b; };
  const Tensor table = vmap(vmap(outer, {.in_axes = {std::nullopt, 0}}),
                            {.in_axes = {0, std::nullopt}, .out_axes = {1}})(d({1, 2}), d({3, 4, 5}))[0];
  EXPECT_EQ(table.shape(), (Shape{3, 2}));
  expect_near(table, {3, 6, 4, 8, 5, 10});
  try {
    vmap(outer)(d({1, 2}), d({1, 2, 3}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.rule(), "vmap.size");
  }
}

TEST(Vmap, OfGradAndUnderGrad) {
  const TensorFunction f = [](const Tensor& x, const Tensor& w) {
    return reduce_sum(exponential(x * w), {0});
  };
  const Tensor xs = Tensor::of<double>({1, 2, 3, 4}, {2, 2}), w = d({0.1, -0.2});
  const Tensors per_example = vmap(grad(f, {.arguments = {1}}), {.in_axes = {0, std::nullopt}})(xs, w);
  const Tensor all = grad([&](const Tensor& v) {
    return reduce_sum(vmap(f, {.in_axes = {0, std::nullopt}})(xs, v)[0], {0});
  })(w)[0];
  expect_near(reduce_sum(per_example[0], {0}), all.to_vector<double>());
  expect_near(all, {std::exp(0.1) + 3 * std::exp(0.3), 2 * std::exp(-0.4) + 4 * std::exp(-0.8)});
}

// Examples of one key were dropped alike once: a batch, whichever way it was made one, drops as its rows do.
TEST(Vmap, DropoutDropsWhatRowsOfABatchDrop) {
  const TensorFunction drop = [](const Tensor& x) { return dropout(x, 0.5, 7, 2); };
  const Tensor x = full({4, 8}, 1), cube = full({2, 3, 4}, 1);
  const auto expect_same = [](const Tensor& got, const Tensor& wanted) {
    EXPECT_EQ(got.to_vector<float>(), wanted.to_vector<float>());
  };
  expect_same(vmap(drop)(x)[0], dropout(x, 0.5, 7, 2));
  expect_same(traced(vmap(drop), {x})[0], dropout(x, 0.5, 7, 2));
  expect_same(vmap(vmap(drop))(cube)[0], dropout(cube, 0.5, 7, 2));
  const TensorFunction sum = [&](const Tensor& one) { return total(drop(one)[0]); };
  expect_same(vmap(grad(sum))(x)[0], dropout(x, 0.5, 7, 2));
  // A part of a larger whole stays one.
  const Tensor zero = Tensor::scalar<int64_t>(0), three = Tensor::scalar<int64_t>(3);
  const TensorFunction part = [&](const Tensor& one) { return dropout(one, 0.5, 7, 2, {{20}, {three}}); };
  expect_same(vmap(part)(x)[0], dropout(x, 0.5, 7, 2, {{4, 20}, {zero, three}}));
  // With a key for each, an example drops what it drops alone.
  const TensorFunction own = [](const Tensor& one, const Tensor& key) { return dropout(one, 0.5, key, 2); };
  const std::vector<uint64_t> keys{5, 6, 5, 9};
  const std::vector<float> got = vmap(own)(x, Tensor::of(keys, {4}))[0].to_vector<float>();
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto alone = dropout(full({8}, 1), 0.5, keys[i], 2).to_vector<float>();
    EXPECT_TRUE(std::ranges::equal(alone, std::span(got).subspan(8 * i, 8))) << i;
  }
}

// No recursion over depth: these run under `ulimit -s 8192` in CI.
TEST(Depth, AMillionNodesSlow) {
  constexpr int kNodes = 1'000'000;
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    Tensor x = builder.argument("x", {DType::kF32, {}});
    for (int i = 0; i < kNodes; ++i) x = i % 2 ? negate(x) : exponential(x);
    builder.result("y", x);
  }
  const auto chain = builder.finish();
  const RegionSpec specs[] = {{{{DType::kF32, {}}},
                               [&](std::span<const Tensor> x) {
                                 const Tensor cotangent[] = {Tensor::scalar(1.0f)};
                                 return region_vjp(*chain, x, cotangent, {true});
                               }},
                              {{{DType::kF32, {2}}}, [&](std::span<const Tensor> x) {
                                 return region_batch(*chain, x, {true}, {true}, 2);
                               }}};
  const Regions both = trace_regions(specs);
  EXPECT_GE(both.graphs[0]->nodes().size(), 2u * kNodes);
  EXPECT_EQ(both.graphs[1]->nodes().size(), 1u * kNodes);
}

}  // namespace
}  // namespace espalier
