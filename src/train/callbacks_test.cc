#include "espalier/callbacks.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

using Json = nlohmann::json;

// A model of one weight whose loss is what the test says: each epoch's in turn. Its weight is the number of
// the epoch that has ended last.
struct Scripted {
  explicit Scripted(std::vector<double> values, double rate = 0.5) : values(std::move(values)) {
    const Variable loss = this->loss;
    model.compile({.optimizer = SGD{.learning_rate = rate},
                   .loss = {"script",
                            [loss](const Tensor&, const Tensor& outputs) {
                              return reshape(outputs, {1}) * 0 + loss.read();
                            }},
                   .metrics = {}});
    model(x);
  }

  // The epochs that ran.
  size_t run(const std::shared_ptr<Callback>& callback, const std::shared_ptr<Callback>& behind = nullptr) {
    const auto script = LambdaCallback({
        .on_epoch_begin = [this](int epoch) { loss.assign(full({}, values[static_cast<size_t>(epoch)])); },
        .on_epoch_end =
            [this](int epoch, const Logs&) {
              model.variables()[0].assign(full({1, 1}, epoch));
            },
    });
    const auto record = LambdaCallback({.on_epoch_begin = [this](int) {
      rates.push_back(model.optimizer().learning_rate().read().item<float>());
    }});
    FitOptions options{.epochs = static_cast<int>(values.size()), .callbacks = {script, callback, record}};
    if (behind) options.callbacks.push_back(behind);
    return model.fit(x, x, options).size();
  }
  float weight() const { return model.variables()[0].read().item<float>(); }

  std::vector<double> values;
  std::vector<float> rates;
  Variable loss{full({}, 0), {.name = "script", .trainable = false}};
  Sequential model{Dense({.units = 1, .use_bias = false})};
  Tensor x = full({1, 1}, 1);
};

double number(const Json& json) {
  return json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>();
}

std::shared_ptr<Callback> callback_of(const Json& test) {
  const std::string kind = test["callback"];
  const Json& options = test["options"];
  const auto get = [&](const char* name, auto otherwise) { return options.value(name, otherwise); };
  if (kind == "EarlyStopping") {
    EarlyStoppingOptions out{.monitor = "loss",
                             .min_delta = get("min_delta", 0.0),
                             .patience = get("patience", 0),
                             .mode = test["mode"].get<std::string>(),
                             .restore_best_weights = get("restore_best_weights", false),
                             .start_from_epoch = get("start_from_epoch", 0)};
    if (options.contains("baseline")) out.baseline = options["baseline"].get<double>();
    return EarlyStopping(out);
  }
  if (kind == "ReduceLROnPlateau") {
    return ReduceLROnPlateau({.monitor = "loss",
                              .factor = get("factor", 0.1),
                              .patience = get("patience", 10),
                              .mode = test["mode"].get<std::string>(),
                              .min_delta = get("min_delta", 1e-4),
                              .cooldown = get("cooldown", 0),
                              .min_lr = get("min_lr", 0.0)});
  }
  if (kind == "LearningRateScheduler")
    return LearningRateScheduler([](int epoch, double rate) { return epoch % 3 == 2 ? rate * 0.5 : rate; });
  if (kind == "TerminateOnNaN") return TerminateOnNaN();
  return nullptr;
}

Json golden() {
  std::ifstream file("tests/golden/keras_callbacks.json");
  return Json::parse(file);
}

TEST(Callbacks, DoWhatKerasDoes) {
  int seen = 0;
  for (const Json& test : golden()) {
    const std::shared_ptr<Callback> callback = callback_of(test);
    if (!callback) continue;
    ++seen;
    std::vector<double> values;
    for (const Json& value : test["values"]) values.push_back(number(value));
    Scripted run(values);
    EXPECT_EQ(run.run(callback), test["epochs"].get<size_t>()) << test.dump();
    EXPECT_EQ(run.weight(), test["weights_of"].get<float>()) << test.dump();
    ASSERT_EQ(run.rates.size(), test["rates"].size()) << test.dump();
    for (size_t i = 0; i < run.rates.size(); ++i)
      EXPECT_FLOAT_EQ(run.rates[i], test["rates"][i].get<float>()) << i << " " << test.dump();
    EXPECT_EQ(run.run(callback), test["epochs"].get<size_t>()) << "again, " << test.dump();
  }
  EXPECT_EQ(seen, 31);
}

