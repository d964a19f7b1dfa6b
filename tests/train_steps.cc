#include "train_steps.h"

#include <cmath>
#include <map>

#include "espalier/espalier.h"
#include "ir/sink.h"

namespace espalier {
namespace {

Tensor train_steps_waves(const Shape& shape, double factor) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * factor));
  return Tensor::of(values, shape);
}

Tensor classes(int64_t count, int32_t bound) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i * 7 % static_cast<size_t>(bound));
  return Tensor::of(values, {count});
}

// The graph of one step of `model`, after a first call has built its variables.
StepProgram program(const std::string& name, Layer& model, const Optimizer& given, const Tensor& x,
                    const Tensor& y) {
  Optimizer optimizer = given;
  auto step = function([&](const Tensor& images, const Tensor& labels) {
    TrainingScope training(true);
    GradientTape tape;
    const Tensor logits = convert(model(images), DType::kF32);
    const Tensor loss =
        reduce_sum(softmax_cross_entropy(logits, labels), {0}) / static_cast<double>(labels.size(0));
    const std::vector<Variable> weights = model.trainable_variables();
    optimizer.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  step(x, y);
  std::map<std::string, Variable> variables;
  for (const auto& list : {model.variables(),
                           optimizer.variables(),
                           {default_generator().key_variable(), default_generator().step_variable()}}) {
    for (const Variable& variable : list) variables.emplace(variable.path(), variable);
  }
  const std::vector<Tensor> arguments{x, y};
  StepProgram out{name, step.graph(arguments), {}};
  for (const GraphInput& input : out.graph->inputs()) {
    const Tensor value =
        input.kind == InputKind::kArgument ? arguments[out.inputs.size()] : variables.at(input.name).read();
    out.inputs.push_back(value.node()->dense());
  }
  return out;
}

}  // namespace

std::vector<StepProgram> train_steps() {
  set_seed(4);
  std::vector<StepProgram> out;
  {
    Sequential model{Dense({.units = 16, .activation = "gelu"}), Dropout(0.3), Dense({.units = 5})};
    out.push_back(program("mlp", model, Adam{}, train_steps_waves({6, 10}, 0.7), classes(6, 5)));
  }
  {
    Sequential model{Conv2D({.filters = 4, .padding = "same", .use_bias = false}),
                     BatchNormalization(),
                     Activation("relu"),
                     MaxPooling2D(),
                     Conv2D({.filters = 3, .strides = {2, 2}}),
                     Flatten(),
                     Dense({.units = 5})};
    out.push_back(program("cnn", model, SGD{.learning_rate = 0.05, .momentum = 0.9},
                          train_steps_waves({4, 9, 8, 2}, 0.3), classes(4, 5)));
  }
  {
    Sequential model{Embedding({.input_dim = 11, .output_dim = 6}), Flatten(),
                     Dense({.units = 8, .activation = "tanh"}), Dense({.units = 5})};
    const Tensor ids = reshape(classes(20, 11), {5, 4});
    out.push_back(program("embedding", model, Adam{.weight_decay = 0.01}, ids, classes(5, 5)));
  }
  {
    const DTypePolicy mixed = "mixed_bfloat16";
    Sequential model{Conv2D({.filters = 4, .activation = "relu", .dtype = mixed}),
                     BatchNormalization({.dtype = mixed}), Flatten(mixed),
                     Dense({.units = 8, .activation = "tanh", .dtype = mixed}),
                     Dense({.units = 5, .dtype = "float32"})};
    out.push_back(program("mixed", model, Adam{}, train_steps_waves({4, 6, 5, 2}, 0.3), classes(4, 5)));
    // A sum that rounds to the other neighbour is 2^-8 away.
    out.back().tolerance = 2e-2;
  }
  return out;
}

StepProgram large_train_step() {
  set_seed(4);
  Sequential model{Dense({.units = 512, .activation = "relu"}), Dense({.units = 10})};
  return program("large", model, Adam{}, train_steps_waves({256, 784}, 0.7), classes(256, 10));
}

}  // namespace espalier
