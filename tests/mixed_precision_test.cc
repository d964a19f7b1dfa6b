// Training under mixed_bfloat16 against the same arithmetic written out: f64, rounded where a bf16 value
// exists.
#include <cmath>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "tests/shared_data.h"

namespace espalier {
namespace {

using Values = std::vector<double>;

// To eight significant bits, nearest even.
double rounded(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}
Values rounded(Values x) {
  for (double& value : x) value = rounded(value);
  return x;
}

Tensor waves(const Shape& shape, double factor, double scale) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(scale * std::sin(static_cast<double>(i + 1) * factor));
  return Tensor::of(values, shape);
}
Values values_of(const Tensor& tensor) {
  const auto data = convert(tensor, DType::kF32).to_vector<float>();
  return {data.begin(), data.end()};
}

// Row-major matrix products: x[m,k] . w[k,n], and with either side transposed.
Values sums_of_products(const Values& x, const Values& w, size_t m, size_t k, size_t n, bool tx = false,
                        bool tw = false) {
  Values out(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t s = 0; s < k; ++s)
        out[i * n + j] += x[tx ? s * m + i : i * k + s] * w[tw ? j * k + s : s * n + j];
    }
  }
  return out;
}
Values product(const Values& x, const Values& w, size_t m, size_t k, size_t n, bool tw = false) {
  return rounded(sums_of_products(x, w, m, k, n, false, tw));
}

// A layer with weights: what it saw, and the gradients of its kernel and bias, which are f32 where they are a
// product of matrices or a sum over axes, and bf16 of a convolution.
struct Affine {
  Values kernel, bias, input = {}, kernel_gradient = {}, bias_gradient = {};
  size_t outputs() const { return bias.size(); }

  // Adds the bias to rounded sums of products.
  Values biased(Values sums) const {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = rounded(sums[i] + rounded(bias[i % outputs()]));
    return sums;
  }
  void sum_bias_gradient(const Values& cotangent) {
    bias_gradient.assign(outputs(), 0);
    for (size_t i = 0; i < cotangent.size(); ++i) bias_gradient[i % outputs()] += cotangent[i];
  }
};

struct DenseLayer : Affine {
  Values forward(const Values& x) {
    input = x;
    const size_t features = kernel.size() / outputs();
    return biased(product(x, rounded(kernel), x.size() / features, features, outputs()));
  }
  Values backward(const Values& g) {
    const size_t features = kernel.size() / outputs(), rows = g.size() / outputs();
    sum_bias_gradient(g);
    kernel_gradient = sums_of_products(input, g, features, rows, outputs(), true);
    return product(g, rounded(kernel), rows, outputs(), features, true);
  }
};

// A square "valid" window of `size` over square images of `side` with `channels`.
struct ConvLayer : Affine {
  size_t side, size, channels;

  // Calls f(result, input, weight): every product, by the places of its factors and of its sum.
  template <class F>
  void products(F f) const {
    const size_t places = side - size + 1, images = input.size() / (side * side * channels);
    for (size_t n = 0; n < images; ++n)
      for (size_t y = 0; y < places; ++y)
        for (size_t x = 0; x < places; ++x)
          for (size_t u = 0; u < size; ++u)
            for (size_t v = 0; v < size; ++v)
              for (size_t c = 0; c < channels; ++c)
                for (size_t o = 0; o < outputs(); ++o)
                  f(((n * places + y) * places + x) * outputs() + o,
                    ((n * side + y + u) * side + x + v) * channels + c,
                    ((u * size + v) * channels + c) * outputs() + o);
  }
  Values forward(const Values& x) {
    input = x;
    const size_t places = side - size + 1;
    Values sums(x.size() / (side * side * channels) * places * places * outputs());
    const Values low = rounded(kernel);
    products([&](size_t r, size_t i, size_t w) { sums[r] += x[i] * low[w]; });
    return biased(rounded(sums));
  }
  Values backward(const Values& g) {
    const Values low = rounded(kernel);
    Values back(input.size());
    kernel_gradient.assign(kernel.size(), 0);
    products([&](size_t r, size_t i, size_t w) {
      kernel_gradient[w] += g[r] * input[i];
      back[i] += g[r] * low[w];
    });
    sum_bias_gradient(g);
    kernel_gradient = rounded(kernel_gradient);
    return rounded(back);
  }
};