// As if each epoch were run by a process of its own.
TEST(Callbacks, GoOnFromTheirStateBehindEachEpoch) {
  struct Resumes final : Callback {
    explicit Resumes(std::shared_ptr<Callback> callback) : callback(std::move(callback)) {}
    void on_train_begin(const Run& begun) override { run = begun; }
    void on_epoch_end(int, const Logs&) override {
      CallbackState state;
      callback->save_state(state);
      callback->on_train_begin(run);
      callback->load_state(state);
    }
    std::shared_ptr<Callback> callback;
    Run run;
  };
  for (const Json& test : golden()) {
    const std::shared_ptr<Callback> callback = callback_of(test);
    if (!callback) continue;
    std::vector<double> values;
    for (const Json& value : test["values"]) values.push_back(number(value));
    Scripted run(values);
    EXPECT_EQ(run.run(callback, std::make_shared<Resumes>(callback)), test["epochs"].get<size_t>())
        << test.dump();
    EXPECT_EQ(run.weight(), test["weights_of"].get<float>()) << test.dump();
    ASSERT_EQ(run.rates.size(), test["rates"].size()) << test.dump();
    for (size_t i = 0; i < run.rates.size(); ++i)
      EXPECT_FLOAT_EQ(run.rates[i], test["rates"][i].get<float>()) << i << " " << test.dump();
  }
}

TEST(Callbacks, AValueThatIsAsGoodAsTheBestIsNoBetter) {
  for (const char* const mode : {"min", "max"}) {
    Scripted equal({1, 1, 1, 1, 1});
    EXPECT_EQ(equal.run(EarlyStopping({.monitor = "loss", .patience = 2, .mode = mode})), 3u) << mode;
    Scripted by_less({1, 1.5, 1, 0.5, 1});
    EXPECT_EQ(by_less.run(EarlyStopping({.monitor = "loss", .min_delta = 0.5, .patience = 2, .mode = mode})),
              3u)
        << mode;
  }
}

// A NaN that comes first would be the best for ever: no number is less than it, and none is more.
TEST(Callbacks, AFirstValueThatIsNaNIsNotTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double sign : {1.0, -1.0}) {
    const std::string mode = sign > 0 ? "min" : "max";
    const std::vector<double> values{nan, sign * 1, sign * 0.5, sign * 0.6, sign * 0.7, sign * 0.8};
    Scripted stops(values);
    EXPECT_EQ(stops.run(EarlyStopping(
                  {.monitor = "loss", .patience = 2, .mode = mode, .restore_best_weights = true})),
              5u);
    EXPECT_EQ(stops.weight(), 2);
    Scripted slows(values);
    slows.run(ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 2, .mode = mode}));
    EXPECT_EQ(slows.rates, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.25f}));
  }
  // One NaN and no more: nothing to compare it with.
  Scripted once({nan, 1, 2, 3});
  EXPECT_EQ(once.run(EarlyStopping({.monitor = "loss", .patience = 1})), 3u);
}

