#include <algorithm>
#include <cmath>

#include "ops/op_checks_test.h"

namespace espalier {
namespace {

OP_TEST(layer_normalization) {
  std::vector<OpCase> cases;
  for (const auto& [shape, rank] :
       std::vector<std::pair<Shape, size_t>>{{{3, 4}, 1}, {{2, 2, 3}, 2}, {{2}, 1}, {{0, 2}, 1}, {{1}, 1}}) {
    const Shape row = shape.span().last(rank);
    cases.push_back({.name = to_string(shape),
                     .inputs = {{.shape = shape}, {.shape = row}, {.shape = row}},
                     .call = [](Inputs x) { return layer_normalization(x[0], x[1], x[2], 0.01); },
                     .oracle =
                         [row](Arrays in) {
                           Array out = in[0];
                           const auto n = static_cast<size_t>(num_elements(row));
                           for (size_t start = 0; start < out.values.size(); start += n) {
                             double mean = 0, variance = 0;
                             for (size_t i = 0; i < n; ++i)
                               mean += in[0].values[start + i] / static_cast<double>(n);
                             for (size_t i = 0; i < n; ++i)
                               variance +=
                                   std::pow(in[0].values[start + i] - mean, 2) / static_cast<double>(n);
                             for (size_t i = 0; i < n; ++i) {
                               out.values[start + i] = (in[0].values[start + i] - mean) /
                                                           std::sqrt(variance + 0.01) * in[1].values[i] +
                                                       in[2].values[i];
                             }
                           }
                           return out;
                         },
                     .tolerance = {.ulp = 2, .absolute = 40},
                     .decomposition = {.ulp = 8, .absolute = 16}});
  }
  return {cases};
}

// x is [rows, features, columns]; statistics over rows, weighted, and columns.
std::vector<Array> batch_oracle(Arrays in) {
  const Shape& shape = in[0].shape();
  const DType statistic = in[0].type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  Array y = in[0], mean{{statistic, {shape[1]}}, {}}, variance = mean;
  const auto weight = [&](int64_t row) {
    return in.size() == 4 ? in[3].values[static_cast<size_t>(row)] : 1.0;
  };
  for (int64_t f = 0; f < shape[1]; ++f) {
    const auto sum = [&](auto g) {
      double total = 0, weights = 0;
      for (int64_t r = 0; r < shape[0]; ++r) {
        for (int64_t k = 0; k < shape[2]; ++k) {
          total += weight(r) * g(in[0].at({r, f, k}));
          weights += weight(r);
        }
      }
      return total / weights;
    };
    const double m = sum([](double x) { return x; }), v = sum([m](double x) { return (x - m) * (x - m); });
    mean.values.push_back(m);
    variance.values.push_back(v);
    for (int64_t r = 0; r < shape[0]; ++r) {
      for (int64_t k = 0; k < shape[2]; ++k) {
        y.values[static_cast<size_t>((r * shape[1] + f) * shape[2] + k)] =
            (in[0].at({r, f, k}) - m) / std::sqrt(v + 1e-3) * in[1].values[static_cast<size_t>(f)] +
            in[2].values[static_cast<size_t>(f)];
      }
    }
  }
  return {y, mean, variance};
}

OP_TEST(batch_normalization) {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{3, 2, 2}, Shape{1, 1, 1}, Shape{2, 0, 2}}) {
    cases.push_back({.name = to_string(shape),
                     .inputs = {{.shape = shape}, {.shape = {shape[1]}}, {.shape = {shape[1]}}},
                     .call = [](Inputs x) { return batch_normalization(x[0], x[1], x[2], {.axis = 1}); },
                     .oracle = batch_oracle,
                     .tolerance = {.ulp = 2, .absolute = 40}});
  }
  cases.push_back(cases[0]);
  cases.back().name = "weighted";
  cases.back().inputs.push_back({.shape = {3}, .low = 0.5, .high = 2});
  cases.back().dtypes = kFloats;
  cases.back().call = [](Inputs x) {
    const Tensor w =
        is_float(x[3].dtype()) && x[3].dtype() != DType::kF64 ? convert(x[3], DType::kF32) : x[3];
    return batch_normalization(x[0], x[1], x[2], {.axis = 1}, w);
  };
  return {cases};
}

