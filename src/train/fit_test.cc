#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "train/step.h"

namespace espalier {
namespace {

// Two classes in the plane: inside or outside of a circle. No line separates them.
std::pair<Tensor, Tensor> circle(int64_t rows, uint64_t seed) {
  Philox random(seed);
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int64_t i = 0; i < rows; ++i) {
    const float a = 2 * random.uniform() - 1, b = 2 * random.uniform() - 1;
    x.insert(x.end(), {a, b});
    y.push_back(a * a + b * b < 0.5f);
  }
  return {Tensor::of(x, {rows, 2}), Tensor::of(y, {rows})};
}

// A plan may round otherwise than an eager call.
void expect_fit_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.type(), b.type());
  for (size_t i = 0; i < a.data<float>().size(); ++i)
    ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-5) << i;
}

TEST(Fit, LearnsACircle) {
  set_seed(1);
  const auto [x, y] = circle(500, 1);
  const auto [test_x, test_y] = circle(300, 2);
  Sequential model{Dense({.units = 16, .activation = "relu"}), Dense({.units = 2})};
  model.compile({.optimizer = Adam{.learning_rate = 0.02}});
  const auto history =
      model.fit(x, y, {.epochs = 15, .batch_size = 32, .validation_x = test_x, .validation_y = test_y});
  ASSERT_EQ(history.size(), 15u);
  EXPECT_LT(history.back().at("loss"), history.front().at("loss"));
  EXPECT_GT(history.back().at("val_accuracy"), 0.93);
  EXPECT_DOUBLE_EQ(model.evaluate(test_x, test_y).at("accuracy"), history.back().at("val_accuracy"));

  const Tensor outputs = model.predict(test_x, 7);
  int64_t right = 0;
  for (int64_t i = 0; i < 300; ++i)
    right +=
        (outputs.data<float>()[2 * i + 1] > outputs.data<float>()[2 * i]) == (test_y.data<int32_t>()[i] == 1);
  EXPECT_NEAR(static_cast<double>(right) / 300, history.back().at("val_accuracy"), 1e-6);

  std::vector<std::string> paths;
  for (const Variable& variable : model.variables()) paths.push_back(variable.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"sequential/dense/kernel", "sequential/dense/bias",
                                             "sequential/dense_1/kernel", "sequential/dense_1/bias"}));
}

TEST(Fit, TheSeedDecidesEveryBit) {
  const auto [x, y] = circle(100, 3);
  std::vector<std::vector<float>> outputs;
  for (const uint64_t s : {5, 5, 6}) {
    set_seed(s);
    Sequential model{Dense({.units = 4, .activation = "relu"}), Dense({.units = 2})};
    model.compile({.optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9}});
    model.fit(x, y, {.epochs = 2, .batch_size = 16});
    outputs.push_back(model.predict(x).to_vector<float>());
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_NE(outputs[0], outputs[2]);
}

TEST(Fit, MistakesAreNamed) {
  const auto [x, y] = circle(10, 1);
  Sequential model{Dense({.units = 2})};
  EXPECT_THROW(model.fit(x, y), StateError);
  EXPECT_THROW(model.compile({.metrics = {"acuracy"}}), ValueError);
  model.compile();
  EXPECT_THROW(model.fit(x, Tensor::of(std::vector<int32_t>(9), {9})), ShapeError);
  EXPECT_THROW(model.fit(x, Tensor::of(std::vector<float>(10), {10})), DTypeError);
  EXPECT_NO_THROW(model.fit(x, y));
}

