// What training has, on a device by a real PJRT plugin: each step from the CPU's state gives the CPU's
// values.
#include <cmath>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/devices.h"
#include "espalier/functional.h"
#include "espalier/model.h"
#include "espalier/pooling.h"
#include "espalier/random.h"
#include "espalier/regularizers.h"
#include "ir/sink.h"
#include "pjrt/plugin_test.h"

namespace espalier {
namespace {

constexpr int64_t kFeatureRows = 24;

struct FeatureData {
  TensorList x, y;
};
// Numbers, their sum of squares.
FeatureData feature_sums_of(int64_t columns) {
  Generator random(3);
  const Tensor x = random.normal({kFeatureRows, columns});
  return {x, sum(x * x, 1, true)};
}
FeatureData feature_classes_of(int64_t columns, int64_t classes) {
  Generator random(5);
  const Tensor x = random.normal({kFeatureRows, columns});
  return {x, argmax(slice(x, {0, 0}, {kFeatureRows, classes}), 1)};
}
FeatureData feature_pictures() {
  Generator random(7);
  const Tensor x = random.normal({kFeatureRows, 8, 8, 2});
  return {x, convert(sum(x, Dims{1, 2, 3}) > 0, DType::kI32)};
}
FeatureData feature_words() {
  Generator random(9);
  const Tensor x = random.integers({kFeatureRows, 6}, 0, 11, DType::kI32);
  return {x, convert(sum(x, 1) > 30, DType::kI32)};
}

const Loss kClassLoss = SparseCategoricalCrossentropy({.from_logits = true});

struct Feature {
  const char* name;
  FeatureData (*data)();
  Sequential (*model)();
  std::function<ModelOptions()> options = {};  // anew: an optimizer is a handle
  FitOptions fit = {};
  double tolerance = 5e-6;  // of the largest value of a variable
};

Sequential regression_network() {
  return Sequential(Dense({.units = 16, .activation = "relu"}), Dense({.units = 1}));
}
Sequential three_way_network() {
  return Sequential(Dense({.units = 16, .activation = "tanh"}), Dense({.units = 3}));
}
FeatureData feature_numbers() { return feature_sums_of(5); }
FeatureData feature_classes() { return feature_classes_of(5, 3); }

template <class Rule>
Feature of_optimizer(const char* name, Rule rule) {
  return {name, feature_numbers, regression_network,
          [rule] { return ModelOptions{.optimizer = rule, .loss = MeanSquaredError()}; }};
}
Feature of_model(const char* name, Sequential (*model)()) {
  // Adam would divide what is zero but for rounding, as the gradient of a bias before a normalization, by its
  // size.
  const auto options = [] {
    return ModelOptions{.optimizer = SGD{.learning_rate = 0.01, .momentum = 0.9}, .loss = MeanSquaredError()};
  };
  return {name, feature_numbers, model, options};
}

class Attention : public Layer {
 public:
  Attention() : Layer("attention") {}
  Dense query{{.units = 4}}, key{{.units = 4}}, value{{.units = 4}};
  Tensor call(const Tensor& x) override {
    const Tensor parts = reshape(x, {x.size(0), 2, -1});
    const Tensor scores = matmul(query(parts), transpose(key(parts), {0, 2, 1}));
    return reshape(matmul(softmax(scores, -1), value(parts)), {x.size(0), 8});
  }
};

// Rows of no weight, and others.
Tensor feature_row_weights() {
  std::vector<float> out;
  for (int64_t i = 0; i < kFeatureRows; ++i) out.push_back(static_cast<float>(i % 5) / 2);
  return Tensor::of(out);
}

std::vector<Feature> device_features() {
  std::vector<Feature> out = {
      of_optimizer("SGD", SGD{.learning_rate = 0.01}),
      of_optimizer("Momentum", SGD{.learning_rate = 0.01, .momentum = 0.9}),
      of_optimizer("Nesterov", SGD{.learning_rate = 0.01, .momentum = 0.9, .nesterov = true}),
      of_optimizer("Adam", Adam{.learning_rate = 0.01}),
      of_optimizer("AdamWDecay", AdamW{.learning_rate = 0.01, .weight_decay = 0.1}),
      of_optimizer("RMSprop", RMSprop{.learning_rate = 0.01}),
      of_optimizer("Adagrad", Adagrad{.learning_rate = 0.01}),
      of_optimizer("ClipNorm", SGD{.learning_rate = 0.01, .clipnorm = 0.5}),
      of_optimizer("GlobalClipNorm", SGD{.learning_rate = 0.01, .global_clipnorm = 0.5}),
      of_optimizer("ClipValue", SGD{.learning_rate = 0.01, .clipvalue = 0.1}),
      of_optimizer("Accumulation", Adam{.learning_rate = 0.01, .gradient_accumulation_steps = 3}),
      of_optimizer("Averages", Adam{.learning_rate = 0.01, .use_ema = true, .ema_momentum = 0.9}),
      of_optimizer("Schedule",
                   SGD{.learning_rate = CosineDecay{.initial_learning_rate = 0.01, .decay_steps = 9}}),
      of_model("BatchNormalization",
               [] {
                 return Sequential(Dense({.units = 8, .use_bias = false}), BatchNormalization(),
                                   Dense({.units = 1}));
               }),
      of_model("LayerNormalization",
               [] { return Sequential(Dense({.units = 8}), LayerNormalization(), Dense({.units = 1})); }),
      of_model("Dropout",
               [] {
                 return Sequential(Dense({.units = 32, .activation = "gelu"}), Dropout(0.4),
                                   Dense({.units = 1}));
               }),
      of_model("Regularizers",
               [] {
                 return Sequential(
                     Dense({.units = 8, .kernel_regularizer = regularizers::L1L2({.l1 = 1e-3, .l2 = 1e-2})}),
                     Dense({.units = 1}));
               }),
      of_model("Attention", [] { return Sequential(Dense({.units = 8}), Attention(), Dense({.units = 1})); }),
  };
  out.push_back({"Convolution", feature_pictures,
                 [] {
                   return Sequential(Conv2D({.filters = 4, .kernel_size = {3, 3}, .activation = "relu"}),
                                     MaxPooling2D(), Flatten(), Dense({.units = 2}));
                 },
                 [] { return ModelOptions{.optimizer = Adam{}, .loss = kClassLoss}; }});
  out.push_back({"PaddedConvolution", feature_pictures,
                 [] {
                   return Sequential(
                       Conv2D({.filters = 4, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = "same"}),
                       AveragePooling2D(), GlobalAveragePooling2D(), Dense({.units = 2}));
                 },
                 [] {
                   return ModelOptions{.optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9},
                                       .loss = kClassLoss};
                 }});
  out.push_back({"Embedding", feature_words,
                 [] {
                   return Sequential(Embedding({.input_dim = 11, .output_dim = 4}), Flatten(),
                                     Dense({.units = 2}));
                 },
                 [] { return ModelOptions{.optimizer = Adam{}, .loss = kClassLoss}; }});
  out.push_back({"ClassWeights",
                 feature_classes,
                 three_way_network,
                 [] { return ModelOptions{.optimizer = Adam{}, .loss = kClassLoss}; },
                 {.class_weight = {{0, 3.0}, {2, 0.5}}}});
  out.push_back({"RowWeights",
                 feature_classes,
                 three_way_network,
                 [] { return ModelOptions{.optimizer = Adam{}, .loss = kClassLoss}; },
                 {.sample_weight = feature_row_weights()}});
  out.push_back({"Huber", feature_numbers, regression_network,
                 [] { return ModelOptions{.optimizer = Adam{}, .loss = Huber()}; }});
  out.push_back({"Metrics", feature_classes, three_way_network, [] {
                   return ModelOptions{.optimizer = Adam{},
                                       .loss = kClassLoss,
                                       .metrics = {metrics::SparseCategoricalAccuracy(),
                                                   metrics::TopKCategoricalAccuracy({.k = 2})}};
                 }});
  out.push_back({"R2AndErrors", feature_numbers, regression_network, [] {
                   return ModelOptions{.optimizer = Adam{},
                                       .loss = MeanSquaredError(),
                                       .metrics = {metrics::R2Score(), metrics::MeanAbsoluteError(),
                                                   metrics::RootMeanSquaredError()}};
                 }});
  out.push_back(
      {"CheckNumerics", feature_numbers, regression_network,
       [] { return ModelOptions{.optimizer = Adam{}, .loss = MeanSquaredError(), .check_numerics = true}; }});
  out.push_back({"Bfloat16",
                 feature_classes,
                 [] {
                   return Sequential(Dense({.units = 16, .activation = "relu", .dtype = "mixed_bfloat16"}),
                                     Dense({.units = 3, .dtype = "float32"}));
                 },
                 [] { return ModelOptions{.optimizer = Adam{}, .loss = kClassLoss}; },
                 {},
                 2e-2});
  out.push_back({"Float16LossScale",
                 feature_classes,
                 [] {
                   return Sequential(Dense({.units = 16, .activation = "relu", .dtype = "mixed_float16"}),
                                     Dense({.units = 3, .dtype = "float32"}));
                 },
                 [] {
                   return ModelOptions{.optimizer = Adam{},
                                       .loss = kClassLoss,
                                       .loss_scale = LossScale{.initial = 1024, .growth_steps = 2}};
                 },
                 {},
                 2e-2});
  return out;
}

class FeaturesOnDevice : public testing::TestWithParam<Feature> {};

double largest_distance(const Tensor& got, const Tensor& wanted) {
  // Smaller tensors are sums of larger terms that cancel, as the gradient of a convolution's bias: 5e-6 of
  // this is an absolute bound of 5e-8 on them.
  double most = 0.01, apart = 0;
  const Tensor a = convert(to(got, "cpu"), DType::kF64), b = convert(to(wanted, "cpu"), DType::kF64);
  for (size_t i = 0; i < b.data<double>().size(); ++i) {
    most = std::max(most, std::abs(b.data<double>()[i]));
    apart = std::max(apart, std::abs(a.data<double>()[i] - b.data<double>()[i]));
  }
  return apart / most;
}

std::vector<Variable> trained_state_of(Model& model) {
  std::vector<Variable> out = model.variables();
  for (const Variable& variable : model.optimizer().variables()) out.push_back(variable);
  return out;
}

Sequential compiled_feature(const Feature& feature) {
  set_seed(4);
  Sequential model = feature.model();
  model.compile(feature.options());
  return model;
}

TEST_P(FeaturesOnDevice, SlowEachStepIsTheCpus) {
  ESPALIER_NEEDS_PLUGIN();
  const Feature& feature = GetParam();
  const char* const given = std::getenv("ESPALIER_DEVICE_STEPS");
  const int steps = given ? std::atoi(given) : 6;
  const FeatureData data = feature.data();
  FitOptions fit = feature.fit;
  fit.batch_size = kFeatureRows;
  fit.shuffle = false;
  Sequential here = compiled_feature(feature), far = compiled_feature(feature);
  const auto fit_there = [&] {
    const DeviceScope scope(pjrt::test_plugin());
    return far.fit(data.x, data.y, fit);
  };
  std::vector<Logs> wanted = here.fit(data.x, data.y, fit), got = fit_there();
  for (int step = 0; step < steps; ++step) {
    const std::vector<Variable> from = trained_state_of(here), there = trained_state_of(far);
    ASSERT_EQ(from.size(), there.size());
    for (size_t i = 0; i < from.size(); ++i) Variable(there[i]).assign(from[i].read());
    const auto draw = [&] { default_generator().reset(static_cast<uint64_t>(step)); };
    draw();
    wanted = here.fit(data.x, data.y, fit);
    draw();
    got = fit_there();
    for (size_t i = 0; i < from.size(); ++i)
      ASSERT_LE(largest_distance(there[i].read(), from[i].read()), feature.tolerance)
          << "step " << step << ", " << from[i].path();
    for (const auto& [log, value] : wanted[0]) {
      // An epoch whose steps were all skipped has none.
      if (std::isnan(value) && std::isnan(got[0].at(log))) continue;
      ASSERT_NEAR(got[0].at(log), value, std::max(1.0, std::abs(value)) * std::max(feature.tolerance, 1e-5))
          << "step " << step << ", " << log;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, FeaturesOnDevice, testing::ValuesIn(device_features()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace espalier
