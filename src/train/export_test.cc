#include "train/export.h"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"
#include "format/onnx.h"
#include "interp/interpreter.h"
#include "passes/bind_variables.h"
#include "passes/pass.h"
#include "text/c.h"
#include "text/compiled_c_test.h"
#include "text/text.h"
#include "train/program.h"

namespace espalier {
namespace {

LoadedModel saved_and_loaded(Model& model, const Tensor& x, const std::string& name) {
  model.compile();
  const Tensor classes = argmax(slice(x, {0, 0}, {x.size(0), 3}), 1);
  model.fit(x, classes, {.epochs = 1, .batch_size = x.size(0)});
  const auto folder = std::filesystem::path(testing::TempDir()) / cat("espalier-export-", name);
  std::filesystem::remove_all(folder);
  model.save(folder.string());
  LoadedModel loaded = load_model(folder.string());
  std::filesystem::remove_all(folder);
  return loaded;
}

Sequential classifier() {
  return Sequential{Dense({.units = 8, .activation = "relu"}), BatchNormalization(), Dropout(0.3),
                    Dense({.units = 3})};
}

void expect_near(const Literal& got, const Tensor& wanted) {
  ASSERT_EQ(got.type(), wanted.type());
  const Literal dense = got.expanded();
  const auto expected = wanted.data<float>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(dense.view().as<float>()[i], expected[i], 1e-5);
}

// Values of a program's inputs: the rows, and variables where it has some.
std::vector<Literal> inputs_of(const Graph& graph, const std::map<std::string, Literal>& variables,
                               const Tensor& x) {
  std::vector<Literal> out;
  for (const GraphInput& input : graph.inputs())
    out.push_back(input.kind == InputKind::kVariable ? variables.at(input.name) : x.node()->dense());
  return out;
}

TEST(Export, ASavedModelBecomesAnOnnxModelOfAnyBatchSize) {
  set_seed(2);
  Sequential model = classifier();
  LoadedModel loaded = saved_and_loaded(model, Generator(1).normal({50, 6}), "onnx");
  const std::string bytes = model_onnx(loaded);
  for (const int64_t batch : {1, 7, 64}) {
    const Tensor x = Generator(2).normal({batch, 6});
    const OnnxProgram program =
        parse_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), {.sizes = {{"N", batch}}});
    expect_near(
        interpret(*program.graph, inputs_of(*program.graph, program.variables, x), RunContext::current())[0],
        model.predict(x));
  }
}

TEST(Export, ASavedModelBecomesStablehloWithItsWeightsInsideOrAsArguments) {
  set_seed(2);
  Sequential model = classifier();
  LoadedModel loaded = saved_and_loaded(model, Generator(1).normal({50, 6}), "stablehlo");
  const Tensor x = Generator(2).normal({5, 6});
  std::map<std::string, Literal> weights;
  for (const Variable& variable : loaded.variables())
    weights.emplace(relative(variable.path(), loaded.path()), variable.read().node()->dense());
  for (const bool as_arguments : {false, true}) {
    const std::string text = model_stablehlo(loaded, {.batch = 5, .weights_as_arguments = as_arguments});
    EXPECT_EQ(text.find("composite"), std::string::npos);
    const auto graph = parse_program(text);
    EXPECT_EQ(graph->inputs().size() > 1, as_arguments);
    expect_near(interpret(*graph, inputs_of(*graph, weights, x), RunContext::current())[0], model.predict(x));
  }
}

TEST(Export, ASavedConvolutionalModelBecomesC) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  set_seed(2);
  Sequential model{Conv2D({.filters = 6, .activation = "relu"}),
                   MaxPooling2D(),
                   Conv2D({.filters = 8, .padding = "same", .activation = "relu"}),
                   BatchNormalization(),
                   AveragePooling2D(),
                   Flatten(),
                   Dense({.units = 3})};
  model.compile();
  std::vector<int32_t> classes(60);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int32_t>(i % 3);
  model.fit(Generator(1).normal({60, 14, 14, 1}), Tensor::of(classes, {60}), {.epochs = 2, .batch_size = 20});
  const std::string folder = testing::TempDir() + "/export-convolutions";
  std::filesystem::remove_all(folder);
  model.save(folder);
  LoadedModel loaded = load_model(folder);
  std::filesystem::remove_all(folder);
  const TracedModel traced = trace_for_export(loaded, 1);
  const auto graph = optimize(bind_variables(*traced.graph, values_of(traced.variables)));
  const CompiledC compiled(*graph, print_c(*graph));
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Tensor x = Generator(seed).normal({1, 14, 14, 1});
    expect_near(compiled({x.node()->dense()})[0], model.predict(x));
  }
}

