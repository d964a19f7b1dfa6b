#include "base/format.h"
#include "espalier/devices.h"
#include "nn/infer_outputs.h"
#include "plan/fields.h"

namespace espalier {
namespace {

const std::vector<std::string> kActivations = {"linear",   "relu",    "relu6",   "leaky_relu",
                                               "elu",      "gelu",    "silu",    "tanh",
                                               "softplus", "sigmoid", "softmax", "exponential"};
const std::vector<std::string> kInitializers = {
    "zeros",      "ones",          "constant",      "identity",         "orthogonal",      "random_uniform",
    "uniform",    "random_normal", "normal",        "truncated_normal", "glorot_uniform",  "glorot_normal",
    "he_uniform", "he_normal",     "lecun_uniform", "lecun_normal",     "variance_scaling"};
constexpr double kMostUnits = 1 << 20;

Field activation_field(std::string& target) {
  return {"activation", &target, "Activation function of the outputs", {}, kActivations};
}
Field padding_field(std::string& target) {
  return {"padding",
          &target,
          "Padding (valid = none; same = output size is input size / stride, rounded up)",
          {},
          {"valid", "same"}};
}
Field regularizer_field(const char* key, regularizers::L1L2Options& target) {
  return {
      key,
      Fields{{"l1", &target.l1, "Factor of the L1 penalty: l1 * sum(|w|) is added to the loss", at_least(0)},
             {"l2", &target.l2, "Factor of the L2 penalty: l2 * sum(w^2) is added to the loss", at_least(0)}},
      "Regularization penalty added to the loss"};
}
Field kernel_initializer_field(InitializerPlan& target) {
  return {"kernel_initializer", one_of(target), "Initializer of the kernel weights"};
}
Field bias_initializer_field(InitializerPlan& target) {
  return {"bias_initializer", one_of(target), "Initializer of the bias"};
}
Fields normal_fields(initializers::RandomNormalOptions& plan, const char* deviation) {
  return {{"mean", &plan.mean, "Mean of the distribution"}, {"stddev", &plan.stddev, deviation, at_least(0)}};
}
template <class Options>
Fields pooling_fields(Options& plan) {
  return {
      {"pool_size", &plan.pool_size, "Height and width of the pooling window", at_least(1)},
      {"strides", &plan.strides, "Stride of the window along height and width ([] = pool_size)", at_least(1)},
      padding_field(plan.padding)};
}

Regularizer make_regularizer(const regularizers::L1L2Options& plan) {
  return plan.l1 == 0 && plan.l2 == 0 ? Regularizer() : regularizers::L1L2(plan);
}

}  // namespace

template <>
struct Kind<NamedInitializer> {
  static constexpr const char* kName = "";
  static Fields fields(NamedInitializer& plan) {
    return {{"", &plan.name, "Keras initializer with its default arguments", {}, kInitializers}};
  }
};
template <>
struct Kind<ConstantPlan> {
  static constexpr const char* kName = "Constant";
  static Fields fields(ConstantPlan& plan) { return {{"value", &plan.value, "Value of every element"}}; }
};
template <>
struct Kind<IdentityPlan> {
  static constexpr const char* kName = "Identity";
  static Fields fields(IdentityPlan& plan) { return {{"gain", &plan.gain, "Factor of the identity matrix"}}; }
};
template <>
struct Kind<OrthogonalPlan> {
  static constexpr const char* kName = "Orthogonal";
  static Fields fields(OrthogonalPlan& plan) {
    return {{"gain", &plan.gain, "Factor of the orthogonal matrix"}};
  }
};
template <>
struct Kind<initializers::RandomUniformOptions> {
  static constexpr const char* kName = "RandomUniform";
  static Fields fields(initializers::RandomUniformOptions& plan) {
    return {{"minval", &plan.minval, "Lower bound of the range"},
            {"maxval", &plan.maxval, "Upper bound of the range"}};
  }
};
template <>
struct Kind<RandomNormalPlan> {
  static constexpr const char* kName = "RandomNormal";
  static Fields fields(RandomNormalPlan& plan) {
    return normal_fields(plan, "Standard deviation of the distribution");
  }
};
template <>
struct Kind<TruncatedNormalPlan> {
  static constexpr const char* kName = "TruncatedNormal";
  static Fields fields(TruncatedNormalPlan& plan) {
    return normal_fields(plan,
                         "Standard deviation of the distribution before truncation at 2 standard deviations");
  }
};
template <>
struct Kind<initializers::VarianceScalingOptions> {
  static constexpr const char* kName = "VarianceScaling";
  static Fields fields(initializers::VarianceScalingOptions& plan) {
    return {{"scale", &plan.scale, "Scale of the variance, which is scale / fan", above(0)},
            {"mode",
             &plan.mode,
             "Fan that divides the scale: inputs (fan_in), outputs (fan_out) or their average (fan_avg)",
             {},
             {"fan_in", "fan_out", "fan_avg"}},
            {"distribution",
             &plan.distribution,
             "Distribution of the values",
             {},
             {"truncated_normal", "untruncated_normal", "uniform"}}};
  }
};

OneOf one_of(InitializerPlan& plan) {
  return one_of_variant("type", plan, [&plan] { make_initializer(plan); });
}

Initializer make_initializer(const InitializerPlan& plan) {
  namespace all = initializers;
  struct Make {
    Initializer operator()(const NamedInitializer& x) const { return x.name; }
    Initializer operator()(const ConstantPlan& x) const { return all::Constant(x.value); }
    Initializer operator()(const IdentityPlan& x) const { return all::Identity(x.gain); }
    Initializer operator()(const OrthogonalPlan& x) const { return all::Orthogonal(x.gain); }
    Initializer operator()(const all::RandomUniformOptions& x) const { return all::RandomUniform(x); }
    Initializer operator()(const RandomNormalPlan& x) const { return all::RandomNormal(x); }
    Initializer operator()(const TruncatedNormalPlan& x) const { return all::TruncatedNormal(x); }
    Initializer operator()(const all::VarianceScalingOptions& x) const { return all::VarianceScaling(x); }
  };
  return std::visit(Make{}, plan);
}

template <>
struct Kind<DensePlan> {
  static constexpr const char* kName = "Dense";
  static Fields fields(DensePlan& plan) {
    return {{.key = "units",
             .target = &plan.units,
             .meaning = "Number of output units",
             .range = between(1, kMostUnits),
             .required = true},
            activation_field(plan.activation),
            {"use_bias", &plan.use_bias, "Add a bias vector"},
            kernel_initializer_field(plan.kernel_initializer),
            bias_initializer_field(plan.bias_initializer),
            regularizer_field("kernel_regularizer", plan.kernel_regularizer),
            regularizer_field("bias_regularizer", plan.bias_regularizer)};
  }
};
template <>
struct Kind<DropoutPlan> {
  static constexpr const char* kName = "Dropout";
  static Fields fields(DropoutPlan& plan) {
    return {{.key = "rate",
             .target = &plan.rate,
             .meaning = "Probability that an input element is dropped (set to 0) during training",
             .range = {.low = 0, .high = 1, .open_high = true},
             .required = true}};
  }
};
template <>
struct Kind<BatchNormalizationOptions> {
  static constexpr const char* kName = "BatchNormalization";
  static Fields fields(BatchNormalizationOptions& plan) {
    return {
        {"axis", &plan.axis, "Axis of the features (-1 = last)"},
        {"momentum", &plan.momentum,
         "Momentum of the moving averages: share of the old value kept per step (0.9 is better for runs of "
         "less than a few hundred steps)",
         between(0, 1)},
        {"epsilon", &plan.epsilon, "Constant added to the variance, for numerical stability", at_least(0)},
        {"synchronized", &plan.synchronized,
         "Compute batch statistics over the rows of all devices or workers of a strategy, not of each one "
         "alone"}};
  }
};
template <>
struct Kind<LayerNormalizationOptions> {
  static constexpr const char* kName = "LayerNormalization";
  static Fields fields(LayerNormalizationOptions& plan) {
    return {
        {"axis", &plan.axis, "Axes normalized together (-1 = last; 0, the batch axis, is not allowed)"},
        {"epsilon", &plan.epsilon, "Constant added to the variance, for numerical stability", at_least(0)},
        {"center", &plan.center, "Add an offset beta"},
        {"scale", &plan.scale, "Multiply by a scale gamma"}};
  }
};
template <>
struct Kind<ActivationPlan> {
  static constexpr const char* kName = "Activation";
  static Fields fields(ActivationPlan& plan) {
    return {{.key = "activation",
             .target = &plan.activation,
             .meaning = "Activation function",
             .choices = kActivations,
             .required = true}};
  }
};
template <>
struct Kind<ReLUOptions> {
  static constexpr const char* kName = "ReLU";
  static Fields fields(ReLUOptions& plan) {
    return {{"max_value", &plan.max_value, "Maximum output (inf = unbounded)", at_least(0)},
            {"negative_slope", &plan.negative_slope, "Slope for inputs up to the threshold", at_least(0)},
            {"threshold", &plan.threshold, "Input up to which the output is negative_slope * (x - threshold)",
             at_least(0)}};
  }
};
template <>
struct Kind<FlattenPlan> {
  static constexpr const char* kName = "Flatten";
  static Fields fields(FlattenPlan&) { return {}; }
};
template <>
struct Kind<ReshapePlan> {
  static constexpr const char* kName = "Reshape";
  static Fields fields(ReshapePlan& plan) {
    return {{.key = "target_shape",
             .target = &plan.target_shape,
             .meaning = "Output shape of each row, without the batch axis; one size may be -1 (inferred)",
             .range = between(-1, 1 << 30),
             .required = true}};
  }
};
template <>
struct Kind<Conv2DPlan> {
  static constexpr const char* kName = "Conv2D";
  static Fields fields(Conv2DPlan& plan) {
    return {{.key = "filters",
             .target = &plan.filters,
             .meaning = "Number of filters (output channels)",
             .range = between(1, kMostUnits),
             .required = true},
            {"kernel_size", &plan.kernel_size, "Height and width of the convolution window", at_least(1)},
            {"strides", &plan.strides, "Stride of the window along height and width", at_least(1)},
            padding_field(plan.padding),
            activation_field(plan.activation),
            {"use_bias", &plan.use_bias, "Add a bias vector"},
            kernel_initializer_field(plan.kernel_initializer),
            bias_initializer_field(plan.bias_initializer),
            regularizer_field("kernel_regularizer", plan.kernel_regularizer),
            regularizer_field("bias_regularizer", plan.bias_regularizer)};
  }
};
template <>
struct Kind<MaxPooling2DOptions> {
  static constexpr const char* kName = "MaxPooling2D";
  static Fields fields(MaxPooling2DOptions& plan) { return pooling_fields(plan); }
};
template <>
struct Kind<AveragePooling2DOptions> {
  static constexpr const char* kName = "AveragePooling2D";
  static Fields fields(AveragePooling2DOptions& plan) { return pooling_fields(plan); }
};
template <>
struct Kind<GlobalAveragePooling2DOptions> {
  static constexpr const char* kName = "GlobalAveragePooling2D";
  static Fields fields(GlobalAveragePooling2DOptions& plan) {
    return {{"keepdims", &plan.keepdims, "Keep height and width as axes of size 1"}};
  }
};

OneOf one_of(LayerPlan& plan) {
  return one_of_variant("type", plan, [&plan] {
    Sequential alone;
    add_layer(alone, plan, "float32");
  });
}

namespace {

struct AddLayer {
  Sequential& model;
  const DTypePolicy& dtype;
  void operator()(const DensePlan& x) const {
    model.add(Dense({.units = x.units,
                     .activation = x.activation,
                     .use_bias = x.use_bias,
                     .kernel_initializer = make_initializer(x.kernel_initializer),
                     .bias_initializer = make_initializer(x.bias_initializer),
                     .kernel_regularizer = make_regularizer(x.kernel_regularizer),
                     .bias_regularizer = make_regularizer(x.bias_regularizer),
                     .dtype = dtype}));
  }
  void operator()(const Conv2DPlan& x) const {
    model.add(Conv2D({.filters = x.filters,
                      .kernel_size = x.kernel_size,
                      .strides = x.strides,
                      .padding = x.padding,
                      .activation = x.activation,
                      .use_bias = x.use_bias,
                      .kernel_initializer = make_initializer(x.kernel_initializer),
                      .bias_initializer = make_initializer(x.bias_initializer),
                      .kernel_regularizer = make_regularizer(x.kernel_regularizer),
                      .bias_regularizer = make_regularizer(x.bias_regularizer),
                      .dtype = dtype}));
  }
  void operator()(const DropoutPlan& x) const { model.add(Dropout(x.rate, "dropout", dtype)); }
  void operator()(const ActivationPlan& x) const { model.add(Activation(x.activation, dtype)); }
  void operator()(const FlattenPlan&) const { model.add(Flatten(dtype)); }
  void operator()(const ReshapePlan& x) const { model.add(Reshape(x.target_shape, "reshape", dtype)); }
  void operator()(const BatchNormalizationOptions& x) const { add<BatchNormalization>(x); }
  void operator()(const LayerNormalizationOptions& x) const { add<LayerNormalization>(x); }
  void operator()(const ReLUOptions& x) const { add<ReLU>(x); }
  void operator()(const MaxPooling2DOptions& x) const { add<MaxPooling2D>(x); }
  void operator()(const AveragePooling2DOptions& x) const { add<AveragePooling2D>(x); }
  void operator()(const GlobalAveragePooling2DOptions& x) const { add<GlobalAveragePooling2D>(x); }
  template <class L, class Options>
  void add(Options options) const {
    options.dtype = dtype;
    model.add(L(options));
  }
};

}  // namespace

void add_layer(Sequential& model, const LayerPlan& plan, const DTypePolicy& dtype) {
  std::visit(AddLayer{model, dtype}, plan);
}

void check_layers(const TrainPlan& plan, const Dims& row) {
  const DeviceScope here("cpu");  // nothing is computed
  std::vector<TensorType> types{{DType::kF32, {kInferredRows}}};
  for (const int64_t size : row) types[0].shape.push_back(size);
  for (size_t i = 0; i < plan.model.layers.size() && !types.empty(); ++i) {
    const std::string path = cat("model.layers[", i, "]");
    said_at(plan, path, [&] {
      LayerPlan layer = plan.model.layers[i];
      Sequential alone;
      add_layer(alone, layer, policy_of(plan.fit.dtype));
      try {
        types = infer_outputs(alone, types);
      } catch (const Error& error) {
        const OneOf kind = one_of(layer);
        throw ValueError(error.rule(),
                         cat(path, " (", kind.names[kind.index()], "), on a batch of ", kInferredRows,
                             " rows: ", error.message()),
                         error.fix());
      }
    });
  }
  if (types.empty() || types[0].rank() == 2) return;
  said_at(plan, "model.layers", [&] {
    throw ValueError("plan.layers",
                     cat("the Dense layer that fits the label takes [rows, numbers], and model.layers give ",
                         types[0], " of ", kInferredRows, " rows"),
                     "end them with type = \"Flatten\"");
  });
}

std::vector<LayerPlan> hidden_layers(const std::vector<int64_t>& units, bool images) {
  constexpr double kDropout = 0.1;
  std::vector<LayerPlan> out;
  if (images) out.emplace_back(FlattenPlan{});
  for (const int64_t n : units) {
    DensePlan dense{.units = n, .activation = "relu"};
    if (!images) dense.kernel_initializer = NamedInitializer{"he_normal"};
    out.emplace_back(dense);
    if (!images) out.emplace_back(DropoutPlan{kDropout});
  }
  return out;
}

}  // namespace espalier
