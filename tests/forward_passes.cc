#include "forward_passes.h"

#include <cmath>

#include "base/format.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/pooling.h"
#include "espalier/variable.h"

namespace espalier {
namespace {

// Smooth numbers in [-1, 1] that no two neighbours share; integers in [0, 9].
Tensor numbers(const TensorType& type, double frequency = 0.7) {
  std::vector<double> values(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const double wave = std::sin(frequency * static_cast<double>(i) + 0.3);
    values[i] = is_float(type.dtype) ? wave : std::floor(5 * (wave + 0.999));
  }
  return convert(Tensor::of(values, type.shape), type.dtype);
}

Literal literal(const Tensor& tensor) { return tensor.node()->dense(); }

using Body = std::function<Tensor(const Tensor&)>;

// `example`: the type of the argument for one example, without the axis of examples.
ForwardPass forward_pass(const std::string& name, const TensorType& example, const Body& body) {
  const auto argument = [example](int64_t batch) {
    TensorType type = example;
    type.shape.insert(0, batch);
    return numbers(type);
  };
  ForwardPass out;
  out.name = name;
  out.graph = [body, argument](int64_t batch) {
    const auto traced = function([body](Tensor x) { return body(x); });
    const Tensor arguments[] = {argument(batch)};
    return traced.graph(arguments);
  };
  out.arguments = [argument](int64_t batch) { return std::vector<Literal>{literal(argument(batch))}; };
  return out;
}

// Weights are set to numbers that are not their initial values.
ForwardPass of_layer(const std::string& name, const TensorType& example, std::shared_ptr<Layer> layer) {
  ForwardPass out = forward_pass(name, example, [layer](const Tensor& x) { return (*layer)(x); });
  out.graph(2);
  double frequency = 0.31;
  for (Variable variable : layer->variables()) {
    const Tensor wave = numbers(variable.type(), frequency += 0.13);
    // Variances are positive.
    const bool variance = variable.path().find("variance") != std::string::npos;
    variable.assign(variance ? wave * 0.4 + 1 : wave * 0.5);
    out.variables.emplace(variable.path(), literal(variable.read()));
  }
  return out;
}

struct Averaged : Layer {
  Averaged()
      : Layer("averaged"),
        lookup_({.input_dim = 10, .output_dim = 6}),
        dense_({.units = 4, .activation = "tanh"}) {}
  Tensor call(const Tensor& x) override { return dense_(mean(lookup_(x), 1)); }
  Embedding lookup_;
  Dense dense_;
};

struct Normalized : Layer {
  Normalized() : Layer("normalized") {}
  void build(const TensorType& input) override {
    add_weight("gamma", {input.shape.back()}, initializer("ones"));
    add_weight("beta", {input.shape.back()}, initializer("zeros"));
  }
  Tensor call(const Tensor& x) override { return layer_normalization(x, weight("gamma"), weight("beta")); }
};

struct TwoHeads : Layer {
  TwoHeads()
      : Layer("two_heads"),
        query_({.units = 8}),
        key_({.units = 8}),
        value_({.units = 8}),
        out_({.units = 3}) {}
  Tensor call(const Tensor& x) override {
    const int64_t batch = x.size(0), length = x.size(1);
    const auto heads = [&](const Tensor& t) {
      return transpose(reshape(t, {batch, length, 2, 4}), {0, 2, 1, 3});
    };
    const Tensor mixed = attention(heads(query_(x)), heads(key_(x)), heads(value_(x)), {.causal = true});
    return out_(reshape(transpose(mixed, {0, 2, 1, 3}), {batch, length, 8}));
  }
  Dense query_, key_, value_, out_;
};

Tensor pooled(const Tensor& x) {
  const PoolOptions options{.window = {1, 3, 2, 1},
                            .strides = {1, 2, 2, 1},
                            .padding_low = {0, 1, 0, 0},
                            .padding_high = {0, 1, 1, 0}};
  const Tensor both = concatenate({max_pool(x, options), average_pool(x, options), min_pool(x, options)}, 3);
  const Tensor sides =
      pad(reverse(slice(both, {0, 0, 1, 0}, {x.size(0), 3, 3, 6}), {1}), 0.5, {0, 1, 0, 0}, {0, 0, 2, 0});
  return reduce_max(sides, {1}) - reduce_sum(sides, {1}) * 0.1;
}

// Every elementwise op that ONNX has, one behind the other, where it is smooth.
Tensor elementwise_zoo(const Tensor& x) {
  const Tensor positive = x * x + 0.5, inside = x * 0.9;
  std::vector<Tensor> out{abs(x),
                          ceil(x * 3),
                          cosine(x),
                          exponential(x),
                          floor(x * 3),
                          log(positive),
                          logistic(x),
                          negate(x),
                          round_nearest_even(x * 4),
                          rsqrt(positive),
                          sign(x),
                          sine(x),
                          sqrt(positive),
                          tan(x),
                          tanh(x),
                          exponential_minus_one(x),
                          log_plus_one(positive),
                          acos(inside),
                          acosh(positive + 1),
                          asin(inside),
                          asinh(x),
                          atan(x),
                          atanh(inside),
                          cosh(x),
                          sinh(x),
                          erf(x),
                          erfc(x),
                          elu(x, 0.7),
                          gelu(x),
                          gelu(x, true),
                          leaky_relu(x, 0.3),
                          relu(x),
                          relu6(x * 9),
                          silu(x),
                          softplus(x),
                          square(x),
                          clamp(-0.5, x, 0.5),
                          power(positive, x),
                          remainder(x * 5, positive),
                          maximum(x, 0.1),
                          minimum(x, 0.1),
                          x / positive,
                          x - 2,
                          log_softmax(x),
                          softmax(x, 0),
                          cumsum(x, 1),
                          cumsum(x, 1, true)};
  const auto flag = [&](const Tensor& condition) { out.push_back(convert(condition, DType::kF32)); };
  for (const Comparison direction :
       {Comparison::kEQ, Comparison::kNE, Comparison::kGE, Comparison::kGT, Comparison::kLE, Comparison::kLT})
    flag(compare(x, 0.3, direction));
  const Tensor low = x<0.2, high = x> - 0.2;
  flag(low & high);
  flag(low | ~high);
  flag(low ^ high);
  flag(is_finite(x / 0));
  out.push_back(select(low, x, positive));
  out.push_back(convert(convert(x * 9, DType::kI32), DType::kF32));
  out.push_back(broadcast_to(reshape(convert(argmax(x, 1), DType::kF32), {x.size(0), 1}), x.shape()));
  out.push_back(broadcast_in_dim(reduce_min(x, {1}), x.shape(), {0}));
  out.push_back(broadcast_in_dim(reduce_prod(x, {1}), x.shape(), {0}));
  out.push_back(broadcast_in_dim(logsumexp(x, 1), x.shape(), {0}));
  out.push_back(convert(iota({DType::kI32, x.shape()}, 0), DType::kF32) * 0.01);
  out.push_back(one_hot(argmin(x, 1), x.size(1)));
  out.push_back(convert(broadcast_in_dim(reduce_or(low, {1}), x.shape(), {0}), DType::kF32));
  return concatenate(out, 1);
}

}  // namespace

std::vector<Literal> ForwardPass::inputs(int64_t batch) const {
  const auto program = graph(batch);
  const std::vector<Literal> given = arguments(batch);
  std::vector<Literal> out;
  size_t next = 0;
  for (const GraphInput& input : program->inputs())
    out.push_back(input.kind == InputKind::kArgument ? given[next++] : variables.at(input.name));
  return out;
}

std::vector<ForwardPass> forward_passes() {
  set_seed(1);
  return {
      of_layer("mlp", {DType::kF32, {5}},
               std::make_shared<Sequential>(Sequential{Dense({.units = 16, .activation = "relu"}),
                                                       Dense({.units = 8, .activation = "gelu"}),
                                                       Dense({.units = 3, .activation = "softmax"})})),
      of_layer("cnn", {DType::kF32, {8, 8, 3}},
               std::make_shared<Sequential>(Sequential{
                   Conv2D({.filters = 4, .kernel_size = {3, 3}, .padding = "same", .activation = "relu"}),
                   BatchNormalization(), MaxPooling2D(),
                   Conv2D({.filters = 6, .kernel_size = {3, 2}, .strides = {1, 2}}), Activation("tanh"),
                   Flatten(), Dense({.units = 5})})),
      forward_pass("elementwise", {DType::kF32, {5}}, elementwise_zoo),
      forward_pass("pooling", {DType::kF32, {6, 6, 2}}, pooled),
      of_layer("embedding", {DType::kI32, {7}}, std::make_shared<Averaged>()),
      of_layer("layer_norm", {DType::kF32, {4, 6}}, std::make_shared<Normalized>()),
      of_layer("attention", {DType::kF32, {5, 8}}, std::make_shared<TwoHeads>()),
  };
}

}  // namespace espalier
