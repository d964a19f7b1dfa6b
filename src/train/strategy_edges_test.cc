// Runs of workers that are shorter, or have fewer rows, than others.
#include <atomic>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

struct EdgeRows {
  Tensor x = random_normal({9, 4}, 1, 0), y = argmax(x, 1);
};

// Nobody else would say that the model of the first worker is not that of others.
TEST(StrategyEdges, ARunOfFewStepsIsAuditedBehindItsLast) {
  const auto errors = errors_of_workers(3, [](const Strategy& workers) {
    const auto scope = workers.scope();
    const EdgeRows rows;
    Sequential model{Dense({.units = 4})};
    model.compile({.optimizer = SGD{}});
    const auto moves = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
      if (workers.worker() == 2 && step == 1) model.variables()[1].assign(full({4}, 0.5));
    }});
    model.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 3, .callbacks = {moves}});
  });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("[strategy.audit]"), std::string::npos) << error;
    EXPECT_NE(error.find("of rank 2 differs from that of ranks 0, 1 behind step 3"), std::string::npos)
        << error;
  }
}

// Of all that differs the smallest variable is named, those of the optimizer first, with its values.
TEST(StrategyEdges, AnAuditNamesTheSmallestVariableThatDiffers) {
  const auto errors = errors_of_workers(3, [](const Strategy& workers) {
    const auto scope = workers.scope();
    const EdgeRows rows;
    Sequential model{Dense({.units = 4}), Dense({.units = 1})};
    model.compile({.optimizer = SGD{.momentum = 0.9}, .loss = MeanSquaredError()});
    const auto moves = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
      if (workers.worker() != 2 || step != 3) return;
      for (Variable variable : model.variables())
        if (variable.shape().size() == 2) variable.assign(full(variable.shape(), 0.25));
      for (Variable variable : model.optimizer().variables())
        if (variable.type() == TensorType{DType::kI64, {}}) variable.assign(full({}, 7, DType::kI64));
    }});
    model.fit(rows.x, reshape(reduce_sum(rows.x, {1}), {9, 1}),
              {.epochs = 1, .batch_size = 3, .callbacks = {moves}});
  });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("[strategy.audit]"), std::string::npos) << error;
    EXPECT_NE(error.find("it is 3 on ranks 0, 1 and 7 on rank 2"), std::string::npos) << error;
  }
}

// What a callback of one worker changes is named behind the step or the epoch it does so at, before the next
// step.
TEST(StrategyEdges, ACallbackOfOneWorkerIsToldWhatItChanged) {
  for (const bool at_epoch : {false, true}) {
    for (const char* const what : {"rate", "frozen", "all"}) {
      SCOPED_TRACE(cat(what, at_epoch ? " at the begin of an epoch" : " behind a step"));
      std::atomic<int> steps = 0;
      const auto errors = errors_of_workers(3, [&](const Strategy& workers) {
        const auto scope = workers.scope();
        const EdgeRows rows;
        Sequential model{Dense({.units = 5, .name = "first"}), Dense({.units = 4, .name = "last"})};
        model.compile({.optimizer = SGD{.learning_rate = 0.25}});
        const auto changes = [&] {
          if (what == std::string("rate") ? workers.worker() != 2
                                          : workers.worker() != 1 && what != std::string("all"))
            return;
          if (what == std::string("rate"))
            model.optimizer().learning_rate().assign(Tensor::scalar(0.5f));
          else
            for (const size_t i : {0, 1}) model.variables()[i].set_trainable(false);
        };
        const auto callback = LambdaCallback({.on_epoch_begin =
                                                  [&](int epoch) {
                                                    if (at_epoch && epoch == 1) changes();
                                                  },
                                              .on_batch_end =
                                                  [&](int64_t step, const Logs&) {
                                                    ++steps;
                                                    if (!at_epoch && step == 2) changes();
                                                  }});
        model.fit(rows.x, rows.y, {.epochs = 2, .batch_size = 3, .callbacks = {callback}});
      });
      const std::string step = at_epoch ? " behind step 3" : " behind step 2";
      for (const std::string& error : errors) {
        if (what == std::string("all")) {
          EXPECT_EQ(error, "");
          continue;
        }
        EXPECT_NE(error.find("RunError[strategy.audit]"), error.npos) << error;
        if (what == std::string("rate")) {
          EXPECT_NE(error.find("learning_rate\" is 0.25 on ranks 0, 1 and 0.5 on rank 2" + step), error.npos)
              << error;
        } else {
          const std::string wanted =
              "variable \"sequential/first/bias\" is trained on ranks 0, 2 and frozen on rank 1, and 1 more "
              "variable";
          EXPECT_NE(error.find(wanted + step), error.npos) << error;
        }
      }
      EXPECT_EQ(steps, what == std::string("all") ? 18 : at_epoch ? 9 : 6);
    }
  }
}

