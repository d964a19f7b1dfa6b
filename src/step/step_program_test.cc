// The program of a step of training: what each rewrite makes of it, and that it is the step.
#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "ir/sink.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "text/text.h"

namespace espalier {
namespace {

using Names = std::vector<std::string>;

Names names_of(const auto& list) {
  Names out;
  for (const auto& each : list) out.push_back(each.name);
  return out;
}
bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class StepPrograms : public testing::Test {
 protected:
  StepPrograms() {
    set_seed(4);
    x = Generator(1).normal({6, 3});
    y = Tensor::of<int32_t>({0, 1, 2, 1, 0, 2});
  }
  Sequential model(ModelOptions options = {}) const {
    set_seed(5);
    Sequential out{Dense({.units = 4, .activation = "tanh", .name = "first"}),
                   BatchNormalization({.name = "norm"}), Dropout(0.5), Dense({.units = 3, .name = "last"})};
    options.loss = SparseCategoricalCrossentropy({.from_logits = true});
    options.metrics = {"accuracy"};
    out.compile(options);
    return out;
  }
  std::shared_ptr<const Graph> after(Sequential& model, const std::string& name) const {
    return parse_program(model.step_program(x, y, name), name);
  }
  Tensor x, y;
};

TEST_F(StepPrograms, EachRewriteAddsItsPart) {
  Sequential model = this->model({.check_numerics = true});
  const auto inputs = [&](const char* name) { return names_of(after(model, name)->inputs()); };
  const auto outputs = [&](const char* name) { return names_of(after(model, name)->outputs()); };
  const Names forward_in = inputs("trace"), forward_out = outputs("trace");
  EXPECT_EQ(Names(forward_in.begin(), forward_in.begin() + 3), (Names{"x", "y", "row_weight"}));
  EXPECT_EQ(Names(forward_out.begin(), forward_out.begin() + 3), (Names{"loss_sum", "loss_weight", "loss"}));
  EXPECT_TRUE(has(forward_out, "observation/sequential/norm/moving_mean"));
  EXPECT_TRUE(has(forward_out, "observation/metrics/accuracy/total"));
  EXPECT_TRUE(has(outputs("fold_observations"), "sequential/norm/moving_mean"));
  EXPECT_TRUE(has(outputs("fold_observations"), "metrics/accuracy/total"));
  EXPECT_FALSE(has(forward_in, "seed") || has(forward_out, "gradient/sequential/first/kernel"));

  EXPECT_TRUE(has(inputs("add_gradients"), "seed"));
  for (const char* variable :
       {"first/kernel", "first/bias", "norm/gamma", "norm/beta", "last/kernel", "last/bias"})
    EXPECT_TRUE(has(outputs("add_gradients"), cat("gradient/sequential/", variable))) << variable;
  EXPECT_FALSE(has(outputs("add_gradients"), "sequential/first/kernel"));

  EXPECT_FALSE(has(inputs("update"), "seed"));
  EXPECT_TRUE(has(outputs("update"), "sequential/first/kernel"));
  EXPECT_TRUE(has(outputs("check_numerics"), "not_finite"));
  const Names kept = outputs("keep_results");
  EXPECT_EQ(kept.front(), "not_finite");
  EXPECT_FALSE(has(kept, "loss") || has(kept, "gradient/sequential/first/kernel"));
  EXPECT_EQ(model.step_program(x, y), model.step_program(x, y, "keep_results"));
  EXPECT_NE(model.step_program(x, y, "dce"), model.step_program(x, y));
  EXPECT_EQ(rule_of([&] { model.step_program(x, y, "gradients"); }), "function.after");
  EXPECT_EQ(rule_of([&] { Sequential{Dense({.units = 1})}.step_program(x, y); }), "step_program.compile");
}

TEST_F(StepPrograms, ALossScaleAddsWhatIsSkipped) {
  Sequential model = this->model({.loss_scale = LossScale{}});
  EXPECT_TRUE(has(names_of(after(model, "update")->outputs()), "skipped"));
  EXPECT_FALSE(has(names_of(after(model, "add_gradients")->outputs()), "skipped"));
}

// Run by hand from the variables before a step, the program gives them as they are behind it.
TEST_F(StepPrograms, IsTheStep) {
  for (const bool checks : {false, true}) {
    Sequential model =
        this->model({.optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9}, .check_numerics = checks});
    model.train_on_batch(x, y);
    const auto program = after(model, "");
    std::map<std::string, Variable> variables;
    const std::vector<Variable> random{default_generator().key_variable(),
                                       default_generator().step_variable()};
    for (const std::vector<Variable>& list : {model.variables(), model.optimizer().variables(), random}) {
      for (const Variable& variable : list) variables.emplace(variable.path(), variable);
    }
    std::vector<Literal> inputs;
    for (const GraphInput& input : program->inputs()) {
      const TensorType& type = program->type(input.value);
      const auto at = variables.find(input.name);
      const Tensor value = input.name == "x"            ? x
                           : input.name == "y"          ? y
                           : input.name == "row_weight" ? full({6}, 1)
                           : at != variables.end()      ? at->second.read()
                                                        : full(type.shape, 0, type.dtype);
      inputs.push_back(value.node()->dense());
    }
    const std::vector<Literal> outputs = run(*compile(optimize(program)), inputs, RunContext::current());
    model.train_on_batch(x, y);
    int compared = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto at = variables.find(program->outputs()[i].name);
      if (at == variables.end() || at->second.dtype() != DType::kF32) continue;
      EXPECT_EQ(make_concrete(outputs[i]).to_vector<float>(), at->second.read().to_vector<float>())
          << at->first;
      ++compared;
    }
    EXPECT_GE(compared, 14);
  }
}