// A run of an earlier version may have kept it.
TEST(Callbacks, ABestThatIsNaNInACheckpointIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto stopping = EarlyStopping({.monitor = "loss", .patience = 1});
  struct Loads final : Callback {
    explicit Loads(std::shared_ptr<Callback> callback) : callback(std::move(callback)) {}
    void on_train_begin(const Run&) override { callback->load_state(state); }
    std::shared_ptr<Callback> callback;
    CallbackState state;
  };
  const auto loads = std::make_shared<Loads>(stopping);
  loads->state.put("early_stopping/wait", 0);
  loads->state.put("early_stopping/best", nan);
  Scripted scripted({3, 2, 1});
  const auto script = LambdaCallback({.on_epoch_begin = [&](int epoch) {
    scripted.loss.assign(full({}, scripted.values[static_cast<size_t>(epoch)]));
  }});
  EXPECT_EQ(scripted.model.fit(scripted.x, scripted.x, {.epochs = 3, .callbacks = {script, stopping, loads}})
                .size(),
            3u);
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(CsvLogger, WritesKerasTable) {
  const Json all = golden();
  const Json& test = all.back();
  ASSERT_EQ(test["callback"], "CSVLogger");
  const std::string path = testing::TempDir() + "/csv_logger.csv";
  const auto logger = CSVLogger(path, {.separator = ';'});
  logger->on_train_begin({.epochs = 3, .logs = {"loss", "val_loss", "val_accuracy"}});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const double value = test["values"][static_cast<size_t>(epoch)];
    logger->on_epoch_end(epoch, {{"val_loss", value / 4}, {"loss", value}, {"val_accuracy", 0.5}});
  }
  std::istringstream lines(text_of_file(path));
  std::string line;
  size_t row = 0;
  for (; std::getline(lines, line); ++row) {
    std::istringstream cells(line);
    std::string cell;
    for (const Json& wanted : test["rows"].at(row)) {
      ASSERT_TRUE(std::getline(cells, cell, ';')) << line;
      if (row == 0) {
        EXPECT_EQ(cell, wanted.get<std::string>());
      } else {
        EXPECT_EQ(std::stod(cell), std::stod(wanted.get<std::string>()));
      }
    }
  }
  EXPECT_EQ(row, test["rows"].size());
}

TEST(CsvLogger, AppendsToTheSameColumnsOnly) {
  const std::string path = testing::TempDir() + "/csv_append.csv";
  std::remove(path.c_str());
  const auto logger = CSVLogger(path, {.append = true});
  logger->on_train_begin({.logs = {"loss"}});
  logger->on_epoch_end(0, {{"loss", 0.1}});
  logger->on_train_begin({.logs = {"loss"}});
  logger->on_epoch_end(1, {{"loss", 1e-20}});
  EXPECT_EQ(text_of_file(path), "epoch,loss\n0,0.1\n1,1e-20\n");
  EXPECT_EQ(rule_of([&] { logger->on_train_begin({.logs = {"loss", "mae"}}); }), "csv_logger.columns");
  EXPECT_EQ(text_of_file(path), "epoch,loss\n0,0.1\n1,1e-20\n");
  const auto anew = CSVLogger(path);
  anew->on_train_begin({.logs = {"a,b", "say \"x\""}});
  anew->on_batch_end(1, {});
  EXPECT_EQ(text_of_file(path), "epoch,\"a,b\",\"say \"\"x\"\"\"\n");
  EXPECT_EQ(rule_of([] { CSVLogger("x.csv", {.separator = '\n'}); }), "csv_logger.separator");
  const auto nowhere = CSVLogger(testing::TempDir() + "/none/x.csv");
  EXPECT_THROW(nowhere->on_train_begin({.logs = {"loss"}}), IoError);
}

TEST(CsvLogger, ARefusedRunLeavesTheFileAsItWas) {
  const std::string path = testing::TempDir() + "/csv_refused.csv";
  std::ofstream(path) << "the log of last night\n";
  const Tensor x = full({4, 2}, 1), y = full({4}, 0, DType::kI32);
  Sequential model{Dense({.units = 2})};
  model.compile();
  const auto logger = CSVLogger(path);
  EXPECT_EQ(rule_of([&] {
              model.fit(x, y, {.callbacks = {logger, EarlyStopping({.monitor = "los", .mode = "min"})}});
            }),
            "early_stopping.monitor");
  EXPECT_EQ(rule_of([&] { model.fit(x, full({4}, 1), {.callbacks = {logger}}); }),
            "sparse_categorical_crossentropy.labels");
  EXPECT_EQ(text_of_file(path), "the log of last night\n");
  model.fit(x, y, {.epochs = 0, .callbacks = {logger}});
  EXPECT_EQ(text_of_file(path), "epoch,accuracy,loss\n");
}

