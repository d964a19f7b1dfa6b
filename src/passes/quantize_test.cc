#include "passes/quantize.h"

#include <random>

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "passes/bind_variables.h"
#include "text/compiled_c_test.h"

namespace espalier {
namespace {

Literal numbers(const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  return random_literal({DType::kF32, shape}, random);
}
std::vector<float> floats(const Literal& literal) {
  const Literal dense = literal.expanded();
  const auto* data = static_cast<const float*>(dense.raw());
  return {data, data + literal.type().elements()};
}

template <class F>
std::shared_ptr<const Graph> built(const Shape& input, F f) {
  GraphBuilder builder;
  SinkScope scope(builder);
  builder.result("y", f(builder.argument("x", {DType::kF32, input})));
  return builder.finish();
}

std::shared_ptr<const Graph> mlp() {
  return built({4, 30}, [](const Tensor& x) {
    const auto weight = [](const Shape& shape, uint64_t seed) { return make_concrete(numbers(shape, seed)); };
    const Tensor h = relu(dot(x, weight({30, 20}, 1)) + weight({20}, 2));
    return dot(h, weight({20, 5}, 3)) + weight({5}, 4);
  });
}

std::vector<ActivationRange> ranges_for(const Graph& graph, const Literal& x, double percentile = 100) {
  const auto activations = quantized_activations(graph);
  std::vector<ActivationRange> out;
  for (const Literal& values : interpret(*activations, {{x}}, RunContext::current()))
    out.push_back(range_of({{values}}, percentile));
  return out;
}

// The formula of the header in f64 and whole numbers.
struct Rounded {
  std::vector<double> x, w;  // whole numbers
  double scale, zero;
  std::vector<double> scales;
};
Rounded rounded(const std::vector<float>& x, const std::vector<float>& w, size_t channels,
                ActivationRange range) {
  Rounded out;
  out.scale = (range.high - range.low) / 255;
  out.zero = std::nearbyint(-128 - range.low / out.scale);
  for (const float value : x)
    out.x.push_back(std::min(127.0, std::max(-128.0, std::nearbyint(value / out.scale) + out.zero)));
  out.scales.assign(channels, 0);
  for (size_t i = 0; i < w.size(); ++i)
    out.scales[i % channels] = std::max(out.scales[i % channels], std::fabs(double{w[i]}) / 127);
  for (size_t i = 0; i < w.size(); ++i) out.w.push_back(std::nearbyint(w[i] / out.scales[i % channels]));
  return out;
}

TEST(Quantize, ADotIsTheFormula) {
  const Literal x = numbers({3, 8}, 5), w = numbers({8, 4}, 6);
  const auto graph = built({3, 8}, [&](const Tensor& t) { return dot(t, make_concrete(w)); });
  const ActivationRange range{-0.7, 1.3};
  const auto quantized = quantize(*graph, {{range}});
  const std::vector<float> got = floats(interpret(*quantized, {{x}}, RunContext::current())[0]);
  const Rounded r = rounded(floats(x), floats(w), 4, range);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t c = 0; c < 4; ++c) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += (r.x[i * 8 + k] - r.zero) * r.w[k * 4 + c];
      EXPECT_NEAR(got[i * 4 + c], sum * r.scale * r.scales[c], 1e-5) << i << " " << c;
    }
  }
}

TEST(Quantize, APaddedConvolutionIsTheFormula) {
  const Literal x = numbers({1, 5, 2}, 7), w = numbers({3, 2, 3}, 8);
  const auto graph = built({1, 5, 2}, [&](const Tensor& t) {
    return convolution(t, make_concrete(w),
                       {.padding_low = {1}, .padding_high = {1}, .dimensions = channels_last(1)});
  });
  const ActivationRange range{-0.4, 1.0};
  const std::vector<float> got =
      floats(interpret(*quantize(*graph, {{range}}), {{x}}, RunContext::current())[0]);
  const Rounded r = rounded(floats(x), floats(w), 3, range);
  for (int64_t place = 0; place < 5; ++place) {
    for (size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < 3; ++k) {
        const int64_t at = place + k - 1;
        if (at < 0 || at >= 5) continue;
        for (size_t f = 0; f < 2; ++f)
          sum +=
              (r.x[static_cast<size_t>(at) * 2 + f] - r.zero) * r.w[(static_cast<size_t>(k) * 2 + f) * 3 + c];
      }
      EXPECT_NEAR(got[static_cast<size_t>(place) * 3 + c], sum * r.scale * r.scales[c], 1e-5)
          << place << " " << c;
    }
  }
}