// The first half of a step alone: gradients by name, weighed by the seed, and sum and weight of the loss.
TEST_F(StepPrograms, GradientsAreWeighedByTheSeed) {
  Sequential model{Dense({.units = 3, .name = "only"})};
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {}});
  model.predict(x);
  const auto program = after(model, "add_gradients");
  const Tensor weights = Tensor::of<float>({1, 2, 0, 0.5f, 1, 1});
  std::vector<Literal> inputs;
  for (const GraphInput& input : program->inputs()) {
    const TensorType& type = program->type(input.value);
    Tensor value = full(type.shape, 0, type.dtype);
    if (input.name == "x") value = x;
    if (input.name == "y") value = y;
    if (input.name == "row_weight") value = weights;
    if (input.name == "seed") value = full({}, 4);
    for (const Variable& variable : model.variables()) {
      if (variable.path() == input.name) value = variable.read();
    }
    inputs.push_back(value.node()->dense());
  }
  const std::vector<Literal> outputs = run(*compile(optimize(program)), inputs, RunContext::current());
  const auto named = [&](const std::string& name) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (program->outputs()[i].name == name) return make_concrete(outputs[i]);
    }
    throw InternalError(name);
  };
  // In double, written out: p - onehot(y), by rows.
  const Tensor x64 = convert(x, DType::kF64);
  const auto of = [&](const char* name) {
    for (const Variable& variable : model.variables()) {
      if (variable.path().ends_with(name)) return convert(variable.read(), DType::kF64);
    }
    throw InternalError(name);
  };
  const Tensor logits = matmul(x64, of("kernel")) + of("bias"), p = softmax(logits, -1);
  const Tensor right = convert(one_hot(y, 3), DType::kF64);
  const Tensor w = reshape(convert(weights, DType::kF64), {6, 1});
  const Tensor slope = (p - right) * w * 4;
  const auto near = [](const Tensor& a, const Tensor& b) {
    const auto found = convert(a, DType::kF64).to_vector<double>(), wanted = b.to_vector<double>();
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 2e-6 * (1 + std::abs(wanted[i])));
  };
  const std::string layer = "gradient/" + model.path() + "/only/";
  near(named(layer + "kernel"), matmul(transpose(x64), slope));
  near(named(layer + "bias"), sum(slope, 0));
  near(named("loss_sum"), sum(sum(-right * log(p) * w, 1), 0));
  near(named("loss_weight"), full({}, 5.5, DType::kF64));
}

}  // namespace
}  // namespace espalier