TEST(Fit, BatchSizesBelowOneAreRefusedAndTheLargestWorks) {
  const auto [x, y] = circle(10, 1);
  Sequential model{Dense({.units = 2})};
  model.compile();
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t size : {int64_t{0}, int64_t{-1}, -kLargest}) {
    EXPECT_THROW(model.fit(x, y, {.batch_size = size}), ValueError);
    EXPECT_THROW(model.evaluate(x, y, size), ValueError);
    EXPECT_THROW(model.predict(x, size), ValueError);
  }
  struct Steps : Callback {
    int64_t planned = 0, made = 0;
    void on_train_begin(const Run& run) override { planned = run.steps_per_epoch; }
    void on_batch_end(int64_t, const Logs&) override { ++made; }
  };
  for (const auto& [size, steps] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 10}, {3, 4}, {5, 2}, {10, 1}, {11, 1}, {kLargest, 1}}) {
    const auto counter = std::make_shared<Steps>();
    model.fit(x, y, {.batch_size = size, .callbacks = {counter, ConsoleProgress()}});
    EXPECT_EQ(counter->planned, steps) << size;
    EXPECT_EQ(counter->made, steps) << size;
  }
  EXPECT_EQ(model.predict(x, kLargest).to_vector<float>(), model.predict(x, 3).to_vector<float>());
  EXPECT_EQ(model.evaluate(x, y, kLargest).at("accuracy"), model.evaluate(x, y, 3).at("accuracy"));
}

TEST(Fit, ARefusedFirstFitChangesNothing) {
  set_seed(0);
  const auto data = circle(10, 1);
  const Tensor &x = data.first, &y = data.second;
  const auto fitted = [&](const std::function<void(Sequential&)>& mistake) {
    set_seed(0);
    Sequential model{Dense({.units = 3}), Dense({.units = 2})};
    model.compile({.optimizer = SGD{.learning_rate = 0.5}});
    mistake(model);
    model.fit(x, y, {.batch_size = 5});
    EXPECT_EQ(model.variables().size(), 4u);
    return model.predict(x).to_vector<float>();
  };
  const auto wanted = fitted([](Sequential&) {});
  EXPECT_EQ(wanted, fitted([&](Sequential& model) {
              EXPECT_THROW(model.fit(Tensor::of(std::vector<float>(10), {10}), y), ShapeError);
            }));
  // Rows of another width with labels that no loss takes: the width must not stick.
  EXPECT_EQ(wanted, fitted([&](Sequential& model) {
              EXPECT_THROW(model.fit(full({10, 7}, 1), full({10}, 1)), DTypeError);
              EXPECT_TRUE(model.variables().empty());
            }));
}

TEST(Fit, TrainsALayerThatWasCalledBefore) {
  const auto [x, y] = circle(20, 1);
  Dense base({.units = 2});
  base(x);
  const auto before = base.variables()[0].read().to_vector<float>();
  Sequential model{base};
  model.compile({.optimizer = SGD{.learning_rate = 0.5}});
  model.fit(x, y);
  EXPECT_NE(base.variables()[0].read().to_vector<float>(), before);
  expect_fit_close(model.predict(x), base(x));
}

TEST(Fit, PredictAndCallsNeedNoCompile) {
  const auto [x, y] = circle(10, 1);
  Sequential model{Dense({.units = 2})};
  expect_fit_close(model.predict(x, 4), model(x));
  EXPECT_THROW(model.evaluate(x, y), StateError);
}

// Adds its argument; a model among its members.
struct Residual : Layer {
  Residual() : Layer("residual") {}
  Sequential body{Dense({.units = 4, .activation = "relu"}), Dense({.units = 2})};
  Tensor call(const Tensor& x) override { return x + body(x); }
};

TEST(Fit, ModelsNest) {
  set_seed(1);
  const auto [x, y] = circle(40, 1);
  Sequential model{Sequential{Dense({.units = 2, .activation = "tanh"})}, Residual(), Dense({.units = 2})};
  model.compile({.optimizer = Adam{.learning_rate = 0.02}});
  const auto history = model.fit(x, y, {.epochs = 5, .batch_size = 8});
  EXPECT_LT(history.back().at("loss"), history.front().at("loss"));
  std::vector<std::string> paths;
  for (const Variable& variable : model.variables()) paths.push_back(variable.path());
  EXPECT_EQ(
      paths,
      (std::vector<std::string>{
          "sequential/sequential/dense/kernel", "sequential/sequential/dense/bias",
          "sequential/residual/sequential/dense/kernel", "sequential/residual/sequential/dense/bias",
          "sequential/residual/sequential/dense_1/kernel", "sequential/residual/sequential/dense_1/bias",
          "sequential/dense/kernel", "sequential/dense/bias"}));
}