TEST(Callbacks, MistakesAreNamedBeforeTheFirstStep) {
  const auto refused = [](std::shared_ptr<Callback> callback) {
    Scripted run({1, 2});
    const float weight = run.weight();
    const std::string rule = rule_of([&] { run.run(callback); });
    EXPECT_EQ(run.weight(), weight);
    return rule;
  };
  EXPECT_EQ(refused(EarlyStopping()), "early_stopping.monitor");
  EXPECT_EQ(refused(EarlyStopping({.monitor = "mystery"})), "early_stopping.monitor");
  EXPECT_EQ(refused(CSVLogger("/absent/log.csv")), "csv_logger.path");
  EXPECT_EQ(refused(ReduceLROnPlateau({.monitor = "los", .mode = "min"})), "reduce_lr_on_plateau.monitor");
  EXPECT_EQ(refused(LearningRateScheduler([](int, double) { return -1.0; })), "learning_rate_scheduler.rate");
  EXPECT_EQ(rule_of([] { LearningRateScheduler(nullptr); }), "learning_rate_scheduler.schedule");
  EXPECT_EQ(rule_of([] { EarlyStopping({.mode = "least"}); }), "early_stopping.mode");
  EXPECT_EQ(rule_of([] { EarlyStopping({.monitor = "val_accuracy"}); }), "nothing");
  EXPECT_EQ(rule_of([] { EarlyStopping({.patience = -1}); }), "early_stopping.patience");
  EXPECT_EQ(rule_of([] { ReduceLROnPlateau({.factor = 1}); }), "reduce_lr_on_plateau.factor");
  EXPECT_EQ(rule_of([] { ReduceLROnPlateau({.min_delta = NAN}); }), "reduce_lr_on_plateau.min_delta");
}

// Every update would set the rate anew.
TEST(Callbacks, ASchedulesRateIsNobodyElses) {
  const Tensor x = full({4, 2}, 1), y = full({4}, 1, DType::kI32);
  Sequential model{Dense({.units = 2})};
  const auto rule = [&](std::shared_ptr<Callback> callback) {
    return rule_of([&] { model.fit(x, y, {.callbacks = {callback}}); });
  };
  model.compile({.optimizer = SGD{.learning_rate = CosineDecay{0.1, 10}}});
  EXPECT_EQ(rule(ReduceLROnPlateau({.monitor = "loss"})), "reduce_lr_on_plateau.optimizer");
  EXPECT_EQ(rule(LearningRateScheduler([](int, double rate) { return rate; })),
            "learning_rate_scheduler.optimizer");
  model.compile({.optimizer = SGD{.learning_rate = 0.1}});
  EXPECT_EQ(rule(ReduceLROnPlateau({.monitor = "loss"})), "nothing");
  EXPECT_EQ(rule(LearningRateScheduler([](int, double rate) { return rate; })), "nothing");
}

TEST(Callbacks, AMonitorSaysWhatIsMissing) {
  Sequential model{Dense({.units = 2})};
  model.compile({.metrics = {metrics::Mean("mystery")}});
  const Tensor x = full({4, 2}, 1), y = full({4}, 1, DType::kI32);
  const auto refusal = [&](const EarlyStoppingOptions& options) {
    try {
      model.fit(x, y, {.callbacks = {EarlyStopping(options)}});
    } catch (const ValueError& error) {
      return cat(error.rule(), ": ", error.message(), " ", error.fix());
    }
    return std::string();
  };
  EXPECT_TRUE(refusal({.monitor = "mystery"}).starts_with("early_stopping.mode"));
  EXPECT_NE(refusal({.monitor = "val_loss"}).find("validation_split"), std::string::npos);
  EXPECT_NE(refusal({.monitor = "los"}).find("did you mean \"loss\""), std::string::npos);
}