TEST(BatchNormalization, RowsOfWeightZeroCountForNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::of<double>({1, 2, 3, 6, inf, inf}, {3, 2}), one = full({2}, 1, DType::kF64);
  const auto out = batch_normalization(x, one, one, {}, Tensor::of<double>({1, 1, 0}));
  EXPECT_EQ(out[1].to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(out[2].to_vector<double>(), (std::vector<double>{1, 4}));
}

TEST(BatchNormalization, WhatRowsOfWeightZeroHoldReachesNoGradient) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto gradients = [](const Tensor& x, const Tensor& w) {
    const Tensor scale = full({2}, 2, DType::kF64), offset = full({2}, 1, DType::kF64);
    CallLog log;
    const auto out = batch_normalization(x, scale, offset, {}, w);
    // Their own results count for nothing either.
    const Tensor factor = broadcast_in_dim(w * Tensor::of<double>({1, 3, 1}), x.shape(), {0});
    const Tensor loss = reduce_sum(out[0] * out[0] * factor, {0, 1});
    const std::vector<TapeEntry> calls = log.calls;
    return reverse(calls, std::vector{loss}, {}, std::vector{x, scale, offset});
  };
  const Tensor w = Tensor::of<double>({1, 1, 0});
  const auto found = gradients(Tensor::of<double>({1, 2, 3, 6, nan, INFINITY}, {3, 2}), w);
  const auto wanted = gradients(Tensor::of<double>({1, 2, 3, 6, 7, -1}, {3, 2}), w);
  for (size_t i = 0; i < found.size(); ++i) {
    const auto values = found[i].to_vector<double>();
    EXPECT_TRUE(std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) << i;
    EXPECT_EQ(values, wanted[i].to_vector<double>()) << i;
  }
}

// As a batch of padding alone.
TEST(BatchNormalization, WithoutARowThatCountsNothingIsNaN) {
  const Tensor x = Tensor::of<double>({1, 2, 3, 6}, {2, 2});
  const Tensor scale = full({2}, 2, DType::kF64), offset = full({2}, 1, DType::kF64);
  CallLog log;
  const auto out = batch_normalization(x, scale, offset, {}, full({2}, 0, DType::kF64));
  const Tensor sum = reduce_sum(out[0], {0, 1});
  EXPECT_EQ(out[1].to_vector<double>(), (std::vector<double>{0, 0}));
  EXPECT_EQ(out[2].to_vector<double>(), (std::vector<double>{0, 0}));
  const std::vector<TapeEntry> calls = log.calls;
  for (const Tensor& gradient : reverse(calls, std::vector{sum}, {}, std::vector{x, scale, offset})) {
    ASSERT_TRUE(gradient.defined());
    for (const double value : gradient.to_vector<double>()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(BatchNormalization, InferenceUsesGivenStatistics) {
  const Tensor x = Tensor::of<double>({1, 2, 3, 6}, {2, 2});
  const Tensor y =
      batch_normalization_inference(x, Tensor::of<double>({2, 1}), Tensor::of<double>({0, 1}),
                                    Tensor::of<double>({2, 4}), Tensor::of<double>({4, 1}), {.epsilon = 0});
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{-1, -1, 1, 3}));
}

OpCase attention_case(const std::string& name, const Shape& q, const Shape& k, const Shape& v, bool causal,
                      bool masked) {
  OpCase c{
      .name = name,
      .inputs = {{.shape = q}, {.shape = k}, {.shape = v}},
      .call =
          [=](Inputs x) { return attention(x[0], x[1], x[2], {.causal = causal}, masked ? x[3] : Tensor()); },
      .oracle =
          [=](Arrays in) {
            Array out{{in[0].type.dtype, {q[0], q[1], v[2]}}, {}};
            for (int64_t b = 0; b < q[0]; ++b) {
              for (int64_t t = 0; t < q[1]; ++t) {
                std::vector<double> weight;
                double sum = 0;
                for (int64_t s = 0; s < k[1]; ++s) {
                  double score = 0;
                  for (int64_t d = 0; d < q[2]; ++d) score += in[0].at({b, t, d}) * in[1].at({b, s, d});
                  const bool hidden = (causal && s > t + k[1] - q[1]) || (masked && in[3].at({b, t, s}) == 0);
                  weight.push_back(hidden ? 0 : std::exp(score / std::sqrt(static_cast<double>(q[2]))));
                  sum += weight.back();
                }
                for (int64_t e = 0; e < v[2]; ++e) {
                  double value = 0;
                  for (int64_t s = 0; s < k[1]; ++s)
                    value +=
                        (sum > 0 ? weight[static_cast<size_t>(s)] / sum : 1.0 / static_cast<double>(k[1])) *
                        in[2].at({b, s, e});
                  out.values.push_back(value);
                }
              }
            }
            return out;
          },
      .tolerance = {.ulp = 2, .absolute = 20}};
  if (masked) c.inputs.push_back({.shape = {q[0], q[1], k[1]}, .dtype = DType::kBool});
  return c;
}

OP_TEST(attention) {
  return {{attention_case("plain", {2, 3, 2}, {2, 4, 2}, {2, 4, 3}, false, false),
           attention_case("causal", {1, 3, 2}, {1, 4, 2}, {1, 4, 2}, true, false),
           attention_case("masked", {2, 2, 2}, {2, 3, 2}, {2, 3, 2}, false, true),
           attention_case("one", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, true, false),
           attention_case("nothing", {0, 2, 2}, {0, 3, 2}, {0, 3, 2}, true, false)}};
}

}  // namespace
}  // namespace espalier