// Behind the first step of two workers `odd` is called on the second one, with its model and metric.
using TurnOdd = std::function<void(Model&, const Metric&)>;
std::vector<std::string> errors_of_an_odd_step(const std::string& folder, int64_t save_freq,
                                               const TurnOdd& odd) {
  return errors_of_workers(2, [&](const Strategy& workers) {
    const auto scope = workers.scope();
    const EdgeRows rows;
    set_seed(4);
    Sequential model{Dense({.units = 4, .name = "dense"}), Dropout(0.1)};
    const Metric metric = metrics::SparseCategoricalAccuracy();
    model.compile({.optimizer = Adam{}, .metrics = {metric}, .loss_scale = LossScale{}});
    const auto turns_odd = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
      if (workers.worker() == 1 && step == 1) odd(model, metric);
    }});
    model.fit(
        rows.x, rows.y,
        {.epochs = 2,
         .batch_size = 3,
         .callbacks = {turns_odd, BackupAndRestore({.path = folder + "/run", .save_freq = save_freq})}});
  });
}

// Nothing odd is saved, also within an epoch and where no audit is due otherwise.
TEST(StrategyEdges, WhatIsOddIsNamedBeforeItIsSaved) {
  for (const int64_t save_freq : {1, 2, 0}) {
    SCOPED_TRACE(save_freq);
    const std::string folder = fresh_folder("strategy-odd");
    const auto errors = errors_of_an_odd_step(
        folder, save_freq, [](Model& model, const Metric&) { model.variables()[1].assign(full({4}, 1e-6)); });
    // By default it is saved behind each epoch, of three steps.
    const std::string step = cat("behind step ", save_freq ? save_freq : 3);
    for (const std::string& error : errors)
      EXPECT_NE(error.find(cat("\"sequential/dense/bias\" of rank 1 differs from that of rank 0 ", step)),
                std::string::npos)
          << error;
    EXPECT_FALSE(std::filesystem::exists(folder + "/run"));
  }
}

