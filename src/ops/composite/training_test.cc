#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "grad/grad.h"
#include "interp/interpreter.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using Vector = std::vector<float>;

// What a call recorded, to run its decomposition on the same inputs.
struct LastCall final : Recorder {
  const OpDef* op = nullptr;
  AttributesPtr attributes;
  std::vector<Tensor> inputs;
  bool done = false;
  void record(const Call& call, std::span<const Tensor>) override {
    if (done) return;
    op = &call.op;
    attributes = call.attributes;
    inputs = {call.inputs.begin(), call.inputs.end()};
  }
};

// Calls `f`; returns its results and those of its last call's decomposition.
template <class F>
std::pair<std::vector<Tensor>, std::vector<Tensor>> both(F f) {
  LastCall call;
  const std::vector<Tensor> fused = f();
  call.done = true;
  return {fused, call.op->decompose({call.attributes.get(), call.inputs, {}})};
}

void expect_close(const Tensor& a, const Tensor& b, double relative) {
  ASSERT_EQ(a.type(), b.type());
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    EXPECT_NEAR(x, y, relative * std::abs(y)) << i;
  }
}

TEST(Softmax, KnownValues) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 1000, 1000, 1000}, {2, 3});
  const Vector s = softmax(x).to_vector<float>();
  EXPECT_FLOAT_EQ(s[0], 0.09003057f);
  EXPECT_FLOAT_EQ(s[1], 0.24472847f);
  EXPECT_FLOAT_EQ(s[2], 0.66524096f);
  EXPECT_FLOAT_EQ(s[4], 1.0f / 3);
  const Vector columns = softmax(x, 0).to_vector<float>();
  EXPECT_FLOAT_EQ(columns[0], 0);
  EXPECT_FLOAT_EQ(columns[3], 1);
  const Vector l = log_softmax(x).to_vector<float>();
  EXPECT_FLOAT_EQ(l[0], -2.4076059f);
  EXPECT_FLOAT_EQ(l[5], -std::log(3.0f));
}

TEST(Softmax, FusedBodyEqualsDecomposition) {
  std::vector<float> values;
  for (int i = 0; i < 210; ++i) values.push_back(std::sin(static_cast<float>(i * i)) * 9);
  const Tensor x = Tensor::of(values, {5, 6, 7});
  for (const int64_t axis : {0, 1, 2}) {
    const auto [s, s_meaning] = both([&] { return std::vector<Tensor>{softmax(x, axis)}; });
    expect_close(s[0], s_meaning[0], 0);
    const auto [l, l_meaning] = both([&] { return std::vector<Tensor>{log_softmax(x, axis)}; });
    expect_close(l[0], l_meaning[0], 1e-6);
  }
}

TEST(SoftmaxCrossEntropy, LossAndGradient) {
  GraphBuilder builder;
  std::shared_ptr<Graph> graph;
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {3, 3}});
    const Tensor y = builder.argument("y", {DType::kI32, {3}});
    const Tensor loss = softmax_cross_entropy(x, y);
    builder.result("loss", loss);
    graph = add_gradients(*builder.finish(), 0, std::vector<size_t>{0});
  }
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 4, 4, 0, 0, 0}, {3, 3});
  const Tensor y = Tensor::of<int32_t>({2, 0, 3});
  const auto out = interpret(*graph, std::vector<Literal>{x.node()->literal(), y.node()->literal()},
                             RunContext::current());
  const float* loss = out[0].view().as<float>();
  EXPECT_FLOAT_EQ(loss[0], 0.40760595f);
  EXPECT_FLOAT_EQ(loss[1], std::log(3.0f));
  EXPECT_TRUE(std::isnan(loss[2]));
  const float* g = out[1].view().as<float>();
  EXPECT_FLOAT_EQ(g[0], 0.09003057f);
  EXPECT_FLOAT_EQ(g[2], 0.66524096f - 1);
  EXPECT_FLOAT_EQ(g[3], 1.0f / 3 - 1);
  EXPECT_FLOAT_EQ(g[5], 1.0f / 3);
  EXPECT_TRUE(std::isnan(g[6]) && std::isnan(g[7]) && std::isnan(g[8]));
}

TEST(SoftmaxCrossEntropy, FusedBodyEqualsDecomposition) {
  const Tensor x = Tensor::of<float>({1, 2, 3, -50, 0, 50, 1e4, 1e4, -1e4}, {3, 3});
  for (const DType dtype : {DType::kI8, DType::kU64}) {
    const Tensor y = convert(Tensor::of<int32_t>({1, 0, 2}), dtype);
    const auto [fused, meaning] = both([&] { return std::vector<Tensor>{softmax_cross_entropy(x, y)}; });
    expect_close(fused[0], meaning[0], 1e-6);
  }
}

