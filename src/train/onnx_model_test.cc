#include <gtest/gtest.h>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/functional.h"
#include "espalier/merging.h"
#include "espalier/onnx.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "format/onnx/model.h"
#include "ir/sink.h"
#include "nn/seed.h"
#include "train/export.h"

namespace espalier {
namespace {

Tensor onnx_model_rows(int64_t count, int64_t width, double step) {
  return sine(convert(iota({DType::kI32, {count, width}}, 1), DType::kF32) * step +
              convert(iota({DType::kI32, {count, width}}, 0), DType::kF32));
}

// A model that was trained a little, saved and loaded.
LoadedModel onnx_model_classifier(const std::string& folder) {
  set_seed(3);
  Sequential model{Dense({.units = 7, .activation = "relu"}), BatchNormalization(), Dense({.units = 3})};
  model.compile({.optimizer = SGD{.learning_rate = 0.1}});
  model.fit(onnx_model_rows(24, 5, 0.7), convert(iota({DType::kI32, {24}}, 0) / 8, DType::kI32),
            {.epochs = 3});
  model.save(folder);
  return load_model(folder);
}

TEST(OnnxModel, PredictsWhatTheExportedModelDoesForAnyNumberOfRows) {
  const std::string folder = fresh_folder("onnx-predicts");
  LoadedModel model = onnx_model_classifier(folder + "/model");
  posix_env().write_file(folder + "/net.onnx", model_onnx(model, 0));
  OnnxModel imported = load_onnx(folder + "/net.onnx");
  EXPECT_EQ(imported.fixed_batch(), 0);
  ASSERT_EQ(imported.input_rows().size(), 1u);
  EXPECT_EQ(imported.input_rows()[0], (TensorType{DType::kF32, {5}}));
  for (const int64_t count : {1, 7, 64}) {
    const Tensor x = onnx_model_rows(count, 5, 0.3);
    const auto wanted = model.predict(x).to_vector<float>(), got = imported.predict(x).to_vector<float>();
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
  }
  // Saved, it is a model as any other.
  imported.save(folder + "/saved");
  const Tensor x = onnx_model_rows(9, 5, 0.2);
  EXPECT_EQ(load_model(folder + "/saved").predict(x).to_vector<float>(),
            imported.predict(x).to_vector<float>());
}

TEST(OnnxModel, IsTrainedAsThePassItHolds) {
  const std::string folder = fresh_folder("onnx-trains");
  set_seed(5);
  Sequential model{Dense({.units = 6, .activation = "tanh"}), Dense({.units = 2})};
  const Tensor x = onnx_model_rows(16, 4, 0.9), y = convert(iota({DType::kI32, {16}}, 0) / 8, DType::kI32);
  model.compile({.optimizer = SGD{.learning_rate = 0.2}});
  model.predict(x);
  model.save(folder + "/model");
  LoadedModel saved = load_model(folder + "/model");
  OnnxModel imported = read_onnx(model_onnx(saved, 0));
  imported.compile({.optimizer = SGD{.learning_rate = 0.2}});
  for (int step = 0; step < 5; ++step) {
    model.train_on_batch(x, y);
    imported.train_on_batch(x, y);
  }
  const auto wanted = model.predict(x).to_vector<float>(), got = imported.predict(x).to_vector<float>();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
}

TEST(OnnxModel, AveragesAreNotTrained) {
  const onnx::Model file{.graph_name = "normalised",
                         .inputs = {{"x", DType::kF32, {{{std::nullopt, "N"}, {2, ""}}}}},
                         .outputs = {{"y", DType::kF32, {{{std::nullopt, "N"}, {2, ""}}}}},
                         .initializers = {{"scale", full({2}, 1).node()->literal()},
                                          {"offset", full({2}, 0).node()->literal()},
                                          {"mean", full({2}, 3).node()->literal()},
                                          {"variance", full({2}, 4).node()->literal()}},
                         .nodes = {{.op = "BatchNormalization",
                                    .inputs = {"x", "scale", "offset", "mean", "variance"},
                                    .outputs = {"y"}}}};
  OnnxModel model = read_onnx(onnx::model_bytes(file));
  EXPECT_EQ(model.variables().size(), 4u);
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  EXPECT_NEAR(model.predict(full({1, 2}, 7)).to_vector<float>()[0], 2, 1e-4);
}

TEST(OnnxModel, AFixedBatchIsTheFiles) {
  const std::string folder = fresh_folder("onnx-fixed");
  LoadedModel model = onnx_model_classifier(folder + "/model");
  OnnxModel imported = read_onnx(model_onnx(model, 4));
  EXPECT_EQ(imported.fixed_batch(), 4);
  EXPECT_EQ(imported.predict(onnx_model_rows(4, 5, 0.3)).shape(), (Shape{4, 3}));
  EXPECT_EQ(rule_of([&] { imported(onnx_model_rows(3, 5, 0.3)); }), "loaded_model.batch");
  EXPECT_EQ(rule_of([&] { imported(onnx_model_rows(4, 6, 0.3)); }), "loaded_model.input");
}

TEST(OnnxModel, SeveralInputsAndOutputsKeepTheirNames) {
  const auto value = [](const char* name) {
    return onnx::ValueInfo{name, DType::kF32, {{{std::nullopt, "N"}, {2, ""}}}};
  };
  const onnx::Model file{.graph_name = "two",
                         .inputs = {value("left"), value("right")},
                         .outputs = {value("sum"), value("difference")},
                         .initializers = {},
                         .nodes = {{.op = "Add", .inputs = {"left", "right"}, .outputs = {"sum"}},
                                   {.op = "Sub", .inputs = {"left", "right"}, .outputs = {"difference"}}}};
  OnnxModel model = read_onnx(onnx::model_bytes(file));
  EXPECT_EQ(model.input_names(), (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(model.output_names(), (std::vector<std::string>{"sum", "difference"}));
  const Tensors out = model.apply({full({3, 2}, 5), full({3, 2}, 2)});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].to_vector<float>(), std::vector<float>(6, 3));
}

TEST(OnnxModel, WhatIsNoModelIsNamed) {
  const std::string folder = fresh_folder("onnx-wrong");
  EXPECT_EQ(rule_of([&] { load_onnx(folder + "/absent.onnx"); }), "file.read");
  posix_env().write_file(folder + "/text.onnx", "no model");
  try {
    load_onnx(folder + "/text.onnx");
    FAIL() << "text was read as a model";
  } catch (const FormatError& error) {
    EXPECT_NE(error.message().find("text.onnx"), std::string::npos) << error.message();
  }
  const onnx::Model scalar{.graph_name = "scalar",
                           .inputs = {{"x", DType::kF32, {std::vector<onnx::Dimension>()}}},
                           .outputs = {{"y", DType::kF32, {std::vector<onnx::Dimension>()}}},
                           .initializers = {},
                           .nodes = {{.op = "Neg", .inputs = {"x"}, .outputs = {"y"}}}};
  EXPECT_EQ(rule_of([&] { read_onnx(onnx::model_bytes(scalar)); }), "onnx.batch");
}

}  // namespace
}  // namespace espalier