TEST(Callbacks, KnowTheirModelInsideOfHooksOnly) {
  struct Stop final : Callback {
    int steps = 0, ends = 0;
    void on_batch_end(int64_t step, const Logs&) override {
      ++steps;
      if (step == 3) model().stop_training();
    }
    void on_epoch_end(int, const Logs& logs) override { ends += logs.count("loss") == 1; }
    void on_train_end(const Logs&) override { ends += 10; }
  };
  const auto stop = std::make_shared<Stop>();
  EXPECT_EQ(rule_of([&] { stop->on_batch_end(3, {}); }), "callback.model");
  stop->steps = 0;
  Sequential model{Dense({.units = 2})};
  model.compile();
  const Tensor x = full({20, 2}, 1), y = full({20}, 1, DType::kI32);
  EXPECT_EQ(model.fit(x, y, {.epochs = 4, .batch_size = 2, .callbacks = {stop}}).size(), 1u);
  EXPECT_EQ(stop->steps, 3);
  EXPECT_EQ(stop->ends, 11);
  EXPECT_EQ(model.fit(x, y, {.epochs = 4}).size(), 4u) << "the wish ends with its run";
}

// Its loss is its input, row by row.
Sequential echo() {
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})};
  model.compile(
      {.optimizer = SGD{.learning_rate = 0},
       .loss = {"output",
                [](const Tensor&, const Tensor& outputs) { return reshape(outputs, {outputs.size(0)}); }},
       .metrics = {}});
  return model;
}

TEST(Callbacks, TerminateOnNaNEndsTheRunBehindTheStep) {
  for (const std::vector<float>& rows : {std::vector<float>{1, 2, 3, NAN}, {1, 2, 3, NAN, 5, 6}}) {
    int64_t steps = 0;
    const auto count = LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) { ++steps; }});
    const Tensor x = Tensor::of(rows, {static_cast<int64_t>(rows.size()), 1});
    const FitOptions options{
        .epochs = 5, .batch_size = 1, .shuffle = false, .callbacks = {TerminateOnNaN(), count}};
    EXPECT_EQ(echo().fit(x, x, options).size(), 1u);
    EXPECT_EQ(steps, 4);
  }
}

TEST(ConsoleProgress, SaysThatAClassIsNotAmongTheRowsThatValidate) {
  Sequential model{Dense({.units = 2})};
  model.compile();
  std::vector<int32_t> labels(20, 0);
  std::fill(labels.begin(), labels.begin() + 8, 1);
  testing::internal::CaptureStderr();
  model.fit(full({20, 2}, 1), Tensor::of(labels),
            {.validation_split = 0.25, .callbacks = {ConsoleProgress()}});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(
      said.starts_with("note: class 1 of the labels: no row among the validation rows; "
                       "validation_split takes the last rows as they are given"))
      << said;
}

TEST(ConsoleProgress, IsQuietInALog) {
  Scripted script({3, 2, 1});
  testing::internal::CaptureStderr();
  script.run(ConsoleProgress());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ConsoleProgress, SaysAtWhichStepTheLossBecameNoNumber) {
  const auto said = [](float last) {
    // Three steps an epoch: neither the first nor the last.
    const Tensor x = Tensor::of<float>({1, 2, 3, 4, last, 6}, {6, 1});
    testing::internal::CaptureStderr();
    echo().fit(x, x,
               {.epochs = 2,
                .batch_size = 1,
                .shuffle = false,
                .steps_per_epoch = 3,
                .callbacks = {ConsoleProgress()}});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_TRUE(said(NAN).starts_with("the loss is NaN from step 2 of epoch 2 on: ")) << said(NAN);
  EXPECT_TRUE(said(-INFINITY).starts_with("the loss is infinite from step 2 of epoch 2 on: "));
  EXPECT_EQ(said(5), "");
}

TEST(ConsoleProgress, SaysAgainAtTheEndThatTheLossIsNoNumber) {
  Scripted script({1, NAN, NAN});
  testing::internal::CaptureStderr();
  script.run(ConsoleProgress());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("the loss is NaN from step 1 of epoch 2 on: the training diverged")) << said;
  EXPECT_TRUE(said.ends_with("\nthe loss is NaN from step 1 of epoch 2 on\n")) << said;
  for (const char* remedy : {"TerminateOnNaN ends such a run", "check_numerics says where it begins"})
    EXPECT_NE(said.find(remedy), std::string::npos) << said;
}

}  // namespace
}  // namespace espalier