void relu(Values& x) {
  for (double& value : x) value = std::max(value, 0.0);
}
void mask(Values& gradient, const Values& outputs) {
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = outputs[i] > 0 ? gradient[i] : 0;
}

// 2x2 windows of images [side, side, channels]: for each result the place of the first largest element.
std::vector<size_t> largest(const Values& x, size_t side, size_t channels) {
  std::vector<size_t> out;
  for (size_t n = 0; n < x.size() / (side * side * channels); ++n)
    for (size_t y = 0; y + 1 < side; y += 2)
      for (size_t z = 0; z + 1 < side; z += 2)
        for (size_t c = 0; c < channels; ++c) {
          const auto place = [&](size_t u, size_t v) {
            return ((n * side + y + u) * side + z + v) * channels + c;
          };
          size_t best = place(0, 0);
          for (const size_t other : {place(0, 1), place(1, 0), place(1, 1)})
            best = x[other] > x[best] ? other : best;
          out.push_back(best);
        }
  return out;
}

// The mean cross entropy of logits [rows, classes], and its gradient as it comes back through the cast to
// f32.
std::pair<double, Values> cross_entropy(const Values& logits, const std::vector<int32_t>& labels) {
  const size_t classes = logits.size() / labels.size();
  const auto rows = static_cast<double>(labels.size());
  double loss = 0;
  Values gradient(logits.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < classes; ++j) sum += std::exp(logits[i * classes + j]);
    const auto label = static_cast<size_t>(labels[i]);
    loss += (std::log(sum) - logits[i * classes + label]) / rows;
    for (size_t j = 0; j < classes; ++j)
      gradient[i * classes + j] =
          rounded((std::exp(logits[i * classes + j]) / sum - (j == label ? 1 : 0)) / rows);
  }
  return {loss, gradient};
}

constexpr double kRate = 0.5;

// One step of `model` through compile() and fit, from weights of many bits. Gives its loss.
double train(Model& model, const Tensor& x, const Tensor& y, std::vector<Values>& before) {
  model(x);
  double factor = 0.6;
  for (Variable& variable : model.variables()) {
    variable.assign(waves(variable.shape(), factor += 0.1, 0.4));
    before.push_back(values_of(variable));
  }
  model.compile({.optimizer = SGD{.learning_rate = kRate}});
  return model.fit(x, y, {.batch_size = x.size(0), .shuffle = false})[0].at("loss");
}

// The variable is where the gradient by hand takes it. A sum in another order may round to the neighbour: a
// few elements may be one bf16 step of a gradient away, the others are equal to what f32 holds.
void expect_update(const Variable& variable, const Values& before, const Values& gradient) {
  const Values got = values_of(variable);
  ASSERT_EQ(got.size(), gradient.size()) << variable.path();
  double most = 0;
  for (const double value : gradient) most = std::max(most, std::fabs(value));
  ASSERT_GT(most, 0) << variable.path();
  size_t off = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::fabs(got[i] - (before[i] - kRate * gradient[i]));
    EXPECT_LE(difference, kRate * most * 0x1p-7) << variable.path() << " " << i;
    off += difference > 1e-7;
  }
  EXPECT_LE(off, got.size() / 20) << variable.path();
}