TEST(Export, NamesOfInputsAndOutputsAreTheModels) {
  set_seed(2);
  const Placeholder left = Input({2}, {.name = "left"}), right = Input({2}, {.name = "right"});
  Functional model({left, right},
                   {connect(Dense({.units = 3, .name = "cls"}), connect(Add(), {left, right}))});
  const std::string folder = fresh_folder("export-names");
  model({full({2, 2}, 1), full({2, 2}, 1)});
  model.save(folder + "/model");
  LoadedModel loaded = load_model(folder + "/model");
  const std::string bytes = model_onnx(loaded);
  const OnnxProgram program =
      parse_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), {.sizes = {{"N", 1}}});
  std::vector<std::string> names;
  for (const GraphInput& input : program.graph->inputs()) {
    if (input.kind == InputKind::kArgument) names.push_back(input.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(program.graph->outputs()[0].name, "cls");
  const TracedModel traced = trace_for_export(loaded, 1);
  const CExport code =
      print_c(*bind_variables(*traced.graph, values_of(traced.variables)), {}, {.name = "net"});
  EXPECT_NE(code.header.find(" * input_1: f32[1,2] \"right\"\n * output: f32[1,3] \"cls\"\n"),
            std::string::npos)
      << code.header;
}

TEST(Export, IsAFunctionOfTheModelAlone) {
  Sequential first = classifier(), second = classifier();
  const Tensor x = Generator(1).normal({5, 6});
  LoadedModel one = saved_and_loaded(first, x, "first");
  second.predict(x);
  ASSERT_NE(first.path(), second.path());
  for (size_t i = 0; i < first.variables().size(); ++i)
    second.variables()[i].assign(first.variables()[i].read());
  const std::string folder = testing::TempDir() + "/export-second";
  second.save(folder);
  LoadedModel other = load_model(folder), again = load_model(folder);
  for (LoadedModel* model : {&other, &again}) {
    EXPECT_TRUE(model_onnx(*model) == model_onnx(one));
    for (const bool as_arguments : {false, true}) {
      const StablehloOptions options{.batch = 5, .weights_as_arguments = as_arguments};
      EXPECT_EQ(model_stablehlo(*model, options), model_stablehlo(one, options));
    }
    const auto c = [](LoadedModel& exported) {
      const TracedModel traced = trace_for_export(exported, 1);
      return print_c(*optimize(bind_variables(*traced.graph, values_of(traced.variables)))).source;
    };
    EXPECT_EQ(c(*model), c(one));
  }
}

// Follows the batch size by a factor.
struct Scaled : Layer {
  Tensor call(const Tensor& x) override { return x * static_cast<double>(x.size(0)); }
};
// Follows no formula.
struct Shared : Layer {
  Tensor call(const Tensor& x) override { return x / (1 + 1 / static_cast<double>(x.size(0))); }
};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return cat(error.rule(), ": ", error.message());
  }
  return "done";
}

TEST(Export, WhatDependsOnTheBatchIsForOneBatchSize) {
  const Tensor x = Generator(1).normal({8, 6});
  Sequential scaled{Dense({.units = 3}), Scaled()}, shared{Dense({.units = 3}), Shared()};
  LoadedModel any = saved_and_loaded(scaled, x, "scaled"), fixed = saved_and_loaded(shared, x, "shared");
  ASSERT_EQ(any.fixed_batch(), 0);
  ASSERT_EQ(fixed.fixed_batch(), 8);
  EXPECT_TRUE(error_of([&] { model_onnx(any); }).starts_with("onnx.batch: "));
  for (const std::string& bytes : {model_onnx(any, 8), model_onnx(fixed)}) {
    const OnnxProgram program = parse_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())));
    expect_near(
        interpret(*program.graph, inputs_of(*program.graph, program.variables, x), RunContext::current())[0],
        bytes == model_onnx(fixed) ? shared.predict(x, 8) : scaled.predict(x, 8));
  }
  EXPECT_EQ(error_of([&] { model_onnx(fixed, 7); }), "export.batch: the model takes 8 rows, not 7");
  EXPECT_EQ(error_of([&] { model_stablehlo(any, {.batch = 0}); }),
            "export.batch: the model takes 1 or more rows, not 0");
}

}  // namespace
}  // namespace espalier