TEST(Fit, CopiesOfAModelShareWeightsAndTraining) {
  const auto [x, y] = circle(40, 1);
  auto original = std::make_unique<Sequential>(Dense({.units = 4}), Dense({.units = 2}));
  Sequential copy = *original;
  original->compile({.optimizer = SGD{.learning_rate = 0.1}});
  original->fit(x, y);
  const auto outputs = original->predict(x).to_vector<float>();
  original.reset();
  EXPECT_EQ(copy.predict(x).to_vector<float>(), outputs);
  copy.fit(x, y);
  EXPECT_NE(copy.predict(x).to_vector<float>(), outputs);

  Sequential head{copy, Dense({.units = 2})};
  head.compile();
  head.fit(x, y);
  EXPECT_EQ(head.variables().size(), 6u);
  EXPECT_EQ(head.variables()[0].state(), copy.variables()[0].state());
}

// Asks a model by its plan, then refuses.
struct Student : Layer {
  Student() : Layer("student") {}
  Sequential teacher{Dense({.units = 2})};
  bool refuses = true;
  Tensor call(const Tensor& x) override {
    const Tensor y = teacher.predict(x);
    if (refuses) throw ValueError("student", "not yet");
    return y;
  }
};

TEST(Fit, APlanOfARefusedCallIsNotUsedAgain) {
  const Tensor x = full({3, 2}, 1);
  Student student;
  EXPECT_THROW(student(x), ValueError);
  EXPECT_TRUE(student.teacher.variables().empty());
  student.refuses = false;
  student(x);
  ASSERT_EQ(student.teacher.variables().size(), 2u);
  student.teacher.variables()[0].assign(full({2, 2}, 0));
  EXPECT_EQ(student(x).to_vector<float>(), std::vector<float>(6, 0.0f));
}

TEST(Fit, AccuracyCountsClassesThatTheLabelsTypeCannotHold) {
  // Row i has its largest output at class 2 i: beyond 255 no u8 label can be right, though 256 + k is k mod
  // 256.
  struct Fixed : Model {
    Tensor call(const Tensor& x) override { return x; }
  };
  std::vector<float> outputs(150 * 300);
  std::vector<uint8_t> labels(150);
  for (size_t i = 0; i < 150; ++i) outputs[i * 300 + 2 * i] = 1, labels[i] = static_cast<uint8_t>(2 * i);
  Fixed model;
  model.compile();
  EXPECT_FLOAT_EQ(
      static_cast<float>(model.evaluate(Tensor::of(outputs, {150, 300}), Tensor::of(labels)).at("accuracy")),
      128.0f / 150);
  const std::vector<int8_t> few = {0, 2};
  EXPECT_DOUBLE_EQ(
      model
          .evaluate(Tensor::of(std::vector<float>(outputs.begin(), outputs.begin() + 600), {2, 300}),
                    Tensor::of(few))
          .at("accuracy"),
      1);
}

struct Identity : Model {
  Tensor call(const Tensor& x) override { return x; }
};

TEST(Fit, ARowWithNaNIsNotRight) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Identity model;
  model.compile();
  const Tensor x = Tensor::of<float>({2, 1, nan, 1, 1, nan, 0, 3}, {4, 2});
  EXPECT_DOUBLE_EQ(model.evaluate(x, Tensor::of<int32_t>({0, 0, 1, 1})).at("accuracy"), 0.5);
}

TEST(Fit, PredictGivesEveryRowInItsPlace) {
  Identity model;
  std::vector<float> values(21);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (const int64_t batch_size : {1, 2, 7, 100})
    EXPECT_EQ(model.predict(Tensor::of(values, {7, 3}), batch_size).to_vector<float>(), values) << batch_size;
}

TEST(Fit, AccuracyNeedsClasses) {
  const Loss square{"square", [](const Tensor& labels, const Tensor& outputs) {
                      const Tensor error = labels - reshape(outputs, labels.shape());
                      return error * error;
                    }};
  const Tensor x = full({4, 2}, 1), y = full({4}, 1);
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = square, .metrics = {"accuracy"}});
  EXPECT_THROW(model.fit(x, y), ShapeError);
  model.compile({.loss = square});
  EXPECT_NO_THROW(model.fit(x, y));
}

