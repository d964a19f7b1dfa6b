// Models of several outputs.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

Loss logits() { return SparseCategoricalCrossentropy({.from_logits = true}); }

// What tests/golden/keras_outputs.py trains.
struct TwoHeads {
  TwoHeads()
      : x(golden_array(golden.at("x"))),
        y{golden_array(golden.at("kind")), golden_array(golden.at("amount"))},
        model([] {
          const Placeholder in = Input({5});
          const Placeholder trunk = connect(Dense({.units = 6,
                                                   .activation = "tanh",
                                                   .kernel_regularizer = regularizers::L2(0.02),
                                                   .name = "trunk"}),
                                            in);
          return Functional({in}, {connect(Dense({.units = 3, .name = "kind"}), trunk),
                                   connect(Dense({.units = 2, .name = "amount"}), trunk)});
        }()) {
    model.predict_all(x);
    for (Variable variable : model.variables())
      variable.assign(golden_array(golden.at("start").at(own(variable))));
  }
  static std::string own(const Variable& variable) {
    return variable.path().substr(variable.path().find('/') + 1);
  }
  void expect_trained() {
    for (const Variable& variable : model.variables())
      expect_golden(variable.read(), golden.at("end").at(own(variable)), 1e-5);
  }

  json golden = read_golden("keras_outputs.json");
  Tensor x;
  Tensors y;
  Functional model;
};

void expect_logs(const Logs& logs, const json& wanted) {
  EXPECT_EQ(logs.size(), wanted.size());
  for (const auto& [name, value] : wanted.items())
    EXPECT_NEAR(logs.at(name), value.get<double>(), 1e-5 * std::abs(value.get<double>())) << name;
}

std::vector<OutputOptions> heads() {
  return {{.name = "amount", .loss = MeanSquaredError(), .loss_weight = 2, .metrics = {"mae"}},
          {.name = "kind", .loss = logits(), .loss_weight = 0.75, .metrics = {"accuracy"}}};
}

TEST(Outputs, AnEpochOfTwoGivesKerasLogsAndWeights) {
  for (const bool eager : {false, true}) {
    TwoHeads two;
    EXPECT_EQ(two.model.output_names(), (std::vector<std::string>{"kind", "amount"}));
    two.model.compile({.optimizer = SGD{.learning_rate = 0.1}, .outputs = heads(), .run_eagerly = eager});
    const auto history = two.model.fit(two.x, two.y, {.batch_size = 8, .shuffle = false});
    expect_logs(history.at(0), two.golden.at("fit"));
    expect_logs(two.model.evaluate(two.x, two.y, 8), two.golden.at("evaluate"));
    two.expect_trained();
  }
}

TEST(Outputs, TrainOnBatchValidationAndCallbacksKnowThem) {
  TwoHeads two;
  two.model.compile({.optimizer = SGD{.learning_rate = 0.1}, .outputs = heads()});
  Logs rows;
  for (int64_t i = 0; i < 24; i += 8) {
    const auto part = [&](const Tensor& t) {
      Dims start = Dims::filled(t.rank(), 0), limit = t.shape();
      start[0] = i, limit[0] = i + 8;
      return slice(t, start, limit);
    };
    rows = two.model.train_on_batch(part(two.x), {part(two.y[0]), part(two.y[1])});
  }
  two.expect_trained();
  EXPECT_EQ(rows.size(), 5u);
  Callback::Run seen;
  const auto stop = EarlyStopping({.monitor = "val_amount_mae", .patience = 1, .baseline = -1});
  const auto look = LambdaCallback({.on_train_begin = [&](const Callback::Run& run) { seen = run; }});
  const auto history = two.model.fit(
      two.x, two.y,
      {.epochs = 9, .validation_split = 0.25, .sample_weight = full({24}, 2), .callbacks = {look, stop}});
  EXPECT_LT(history.size(), 9u);
  EXPECT_EQ(history[0].size(), 10u);
  EXPECT_EQ(seen.logs.size(), 10u);
  EXPECT_TRUE(history[0].contains("val_kind_accuracy"));
  two.model.fit(two.x, two.y, {.validation_x = two.x, .validation_y = two.y});
}

TEST(Outputs, SavedModelsKeepNamesAndAreTrainedFurther) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "espalier-two-heads").string();
  std::filesystem::remove_all(path);
  TwoHeads two;
  two.model.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.output_names(), (std::vector<std::string>{"kind", "amount"}));
  std::vector<std::vector<Logs>> histories;
  for (Model* model : std::vector<Model*>{&two.model, &loaded}) {
    model->compile({.optimizer = SGD{.learning_rate = 0.1}, .outputs = heads()});
    histories.push_back(model->fit(two.x, two.y, {.epochs = 3, .batch_size = 8}));
  }
  ASSERT_EQ(histories[0].size(), histories[1].size());
  for (size_t epoch = 0; epoch < histories[0].size(); ++epoch) {
    for (const auto& [log, value] : histories[0][epoch])
      EXPECT_NEAR(histories[1][epoch].at(log), value, 1e-5) << log << " of epoch " << epoch;
  }
  EXPECT_EQ(loaded.predict_all(two.x).size(), 2u);
  loaded.save(path);
  EXPECT_EQ(load_model(path).output_names(), loaded.output_names());
  std::filesystem::remove_all(path);
}