TEST(MixedPrecision, AStepOfAnMlpRoundsWhereItShould) {
  const std::vector<int32_t> labels{0, 3, 2, 1, 1, 2, 3, 0};
  const Tensor x = waves({8, 12}, 0.37, 1), y = Tensor::of(labels);
  Sequential model{Dense({.units = 20, .activation = "relu", .dtype = "mixed_bfloat16"}),
                   Dense({.units = 4, .dtype = "mixed_bfloat16"})};
  std::vector<Values> w;
  const double loss = train(model, x, y, w);

  DenseLayer first{{w[0], w[1]}}, second{{w[2], w[3]}};
  Values hidden = first.forward(rounded(values_of(x)));
  relu(hidden);
  const auto [wanted, gradient] = cross_entropy(second.forward(hidden), labels);
  Values back = second.backward(gradient);
  mask(back, hidden);
  first.backward(back);
  EXPECT_NEAR(loss, wanted, 1e-6);
  const std::vector<Variable> variables = model.variables();
  expect_update(variables[0], w[0], first.kernel_gradient);
  expect_update(variables[1], w[1], first.bias_gradient);
  expect_update(variables[2], w[2], second.kernel_gradient);
  expect_update(variables[3], w[3], second.bias_gradient);
}

TEST(MixedPrecision, AStepOfACnnRoundsWhereItShould) {
  const std::vector<int32_t> labels{2, 0, 1};
  const Tensor x = waves({3, 8, 8, 2}, 0.37, 1), y = Tensor::of(labels);
  const DTypePolicy mixed = "mixed_bfloat16";
  Sequential model{Conv2D({.filters = 5, .kernel_size = {3, 3}, .activation = "relu", .dtype = mixed}),
                   MaxPooling2D({.dtype = mixed}),
                   Conv2D({.filters = 6, .kernel_size = {2, 2}, .dtype = mixed}), Flatten(mixed),
                   Dense({.units = 3, .dtype = mixed})};
  std::vector<Values> w;
  const double loss = train(model, x, y, w);

  ConvLayer first{{w[0], w[1]}, 8, 3, 2}, second{{w[2], w[3]}, 3, 2, 5};
  DenseLayer dense{{w[4], w[5]}};
  Values hidden = first.forward(rounded(values_of(x)));
  relu(hidden);
  const std::vector<size_t> places = largest(hidden, 6, 5);
  Values pooled;
  for (const size_t place : places) pooled.push_back(hidden[place]);
  const auto [wanted, gradient] = cross_entropy(dense.forward(second.forward(pooled)), labels);
  const Values back = second.backward(dense.backward(gradient));
  Values spread(hidden.size());
  for (size_t i = 0; i < places.size(); ++i) spread[places[i]] += back[i];
  mask(spread, hidden);
  first.backward(spread);
  EXPECT_NEAR(loss, wanted, 1e-6);
  const std::vector<Variable> variables = model.variables();
  const Affine* layers[] = {&first, &second, &dense};
  for (size_t i = 0; i < 3; ++i) {
    expect_update(variables[2 * i], w[2 * i], layers[i]->kernel_gradient);
    expect_update(variables[2 * i + 1], w[2 * i + 1], layers[i]->bias_gradient);
  }
}

// A gradient below half a bf16 step of its weight moves the f32 master.
TEST(MixedPrecision, SmallUpdatesReachTheMasters) {
  Dense layer({.units = 1, .use_bias = false, .kernel_initializer = "ones", .dtype = "mixed_bfloat16"});
  Optimizer optimizer = SGD{.learning_rate = 0x1p-12};
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    const Tensor loss = sum(convert(layer(full({1, 1}, 1)), DType::kF32));
    const std::vector<Variable> weights = layer.trainable_variables();
    optimizer.apply(tape.gradient(loss, weights), weights);
  }
  EXPECT_EQ(layer.variables()[0].read().item<float>(), 1 - 3 * 0x1p-12f);
}

// State of an optimizer has the dtype of the masters; fit, evaluate and predict agree on what is what.
TEST(MixedPrecision, StateLossAndMetricsAreF32) {
  Optimizer adam = Adam{};
  Sequential model{Dense({.units = 3, .dtype = "mixed_bfloat16"})};
  model.compile({.optimizer = adam,
                 .loss = {.name = "seen",
                          .per_example =
                              [](const Tensor&, const Tensor& outputs) {
                                EXPECT_EQ(outputs.dtype(), DType::kF32);
                                return reduce_sum(outputs * outputs, {1});
                              },
                          .class_labels = true}});
  const Tensor x = waves({4, 5}, 0.7, 1), y = Tensor::of<int32_t>({0, 1, 2, 0});
  model.fit(x, y, {.epochs = 2});
  for (const Variable& variable : adam.variables())
    EXPECT_NE(variable.dtype(), DType::kBF16) << variable.path();
  for (const Variable& variable : model.variables())
    EXPECT_EQ(variable.dtype(), DType::kF32) << variable.path();
  EXPECT_EQ(model.predict(x).dtype(), DType::kBF16);
  EXPECT_TRUE(std::isfinite(model.evaluate(x, y).at("loss")));
}