TEST(SoftmaxCrossEntropy, RefusesLabelsOfAnotherShape) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_THROW(softmax_cross_entropy(x, Tensor::of<int32_t>({1, 0, 1})), ShapeError);
  EXPECT_THROW(softmax_cross_entropy(x, Tensor::of<float>({1, 0})), DTypeError);
}

// Keras' formula in double, written with powers.
TEST(Adam, FollowsKerasFor1000Steps) {
  const AdamOptions options{.weight_decay = 0.01};
  Tensor p = Tensor::of<float>({1, -2, 0.5}), m = full({3}, 0), v = full({3}, 0);
  double q[3] = {1, -2, 0.5}, qm[3] = {}, qv[3] = {};
  for (int t = 1; t <= 1000; ++t) {
    const Vector g{std::sin(t * 1.0f), 100 * std::cos(t * 2.0f), 1e-4f * std::sin(t * 3.0f)};
    const auto next = adam(p, m, v, Tensor::of(g, {3}), 0.01f, t, 0.5f, true, options);
    const auto meaning =
        both([&] { return adam(p, m, v, Tensor::of(g, {3}), 0.01f, t, 0.5f, true, options); });
    for (int i = 0; i < 3; ++i) expect_close(meaning.first[i], meaning.second[i], 0);
    p = next[0], m = next[1], v = next[2];
    const double alpha = 0.01 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
    for (int i = 0; i < 3; ++i) {
      const double x = g[i] * 0.5;
      qm[i] += (x - qm[i]) * (1 - 0.9);
      qv[i] += (x * x - qv[i]) * (1 - 0.999);
      q[i] -= q[i] * 0.01 * 0.01;
      q[i] -= qm[i] * alpha / (std::sqrt(qv[i]) + 1e-7);
      ASSERT_NEAR(p.data<float>()[i], q[i], 2e-6 * t) << t;
    }
  }
}

TEST(Adam, SkippedStepKeepsEverything) {
  const Tensor p = Tensor::of<float>({1, 2}), m = Tensor::of<float>({3, 4}), v = Tensor::of<float>({5, 6});
  const Tensor g = full({2}, std::numeric_limits<double>::quiet_NaN());
  const auto [fused, meaning] = both([&] { return adam(p, m, v, g, 0.1f, 3, 1, false); });
  for (const auto& out : {fused, meaning}) {
    EXPECT_EQ(out[0].to_vector<float>(), p.to_vector<float>());
    EXPECT_EQ(out[1].to_vector<float>(), m.to_vector<float>());
    EXPECT_EQ(out[2].to_vector<float>(), v.to_vector<float>());
  }
}

TEST(Adam, KeepsTheDTypeOfTheParameter) {
  const Tensor p = full({2}, 1, DType::kBF16), zero = full({2}, 0, DType::kBF16);
  const auto out = adam(p, zero, zero, full({2}, 1), 0.5f, 1);
  EXPECT_EQ(out[0].type(), p.type());
  EXPECT_FLOAT_EQ(convert(out[0], DType::kF32).to_vector<float>()[0], 0.5f);
  EXPECT_THROW(adam(p, full({2}, 0), zero, full({2}, 1), 0.5f, 1), Error);
}

TEST(Sgd, MomentumAndNesterov) {
  const Tensor p = Tensor::of<float>({1}), w = Tensor::of<float>({0.5}), g = Tensor::of<float>({2});
  EXPECT_FLOAT_EQ(sgd(p, Tensor(), g, 0.1f)[0].item<float>(), 0.8f);
  EXPECT_FLOAT_EQ(sgd(p, Tensor(), g, 0.1f, 1, true, {.weight_decay = 0.5})[0].item<float>(), 0.75f);
  // v = 0.9 * 0.5 - 0.1 * 2 = 0.25
  const auto heavy = sgd(p, w, g, 0.1f, 1, true, {.momentum = 0.9});
  EXPECT_FLOAT_EQ(heavy[0].item<float>(), 1.25f);
  EXPECT_FLOAT_EQ(heavy[1].item<float>(), 0.25f);
  // 1 + 0.9 * 0.25 - 0.2
  const auto [fused, meaning] =
      both([&] { return sgd(p, w, g, 0.1f, 1, true, {.momentum = 0.9, .nesterov = true}); });
  EXPECT_FLOAT_EQ(fused[0].item<float>(), 1.025f);
  expect_close(fused[0], meaning[0], 0);
  expect_close(fused[1], meaning[1], 0);
  EXPECT_FLOAT_EQ(sgd(p, w, g, 0.1f, 1, false, {.momentum = 0.9})[1].item<float>(), 0.5f);
}

}  // namespace
}  // namespace espalier