// Whatever a run keeps: of the model, of the optimizer, of what it logs, and of the generator.
TEST(StrategyEdges, EachVariableOfARunIsAudited) {
  const auto kept = [](Model& model, const Metric& metric) {
    std::vector<Variable> out = model.variables();
    for (const auto& more :
         {model.optimizer().variables(), metric.variables(),
          std::vector{default_generator().key_variable(), default_generator().step_variable()}})
      out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  size_t count = 1;
  for (size_t i = 0; i < count; ++i) {
    std::string path;
    const auto errors =
        errors_of_an_odd_step(fresh_folder("strategy-audited"), 1, [&](Model& model, const Metric& metric) {
          const std::vector<Variable> all = kept(model, metric);
          count = all.size();
          Variable variable = all[i];
          path = variable.path();
          variable.assign(variable.read() + 1);
        });
    SCOPED_TRACE(path);
    for (const std::string& error : errors)
      EXPECT_NE(error.find(path == "adam/learning_rate"  // which is looked at without an audit, too
                               ? "\"adam/learning_rate\" is 0.001 on rank 0 and 1.001 on rank 1 behind step 1"
                               : cat("\"", path, "\" of rank 1 differs from that of rank 0 behind step 1")),
                std::string::npos)
          << error;
  }
  EXPECT_GT(count, 8u);
}

// What one worker evaluates with is named before any of it counts; and what is equal is not.
TEST(StrategyEdges, WorkersThatEvaluateWithOthersAreTold) {
  for (const char* const differs : {"nothing", "variable", "data"}) {
    for (const char* const verb : {"evaluate", "predict"}) {
      SCOPED_TRACE(std::string(verb) + " " + differs);
      const auto errors = errors_of_workers(3, [&](const Strategy& workers) {
        const auto scope = workers.scope();
        const EdgeRows rows;
        set_seed(1);
        Sequential model{Dense({.units = 4, .name = "dense"})};
        model.compile({.optimizer = SGD{}});
        model(rows.x);
        const bool odd = workers.worker() == 1;
        Variable bias = model.variables()[1];
        if (odd && differs == std::string("variable")) bias.assign(full({4}, 1e-6));
        const Tensor x = odd && differs == std::string("data") ? rows.x * 1.0001 : rows.x;
        verb == std::string("evaluate") ? (void)model.evaluate(x, rows.y) : (void)model.predict(x);
      });
      for (const std::string& error : errors) {
        if (differs == std::string("nothing")) {
          EXPECT_EQ(error, "");
          continue;
        }
        const std::string what =
            differs == std::string("data") ? "the data" : "variable \"sequential/dense/bias\"";
        EXPECT_NE(error.find("[strategy.audit]"), std::string::npos) << error;
        EXPECT_NE(error.find(what + " of rank 1 differs from that of ranks 0, 2 in " + verb),
                  std::string::npos)
            << error;
      }
    }
  }
}

TEST(StrategyEdges, WorkersThatAddUpOtherShapesAreTold) {
  const auto errors = errors_of_workers(2, [](const Strategy& workers) {
    const auto scope = workers.scope();
    const auto sums = function([](const Tensor& rows) { return strategy::all_reduce({rows})[0]; });
    workers.run(sums, {{{full({2 + workers.worker()}, 1)}}});
  });
  for (const std::string& error : errors)
    EXPECT_NE(
        error.find("the next collective of rank 1 in \"function\" is all_reduce f32[3], and that of rank 0 "
                   "is all_reduce f32[2]"),
        std::string::npos)
        << error;
}

// The first worker has none of the rows of a batch that is smaller than the number of workers.
TEST(StrategyEdges, AModelOfBatchesSmallerThanTheWorkersIsMadeOfRows) {
  const std::string folder = fresh_folder("strategy-edges") + "/model";
  const auto errors = errors_of_workers(3, [&](const Strategy& workers) {
    const auto scope = workers.scope();
    const EdgeRows rows;
    Sequential model{Dense({.units = 4})};
    model.compile({.optimizer = SGD{}});
    model.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 1});
    model.save(folder);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

// Each worker has a disk of its own, and the first one's has the checkpoint: others would begin anew.
TEST(StrategyEdges, ACheckpointThatAWorkerDoesNotSeeIsNamedOnAll) {
  const std::string folder = fresh_folder("strategy-disks");
  const auto disk = [&](int rank) { return cat(folder, "/disk", rank); };
  std::atomic<int> steps = 0;
  const auto errors_of_run = [&](int epochs) {
    steps = 0;
    return errors_of_workers(3, [&](const Strategy& workers) {
      const auto scope = workers.scope();
      const EdgeRows rows;
      Sequential model{Dense({.units = 4})};
      model.compile({.optimizer = SGD{}});
      const auto counts = LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) { ++steps; }});
      const auto backup = BackupAndRestore({.path = disk(workers.worker()), .delete_checkpoint = false});
      model.fit(rows.x, rows.y, {.epochs = epochs, .batch_size = 3, .callbacks = {counts, backup}});
    });
  };
  const auto expect_refused = [&](const std::string& unseen, const std::string& seen) {
    const std::vector<std::string> errors = errors_of_run(2);
    for (int rank = 0; rank < 3; ++rank) {
      const std::string& error = errors[static_cast<size_t>(rank)];
      EXPECT_NE(error.find("ValueError[backup.unseen]"), error.npos) << error;
      EXPECT_NE(error.find(cat(unseen, " not see ", disk(rank), ", from which ", seen)), error.npos) << error;
    }
    EXPECT_EQ(steps, 0);
  };
  for (const std::string& error : errors_of_run(1)) EXPECT_EQ(error, "");
  expect_refused("ranks 1, 2 do", "rank 0 goes on");
  std::filesystem::rename(disk(0), disk(1));
  expect_refused("ranks 0, 2 do", "rank 1 goes on");
  std::filesystem::copy(disk(1), disk(0));
  expect_refused("rank 2 does", "ranks 0, 1 go on");
  std::filesystem::copy(disk(1), disk(2));
  for (const std::string& error : errors_of_run(2)) EXPECT_EQ(error, "");
  EXPECT_EQ(steps, 9);
}

// The last batch of each epoch is one row, of which the second worker has none.
TEST(StrategyEdges, ALayerIsFrozenBeforeABatchOfWhichAWorkerHasNoShard) {
  const auto trained = [](const Strategy* workers) {
    set_seed(1);
    std::optional<Strategy::Scope> scope;
    if (workers) scope.emplace(workers->replicas());
    const EdgeRows rows;
    Sequential model{Dense({.units = 5, .activation = "relu"}), Dense({.units = 4})};
    model.compile({.optimizer = Adam{.learning_rate = 0.1}, .logical_shards = 2});
    const auto freezes = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
      if (step == 1) model.variables()[0].set_trainable(false);
    }});
    model.fit(rows.x, rows.y, {.epochs = 2, .batch_size = 8, .callbacks = {freezes}});
    std::vector<std::vector<float>> weights;
    for (const Variable& variable : model.variables()) weights.push_back(variable.read().to_vector<float>());
    return weights;
  };
  const auto one = trained(nullptr);
  on_each_worker(2, [&](const Strategy& workers) { EXPECT_EQ(trained(&workers), one); });
}

}  // namespace
}  // namespace espalier