// Half a step of either factor in each product, and what the activation between them makes of it.
TEST(Quantize, AnMlpStaysWithinItsSteps) {
  const auto graph = mlp();
  const Literal x = numbers({4, 30}, 9);
  const auto ranges = ranges_for(*graph, x);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[1].low, 0);
  const std::vector<float> wanted = floats(interpret(*graph, {{x}}, RunContext::current())[0]);
  const std::vector<float> got =
      floats(interpret(*quantize(*graph, ranges), {{x}}, RunContext::current())[0]);
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, std::fabs(double{got[i]} - wanted[i]));
  const double first = 30 * (ranges[0].high - ranges[0].low) / 255, second = (ranges[1].high) / 255;
  EXPECT_LE(worst, 20 * (first + second + ranges[1].high / 127));
  EXPECT_LE(worst, 0.25);
  EXPECT_GT(worst, 0);
}

TEST(Quantize, TheGraphIsOrdinaryAndItsWeightsAreBytes) {
  const auto graph = mlp();
  const auto quantized = quantize(*graph, ranges_for(*graph, numbers({4, 30}, 9)));
  quantized->verify();
  const CExport code = print_c(*quantized);
  EXPECT_NE(code.source.find("static const int8_t w"), std::string::npos);
  EXPECT_EQ(code.source.find("static const float w0[600]"), std::string::npos);
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  expect_same_in_c(*quantized, 10, 1e-5);
}

TEST(Quantize, AConvolutionInC) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  const auto graph = built({1, 6, 7, 2}, [&](const Tensor& t) {
    const Tensor h = relu(convolution(t, make_concrete(numbers({3, 3, 2, 4}, 1)),
                                      {.window_strides = {1, 2},
                                       .padding_low = {1, 0},
                                       .padding_high = {1, 1},
                                       .dimensions = channels_last(2)}));
    return convolution(h, make_concrete(numbers({2, 2, 1, 4}, 1)),
                       {.dimensions = channels_last(2), .feature_group_count = 4});
  });
  expect_same_in_c(*quantize(*graph, ranges_for(*graph, numbers({1, 6, 7, 2}, 2))), 11, 1e-5);
}

TEST(Quantize, RangesHoldZeroAndCutTails) {
  const Literal x = Literal::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 100, NAN, INFINITY});
  const ActivationRange all = range_of({{x}}), cut = range_of({{x}}, 90);
  EXPECT_EQ(all.low, 0);
  EXPECT_EQ(all.high, 100);
  EXPECT_EQ(cut.high, 9);
  const ActivationRange below = range_of({{Literal::of<float>({-3, -1})}});
  EXPECT_EQ(below.low, -3);
  EXPECT_EQ(below.high, 0);
  EXPECT_EQ(range_of({}).high, 0);
  EXPECT_THROW(range_of({{x}}, 50), ValueError);
  EXPECT_THROW(range_of({{x}}, NAN), ValueError);
}

TEST(Quantize, WrongRangesAreRefusedAndOtherProductsStay) {
  const auto graph = mlp();
  EXPECT_THROW(quantize(*graph, {}), ValueError);
  const std::vector<ActivationRange> three(3, ActivationRange{0, 1});
  EXPECT_THROW(quantize(*graph, three), ValueError);
  const auto square = built({3, 3}, [](const Tensor& x) { return dot(x, x); });
  EXPECT_EQ(quantized_activations(*square)->outputs().size(), 0u);
  EXPECT_EQ(*quantize(*square, {}), *square);
  // An activation that was zero in all rows, and a channel of zeros.
  const auto zeros = built({1, 2}, [](const Tensor& x) {
    return dot(x, make_concrete(Literal::splat({DType::kF32, {2, 2}}, 0.0)));
  });
  EXPECT_EQ(floats(interpret(*quantize(*zeros, {{ActivationRange{}}}), {{numbers({1, 2}, 1)}},
                             RunContext::current())[0])[0],
            0);
}

TEST(Quantize, VariablesAreBoundFirst) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {1, 2}});
  builder.result("y", dot(x, builder.input(InputKind::kVariable, "w", {DType::kF32, {2, 2}})));
  const auto graph = builder.finish();
  EXPECT_EQ(quantized_activations(*graph)->outputs().size(), 0u);
  const std::map<std::string, Literal> values = {{"w", numbers({2, 2}, 1)}};
  const auto bound = bind_variables(*graph, values);
  EXPECT_EQ(bound->inputs().size(), 1u);
  EXPECT_EQ(quantized_activations(*bound)->outputs().size(), 1u);
  const Literal rows = numbers({1, 2}, 3);
  EXPECT_EQ(interpret(*bound, {{rows}}, RunContext::current())[0],
            interpret(*graph, {{rows, values.at("w")}}, RunContext::current())[0]);
  EXPECT_THROW(bind_variables(*graph, {{"w", numbers({2, 3}, 1)}}), ShapeError);
}

}  // namespace
}  // namespace espalier