// Its outputs have no names.
struct Halves : Model {
  Dense left{{.units = 2}}, right{{.units = 1}};
  Tensors call_many(Inputs<Tensor> x) override { return {left(x[0]), right(x[0])}; }
};

TEST(Outputs, OnesWithoutNamesAreNumberedOrNamedByOptions) {
  set_seed(1);
  const Tensor x = Generator(1).normal({12, 3}), kind = full({12}, 1, DType::kI32), amount = full({12, 1}, 2);
  Halves model;
  model.compile({.outputs = {{.metrics = {"accuracy"}}, {.loss = MeanSquaredError()}}});
  const Logs logs = model.fit(x, {kind, amount}, {.epochs = 3}).back();
  EXPECT_EQ(logs.size(), 4u);
  EXPECT_NEAR(logs.at("loss"), logs.at("output_0_loss") + logs.at("output_1_loss"), 1e-5);
  EXPECT_TRUE(logs.contains("output_0_accuracy"));
  model.compile({.outputs = {{.name = "a"}, {.name = "b", .loss = MeanSquaredError()}}});
  EXPECT_TRUE(model.evaluate(x, {kind, amount}).contains("b_loss"));
}

TEST(Outputs, NamesOfAFunctionalModelAreItsLayers) {
  const Placeholder in = Input({3}, {.name = "raw"});
  const Placeholder a = connect(Dense({.units = 1}), in), b = connect(Dense({.units = 1}), a);
  EXPECT_EQ(Functional({in}, {a, b, in}).output_names(),
            (std::vector<std::string>{"dense", "dense_1", "raw"}));
}

TEST(Outputs, MistakesAreNamed) {
  TwoHeads two;
  const auto compiled = [&](std::vector<OutputOptions> outputs) {
    return rule_of([&] { two.model.compile({.outputs = std::move(outputs)}); });
  };
  EXPECT_EQ(compiled({{.name = "kind"}, {.name = "amuont"}}), "model.outputs");
  EXPECT_EQ(compiled({{.name = "kind"}, {.name = "kind"}}), "model.outputs");
  EXPECT_EQ(compiled({{.name = "kind"}, {}}), "model.outputs");
  EXPECT_EQ(compiled({{}}), "model.outputs");
  EXPECT_EQ(compiled({{}, {.loss_weight = std::numeric_limits<double>::infinity()}}), "model.loss_weight");
  EXPECT_EQ(compiled({{}, {.loss = Loss{"none", nullptr}}}), "loss.function");
  EXPECT_EQ(compiled({{.metrics = {metrics::Mean("loss")}}, {}}), "metric.name");

  two.model.compile();
  EXPECT_EQ(rule_of([&] { two.model.fit(two.x, two.y); }), "fit.labels");
  EXPECT_EQ(rule_of([&] { two.model.fit(two.x, two.y[0]); }), "fit.outputs");
  two.model.compile({.outputs = heads()});
  EXPECT_EQ(rule_of([&] { two.model.evaluate(two.x, two.y[0]); }), "evaluate.labels");
  EXPECT_EQ(rule_of([&] { two.model.fit(two.x, {two.y[0], full({23, 2}, 1)}); }), "fit.rows");
  EXPECT_EQ(rule_of([&] { two.model.fit(two.x, two.y, {.class_weight = {{0, 2}}}); }), "fit.class_weight");
  try {
    two.model.fit(two.x, {full({24}, 7, DType::kI32), two.y[1]});
    two.model.fit(two.x, {full({24}, 7, DType::kI32), two.y[1]});
    ADD_FAILURE() << "7 is no kind";
  } catch (const ValueError& error) {
    EXPECT_NE(error.message().find("output \"kind\" has 3"), std::string::npos) << error.what();
  }
}

TEST(Outputs, AMistakeOfALossNamesTheOutput) {
  const Placeholder x = Input({3});
  Functional model(
      {x}, {connect(Dense({.units = 2, .name = "cls"}), x), connect(Dense({.units = 1, .name = "reg"}), x)});
  model.compile({.outputs = {{.name = "reg", .loss = MeanSquaredError()}, {.name = "cls"}}});
  const Tensor rows = full({4, 3}, 1), classes = full({4}, 0, DType::kI32);
  try {
    model.fit(rows, {classes, full({4}, 1)});
    FAIL();
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(", reg_loss\n"), std::string::npos) << text;
  }
  try {
    model.fit(rows, {full({4, 1}, 1), classes});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.fix(),
              "y holds labels in the order of the outputs, \"cls\", \"reg\": those of place 1 would do for "
              "\"cls\"");
  }
}

}  // namespace
}  // namespace espalier
