// What hooks of fit call of the model that trains.
#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

struct NestedCalls {
  NestedCalls(bool eager, const Strategy* strategy, double rate = 0) {
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    set_seed(5);
    model.compile({.optimizer = SGD{.learning_rate = rate},
                   .loss = MeanSquaredError(),
                   .metrics = {"mae", "r2_score", shared},
                   .run_eagerly = eager});
    model.predict(x);
  }
  Logs run(const LambdaCallbackOptions& hooks, int epochs = 1) {
    return model
        .fit(x, y,
             {.epochs = epochs, .batch_size = 16, .shuffle = false, .callbacks = {LambdaCallback(hooks)}})
        .back();
  }

  Tensor x = random_normal({160, 3}, 1, 0), y = reshape(sum(x, 1), {160, 1});
  Tensor few_x = slice(x, {0, 0}, {8, 3}) * 7.f, few_y = slice(y, {0, 0}, {8, 1});
  Metric shared = metrics::MeanAbsoluteError("shared");
  Sequential model{Dense({.units = 1})};
};

// The model does not learn, so the epoch's loss and metrics are those of evaluate() on its rows.
TEST(NestedCalls, TheEpochsLossAndMetricsStayItsOwn) {
  const strategy::Mirrored two({.devices = 2});
  struct Case {
    bool eager;
    const Strategy* strategy;
  };
  for (const Case& of : {Case{false, nullptr}, Case{true, nullptr}, Case{false, &two}}) {
    NestedCalls nested(of.eager, of.strategy);
    const Logs right = nested.model.evaluate(nested.x, nested.y),
               few = nested.model.evaluate(nested.few_x, nested.few_y);
    ASSERT_NE(right, few);
    const Dataset batches = Dataset::from_tensor_slices({nested.few_x, nested.few_y}).batch(4);
    Sequential other{Dense({.units = 1})};
    other.compile({.loss = MeanSquaredError(), .metrics = {nested.shared}});
    const Logs of_other = other.evaluate(nested.few_x, nested.few_y);
    const std::pair<const char*, std::function<void()>> calls[] = {
        {"nothing", [] {}},
        {"evaluate", [&] { EXPECT_EQ(nested.model.evaluate(nested.few_x, nested.few_y), few); }},
        {"evaluate of a dataset",
         [&] {
           EXPECT_NEAR(nested.model.evaluate(batches).at("loss"), few.at("loss"), 1e-5 * few.at("loss"));
         }},
        {"evaluate of another model with the same metric",
         [&] { EXPECT_EQ(other.evaluate(nested.few_x, nested.few_y), of_other); }},
        {"predict", [&] { nested.model.predict(nested.few_x); }},
        {"train_on_batch",
         [&] {
           EXPECT_NEAR(nested.model.train_on_batch(nested.few_x, nested.few_y).at("mae"), few.at("mae"),
                       1e-5);
         }},
        {"fit",
         [&] {
           EXPECT_NEAR(nested.model.fit(nested.few_x, nested.few_y)[0].at("mae"), few.at("mae"), 1e-5);
         }},
    };
    for (const auto& [name, call] : calls) {
      SCOPED_TRACE(name);
      const auto after = [&](int64_t step, const Logs&) {
        if (step == 1 || step == 3 || step == 10) call();
      };
      const Logs logs = nested.run({.on_batch_end = after});
      for (const auto& [metric, value] : right)
        EXPECT_NEAR(logs.at(metric), value, 1e-5 * std::abs(value))
            << metric << (of.eager ? ", eagerly" : "");
      // Where hooks of epochs call, too.
      const Logs again = nested.run({.on_train_begin = [&](const Callback::Run&) { call(); },
                                     .on_epoch_begin = [&](int) { call(); },
                                     .on_batch_end = after,
                                     .on_epoch_end = [&](int, const Logs&) { call(); }},
                                    2);
      EXPECT_EQ(again, logs);
    }
  }
}

TEST(NestedCalls, AnEvaluationThatIsRefusedLeavesTheEpochsSums) {
  NestedCalls nested(false, nullptr);
  const Logs right = nested.run({});
  const Logs logs = nested.run({.on_batch_end = [&](int64_t step, const Logs&) {
    if (step == 5) {
      EXPECT_ANY_THROW(nested.model.evaluate(nested.few_x, nested.x));
    }
  }});
  EXPECT_EQ(logs, right);
}

TEST(NestedCalls, AStoppedFitInAHookDoesNotStopTheRun) {
  NestedCalls nested(false, nullptr);
  size_t inner = 0;
  const auto stops =
      LambdaCallback({.on_epoch_end = [&](int, const Logs&) { nested.model.stop_training(); }});
  int epochs = 0;
  nested.run(
      {.on_epoch_begin =
           [&](int) {
             ++epochs;
             inner +=
                 nested.model.fit(nested.few_x, nested.few_y, {.epochs = 5, .callbacks = {stops}}).size();
           }},
      3);
  EXPECT_EQ(epochs, 3);
  EXPECT_EQ(inner, 3u);
  // What the run itself was asked before stays asked.
  epochs = 0;
  nested.run({.on_epoch_begin =
                  [&](int) {
                    ++epochs;
                    nested.model.stop_training();
                    nested.model.fit(nested.few_x, nested.few_y);
                  }},
             3);
  EXPECT_EQ(epochs, 1);
}

}  // namespace
}  // namespace espalier