// From five seeds, in each dtype: half a point of the last 2,000 of 10,000 images.
void expect_accuracy_of_f32(const std::function<Sequential(const DTypePolicy&)>& make, int64_t rows,
                            int epochs) {
  const std::string folder = shared_data("mnist");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Examples digits = load_digits(folder);
  const auto [train, test] = digits.split(8000);
  const Tensor some = iota({DType::kI32, {rows}}, 0), x = take(train.x, some), y = take(train.y, some);
  std::map<std::string, double> mean;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (const std::string name : {"float32", "mixed_bfloat16", "mixed_float16"}) {
      set_seed(seed);
      Sequential model = make(name);
      model.compile({.optimizer = Adam{},
                     .loss_scale = name == "mixed_float16" ? std::optional(LossScale{}) : std::nullopt});
      model.fit(x, y, {.epochs = epochs, .batch_size = 64});
      mean[name] += model.evaluate(test.x, test.y).at("accuracy") / 5;
    }
  }
  EXPECT_GE(mean["float32"], 0.94);
  EXPECT_NEAR(mean["mixed_bfloat16"], mean["float32"], 0.005);
  EXPECT_NEAR(mean["mixed_float16"], mean["float32"], 0.005);
}

// What `espalier train` does.
TEST(MixedPrecisionSlow, AccuracyIsWithinHalfAPointOfF32) {
  expect_accuracy_of_f32(
      [](const DTypePolicy& dtype) {
        return Sequential{Flatten(dtype), Dense({.units = 128, .activation = "relu", .dtype = dtype}),
                          Dense({.units = 10, .dtype = "float32"})};
      },
      8000, 5);
}

TEST(MixedPrecisionSlow, AccuracyOfConvolutionsIsWithinHalfAPointOfF32) {
  expect_accuracy_of_f32(
      [](const DTypePolicy& dtype) {
        return Sequential{
            Reshape({28, 28, 1}, "reshape", dtype),
            Conv2D({.filters = 8, .kernel_size = {3, 3}, .activation = "relu", .dtype = dtype}),
            MaxPooling2D({.pool_size = {2, 2}, .dtype = dtype}),
            Conv2D({.filters = 16, .kernel_size = {3, 3}, .activation = "relu", .dtype = dtype}),
            MaxPooling2D({.pool_size = {2, 2}, .dtype = dtype}),
            Flatten(dtype),
            Dense({.units = 10, .dtype = "float32"})};
      },
      8000, 3);
}

// Variables in bf16 too: no masters, and it still learns.
TEST(MixedPrecision, TheBfloat16PolicyTrains) {
  set_seed(3);
  Sequential model{Dense({.units = 16, .activation = "relu", .dtype = "bfloat16"}),
                   BatchNormalization({.dtype = "bfloat16"}), Dense({.units = 2, .dtype = "bfloat16"})};
  model.compile({.optimizer = Adam{.learning_rate = 0.02}});
  const Tensor x = waves({64, 4}, 0.9, 1);
  std::vector<int32_t> labels;
  const auto values = values_of(x);
  for (size_t i = 0; i < 64; ++i) labels.push_back(values[4 * i] * values[4 * i + 1] > 0);
  const auto history = model.fit(x, Tensor::of(labels), {.epochs = 30, .batch_size = 16});
  for (const Variable& variable : model.variables())
    EXPECT_EQ(variable.dtype(), DType::kBF16) << variable.path();
  EXPECT_LT(history.back().at("loss"), 0.7 * history.front().at("loss"));
}

}  // namespace
}  // namespace espalier