TEST(Fit, HalfAValidationSetIsRefusedBeforeTheFirstStep) {
  const auto [x, y] = circle(10, 1);
  Sequential model{Dense({.units = 2})};
  model.compile();
  struct Begun : Callback {
    int count = 0;
    void on_train_begin(const Run&) override { ++count; }
  };
  const auto begun = std::make_shared<Begun>();
  EXPECT_THROW(model.fit(x, y, {.validation_x = x, .callbacks = {begun}}), ValueError);
  EXPECT_THROW(model.fit(x, y, {.validation_y = y, .callbacks = {begun}}), ValueError);
  EXPECT_THROW(
      model.fit(x, y, {.validation_x = x, .validation_y = full({9}, 0, DType::kI32), .callbacks = {begun}}),
      ShapeError);
  EXPECT_EQ(begun->count, 0);
  EXPECT_TRUE(model.variables().empty());
}

TEST(Fit, NoRowsIsAnErrorEverywhere) {
  const Tensor x = full({0, 2}, 1), y = full({0}, 0, DType::kI32);
  Sequential model{Dense({.units = 2})};
  model.compile();
  EXPECT_THROW(model.fit(x, y), ShapeError);
  EXPECT_THROW(model.evaluate(x, y), ShapeError);
  EXPECT_THROW(model.predict(x), ShapeError);
  EXPECT_THROW(model.predict(full({}, 1)), ShapeError);
}

TEST(Fit, PredictNeedsARowOfOutputForEachRow) {
  struct Total : Model {
    Tensor call(const Tensor& x) override { return reduce_sum(x, {0, 1}); }
  };
  EXPECT_THROW(Total().predict(full({4, 2}, 1), 2), ShapeError);
}

TEST(Fit, ErrorsNameTheUsersLine) {
  const auto [given_x, given_y] = circle(10, 1);
  const Tensor x = given_x, y = given_y, wide = full({10, 5}, 1);
  Sequential model{Dense({.units = 2})}, raw{Dense({.units = 2})};
  model.compile();
  model.fit(x, y);
  const std::vector<std::function<void()>> mistakes = {
      [&] { model.compile({.metrics = {"none"}}); },
      [&] {
        model.compile({.loss = Loss{"none", nullptr}});
      },
      [&] { model.compile({.optimizer = Adam{.learning_rate = -1}}); },
      [&] { raw.fit(x, y); },
      [&] { raw.evaluate(x, y); },
      [&] { model.fit(x, full({9}, 0, DType::kI32)); },
      [&] { model.fit(x, y, {.epochs = -1}); },
      [&] { model.fit(x, y, {.batch_size = 0}); },
      [&] { model.fit(wide, y); },
      [&] { model.fit(x, y, {.validation_x = wide, .validation_y = y}); },
      [&] { model.evaluate(wide, y); },
      [&] { model.evaluate(x, y, 0); },
      [&] { model.predict(wide); },
      [&] { model.predict(x, 0); },
      [&] {
        model.predict(full({0, 2}, 1));
      },
      [&] { model(wide); },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    try {
      mistakes[i]();
      ADD_FAILURE() << "mistake " << i << " is not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(" at fit_test.cc:"), std::string::npos) << error.what();
    }
  }
}

TEST(Fit, LabelsThatAreNoClassAreRefusedBeforeTheyDoHarm) {
  const Tensor x = full({4, 3}, 1);
  const auto labels = [](std::initializer_list<int32_t> values) { return Tensor::of<int32_t>(values); };
  Sequential model{Dense({.units = 2})};
  model.compile();
  EXPECT_EQ(rule_of([&] { model.fit(x, labels({0, 1, 7, 1})); }), "fit.labels");
  EXPECT_TRUE(model.variables().empty());
  model.fit(x, labels({0, 1, 0, 1}));
  const std::vector<float> kernel = model.variables()[0].read().to_vector<float>();
  EXPECT_EQ(rule_of([&] { model.fit(x, labels({0, -1, 0, 1})); }), "fit.labels");
  EXPECT_EQ(rule_of([&] { model.evaluate(x, labels({0, 2, 0, 1})); }), "evaluate.labels");
  EXPECT_EQ(rule_of([&] {
              model.fit(x, labels({0, 1, 0, 1}), {.validation_x = x, .validation_y = labels({0, 1, 0, 2})});
            }),
            "fit.validation_labels");
  EXPECT_EQ(model.variables()[0].read().to_vector<float>(), kernel);
  Sequential one{Dense({.units = 1})};
  one.compile();
  EXPECT_EQ(rule_of([&] { one.fit(x, labels({0, 1, 0, 1})); }), "fit.labels");
}

TEST(Fit, AVariableThatIsNoWeightIsNamed) {
  struct Scale : Layer {
    Scale() : Layer("scale") {}
    Variable factor{full({1}, 1), {.name = "factor"}};
    Tensor call(const Tensor& x) override { return x * factor; }
  };
  const Tensor x = full({4, 2}, 1), y = Tensor::of<int32_t>({0, 1, 0, 1});
  Scale scale;
  Sequential model{scale, Dense({.units = 2})};
  model.compile();
  EXPECT_EQ(rule_of([&] { model.fit(x, y); }), "fit.variable");
  scale.factor.set_trainable(false);
  EXPECT_EQ(rule_of([&] { model.fit(x, y); }), "nothing");
}

TEST(Fit, AModelWithoutLayersIsRefused) {
  Sequential model;
  model.compile({.loss = MeanSquaredError(), .metrics = {}});
  try {
    model.fit(full({4, 2}, 1), full({4, 2}, 1));
    FAIL() << "nothing was trained";
  } catch (const StateError& error) {
    EXPECT_EQ(error.rule(), "sequential.empty");
  }
  model.add(Dense({.units = 2}));
  EXPECT_EQ(model.fit(full({4, 2}, 1), full({4, 2}, 1)).size(), 1u);
}

TEST(Fit, LayersOfTheHeadersExampleAreTrained) {
  struct Scale : Layer {
    void build(const TensorType& x) override { add_weight("factor", {x.shape.back()}, initializer("ones")); }
    Tensor call(const Tensor& x) override { return x * weight("factor"); }
  };
  const Tensor x = full({4, 2}, 1), y = Tensor::of<int32_t>({0, 1, 1, 1});
  Sequential model{Scale()};
  model.compile({.optimizer = SGD{.learning_rate = 0.5}});
  model.fit(x, y, {.epochs = 3});
  EXPECT_NE(model.variables().at(0).read().to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Logs, SayWhichValuesThereAre) {
  const Logs logs{{"accuracy", 0.5}, {"loss", 2}};
  EXPECT_EQ(logs.at("loss"), 2);
  try {
    static_cast<void>(logs.at("accurracy"));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "logs.name");
    EXPECT_EQ(error.message(), "unknown value \"accurracy\": known are accuracy, loss");
    EXPECT_EQ(error.fix(), "did you mean \"accuracy\"?");
    EXPECT_NE(std::string(error.what()).find(" at fit_test.cc:"), std::string::npos) << error.what();
  }
}

TEST(Logs, ThoseOfFitRaiseForANameThatIsNotThere) {
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError()});
  std::vector<Logs> history = model.fit(full({4, 2}, 1), full({4, 1}, 1));
  const size_t size = history[0].size();
  EXPECT_TRUE(std::isfinite(history[0]["loss"]));
  try {
    static_cast<void>(history[0]["val_loss"]);
    FAIL() << "a value that nobody measured";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "logs.name");
    EXPECT_EQ(error.message(), "unknown value \"val_loss\": known are loss");
    EXPECT_NE(std::string(error.what()).find(" at fit_test.cc:"), std::string::npos) << error.what();
  }
  EXPECT_EQ(history[0].size(), size);
}

TEST(Logs, AreUsedAsAMapIs) {
  Logs logs;
  logs.set("loss", 2);
  EXPECT_EQ(logs["loss"], 2);
  const std::map<std::string, double> copy = logs;
  EXPECT_EQ(logs, copy);
  EXPECT_EQ(logs.find("accuracy"), logs.end());
  EXPECT_TRUE(logs.contains("loss"));
  for (const auto& [name, value] : logs) EXPECT_EQ(value, copy.at(name));
}

}  // namespace
}  // namespace espalier
