// fit and evaluate on data that each worker names itself.
#include <algorithm>
#include <mutex>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// How many rows each element of each worker has.
using OwnSizes = std::vector<std::vector<int64_t>>;

// f32[6] and a class of 3, of a row that no other worker has.
Tensors own_row(size_t worker, int64_t number) {
  Philox random(hash_combine(worker + 1, static_cast<uint64_t>(number)));
  std::vector<float> x;
  for (int i = 0; i < 6; ++i) x.push_back(static_cast<float>(random.below(2000)) / 1000.0f - 1);
  return {Tensor::of(x), Tensor::scalar<int32_t>(x[0] + x[1] > 0.3f ? 2 : x[2] > 0 ? 1 : 0)};
}

Tensors rows_from(const std::vector<std::pair<size_t, int64_t>>& which) {
  if (which.empty()) return {full({0, 6}, 0), full({0}, 0, DType::kI32)};
  std::vector<Tensor> x, y;
  for (const auto& [worker, number] : which) {
    const Tensors row = own_row(worker, number);
    x.push_back(reshape(row[0], {1, 6}));
    y.push_back(reshape(row[1], {1}));
  }
  return {concatenate(x, 0), concatenate(y, 0)};
}

// The rows of element `element`, of some workers one behind the other.
Tensors element_of(const OwnSizes& sizes, size_t element, size_t first, size_t last) {
  std::vector<std::pair<size_t, int64_t>> which;
  for (size_t worker = first; worker < last; ++worker) {
    int64_t before = 0;
    for (size_t i = 0; i < element && i < sizes[worker].size(); ++i) before += sizes[worker][i];
    const int64_t rows = element < sizes[worker].size() ? sizes[worker][element] : 0;
    for (int64_t row = 0; row < rows; ++row) which.emplace_back(worker, before + row);
  }
  return rows_from(which);
}

Dataset elements_of(const OwnSizes& sizes, size_t elements, size_t first, size_t last) {
  return Dataset::from_generator([=] {
    return [=, element = size_t{0}]() mutable -> std::optional<Tensors> {
      if (element == elements) return std::nullopt;
      return element_of(sizes, element++, first, last);
    };
  });
}

Dataset own_data(const OwnSizes& sizes, int worker) {
  const auto w = static_cast<size_t>(worker);
  return Dataset::per_worker(elements_of(sizes, sizes[w].size(), w, w + 1));
}

// What one device would read: batch i is element i of each.
Dataset union_of(const OwnSizes& sizes) {
  size_t most = 0;
  for (const auto& of_worker : sizes) most = std::max(most, of_worker.size());
  return elements_of(sizes, most, 0, sizes.size());
}

struct OwnLedger final : Callback {
  bool wants_rows() const override { return true; }
  bool chief_only() const override { return false; }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override {
    entries.push_back({epoch, rows, ids});
  }
  std::vector<std::tuple<int, int64_t, uint64_t>> entries;
};

struct OwnTrained {
  std::vector<std::vector<float>> weights;
  std::vector<Logs> logs;
  std::vector<std::tuple<int, int64_t, uint64_t>> ledger;
  std::vector<std::string> notes;
};

struct OwnRun {
  double dropout = 0;
  int logical_shards = 0;
  FitOptions fit = {.epochs = 2};
  int64_t stops_after = -1;

  OwnTrained train(const Dataset& dataset, const Strategy* strategy = nullptr) const {
    set_seed(3);
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    Sequential model{Dense({.units = 16, .activation = "relu"}), Dropout(dropout), Dense({.units = 3})};
    model.compile({.optimizer = Adam{.learning_rate = 0.01},
                   .metrics = {"accuracy"},
                   .logical_shards = logical_shards});
    const auto ledger = std::make_shared<OwnLedger>();
    OwnTrained out;
    int64_t steps = 0;
    FitOptions options = fit;
    options.callbacks.push_back(ledger);
    options.callbacks.push_back(
        LambdaCallback({.on_note = [&](const std::string& note) { out.notes.push_back(note); },
                        .on_batch_end =
                            [&](int64_t, const Logs&) {
                              if (++steps == stops_after) model.stop_training();
                            }}));
    out.logs = model.fit(dataset, options);
    out.ledger = ledger->entries;
    for (const Variable& variable : model.variables()) {
      if (variable.dtype() == DType::kF32) out.weights.push_back(variable.read().to_vector<float>());
    }
    return out;
  }
  OwnTrained train_on(const OwnSizes& sizes) const {
    std::vector<OwnTrained> all(sizes.size());
    on_each_worker(static_cast<int>(sizes.size()), [&](const Strategy& strategy) {
      all[static_cast<size_t>(strategy.worker())] = train(own_data(sizes, strategy.worker()), &strategy);
    });
    for (const OwnTrained& other : all) {
      EXPECT_EQ(other.weights, all[0].weights);
      EXPECT_EQ(other.ledger, all[0].ledger);
    }
    return all[0];
  }
};

void expect_trained_alike(const OwnTrained& got, const OwnTrained& wanted) {
  ASSERT_EQ(got.weights.size(), wanted.weights.size());
  for (size_t i = 0; i < got.weights.size(); ++i) {
    float largest = 0, most = 0;
    for (size_t k = 0; k < got.weights[i].size(); ++k) {
      largest = std::max(largest, std::abs(wanted.weights[i][k]));
      most = std::max(most, std::abs(wanted.weights[i][k] - got.weights[i][k]));
    }
    EXPECT_LE(most, 5e-6 * largest);
  }
  EXPECT_EQ(got.ledger, wanted.ledger);
  ASSERT_EQ(got.logs.size(), wanted.logs.size());
  for (const auto& [name, value] : wanted.logs.back())
    EXPECT_NEAR(got.logs.back().at(name), value, 1e-5) << name;
}

const OwnSizes kTwo = {{5, 3, 4}, {2, 6, 1, 3, 3}}, kThree = {{4, 4}, {}, {1, 7, 2, 5}},
               kFive = {{3}, {2, 2, 2}, {1}, {0, 4}, {6, 1, 1, 1}};

// The rows of worker 0 stand first in a batch: Dropout draws by place, and class weights are of rows.
TEST(FitOwnData, IsTrainedOnAsTheRowsOfAllOnOneDevice) {
  for (const OwnSizes& sizes : {kTwo, kThree, kFive}) {
    for (const double dropout : {0.0, 0.4}) {
      SCOPED_TRACE(cat(sizes.size(), " workers, dropout ", dropout));
      OwnRun run{.dropout = dropout};
      run.fit.class_weight = {{0, 2.5}, {2, 0.5}};
      const OwnTrained one = run.train(union_of(sizes)), many = run.train_on(sizes);
      expect_trained_alike(many, one);
      int64_t rows = 0;
      for (const auto& of_worker : sizes)
        for (const int64_t size : of_worker) rows += size;
      for (const auto& [epoch, counted, ids] : many.ledger) EXPECT_EQ(counted, rows);
    }
  }
}

// Passes of all begin together, so an epoch of steps may begin within one.
TEST(FitOwnData, EpochsOfStepsGoOverTheEndsOfPasses) {
  OwnRun run;
  run.fit.epochs = 4;
  run.fit.steps_per_epoch = 3;
  expect_trained_alike(run.train_on(kTwo), run.train(union_of(kTwo)));
  run.fit.initial_epoch = 1;
  expect_trained_alike(run.train_on(kThree), run.train(union_of(kThree)));
}

TEST(FitOwnData, IsEvaluatedAndValidatedOnToo) {
  OwnRun run;
  const OwnSizes& sizes = kThree;
  run.fit.validation_data = union_of(kFive);
  const OwnTrained one = run.train(union_of(sizes));
  EXPECT_TRUE(one.logs.back().contains("val_loss"));
  // Validation of each worker's own: three workers have the rows of five.
  OwnSizes held = {{3, 1, 1}, {2}, {1, 7}};
  run.fit.validation_data = union_of(held);
  const OwnTrained wanted = run.train(union_of(sizes));
  on_each_worker(3, [&](const Strategy& strategy) {
    OwnRun own = run;
    own.fit.validation_data = own_data(held, strategy.worker());
    expect_trained_alike(own.train(own_data(sizes, strategy.worker()), &strategy), wanted);
  });
  const auto evaluated = [](const Dataset& data, const Strategy* strategy) {
    set_seed(3);
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    Sequential model{Dense({.units = 3})};
    model.compile({.metrics = {"accuracy"}});
    return model.evaluate(data);
  };
  const Logs of_one = evaluated(union_of(sizes), nullptr);
  on_each_worker(3, [&](const Strategy& strategy) {
    const Logs of_many = evaluated(own_data(sizes, strategy.worker()), &strategy);
    for (const auto& [name, value] : of_one) EXPECT_NEAR(of_many.at(name), value, 1e-6) << name;
  });
}

// Stopped behind any step, each worker goes on at its place.
TEST(FitOwnData, WhatWasSavedGoesOnToTheSameBits) {
  const std::string folder = fresh_folder("fit_own_data");
  for (const int steps : {0, 3}) {
    OwnRun run{.dropout = 0.3};
    run.fit.epochs = 3;
    run.fit.steps_per_epoch = steps;
    const OwnTrained whole = run.train_on(kThree);
    for (const int64_t step : {1, 3, 4, 6, 8}) {
      SCOPED_TRACE(cat(steps, " steps an epoch, step ", step));
      const std::string path = cat(folder, "/", steps, "_", step);
      OwnRun saves = run;
      saves.fit.callbacks = {BackupAndRestore({.path = path})};
      saves.stops_after = step;
      saves.train_on(kThree);
      ASSERT_TRUE(posix_env().exists(path));
      saves.stops_after = -1;
      const OwnTrained rest = saves.train_on(kThree);
      EXPECT_EQ(rest.weights, whole.weights);
      ASSERT_FALSE(rest.ledger.empty());
      EXPECT_EQ(rest.ledger,
                decltype(rest.ledger)(whole.ledger.end() - std::ssize(rest.ledger), whole.ledger.end()));
    }
  }
}

TEST(FitOwnData, AnotherNumberOfWorkersDoesNotGoOn) {
  const std::string path = fresh_folder("fit_own_world") + "/backup";
  OwnRun run{.fit = {.epochs = 3, .callbacks = {BackupAndRestore({.path = path})}}, .stops_after = 5};
  run.train_on(kThree);
  ASSERT_TRUE(posix_env().exists(path));
  for (const std::string& error : errors_of_workers(
           2, [&](const Strategy& strategy) { run.train(own_data(kTwo, strategy.worker()), &strategy); })) {
    EXPECT_NE(error.find("dataset.restore"), error.npos) << error;
    EXPECT_NE(error.find("has the places of 3 workers, each in data of its own, and here are 2"), error.npos)
        << error;
  }
}

TEST(FitOwnData, TheNoteSaysWhoseRowsTheyAre) {
  const auto notes = OwnRun().train_on(kTwo).notes;
  EXPECT_EQ(
      std::count(notes.begin(), notes.end(), "7 rows a step: those of its own data on each of 2 workers"), 1);
}

std::vector<std::string> heard(int world, const std::function<Dataset(int)>& data, int logical_shards = 0,
                               int64_t* steps = nullptr) {
  std::mutex mutex;
  return errors_of_workers(world, [&](const Strategy& strategy) {
    OwnRun run{.logical_shards = logical_shards};
    run.fit.callbacks = {LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
      const std::lock_guard hold(mutex);
      if (steps) ++*steps;
    }})};
    run.train(data(strategy.worker()), &strategy);
  });
}

// The programs of three ways to name data by the worker: none is trained on in part and not said.
TEST(FitOwnData, WithoutSayingSoItIsRefusedBeforeTheFirstStep) {
  const OwnSizes sizes = {{4, 4}, {4, 4}, {4, 4}};
  const auto generator = [&](int worker) {
    return elements_of(sizes, 2, static_cast<size_t>(worker), static_cast<size_t>(worker) + 1);
  };
  std::vector<int32_t> classes;
  for (int32_t i = 0; i < 60; ++i) classes.push_back(i % 3);
  const auto all = [classes] {
    return Dataset::from_tensor_slices({random_normal({60, 6}, 1, 0), Tensor::of(classes)});
  };
  const auto filtered = [all](int worker) {
    return all()
        .filter([worker](const Tensor&, const Tensor& y) { return y.item<int32_t>() == worker; })
        .batch(8);
  };
  const auto sharded = [all](int worker) { return all().shard(3, worker).batch(8); };
  // Of a generator that gives other columns nothing is known before its first row.
  const auto narrower = [](int worker) {
    return Dataset::from_generator([worker] {
      return [worker, left = 2]() mutable -> std::optional<Tensors> {
        if (left-- == 0) return std::nullopt;
        return Tensors{ones({8, worker == 1 ? 5 : 6}), full({8}, 1, DType::kI32)};
      };
    });
  };
  using Own = std::function<Dataset(int)>;
  for (const Own& data : {Own(generator), Own(filtered), Own(sharded), Own(narrower)}) {
    int64_t steps = 0;
    for (const std::string& error : heard(3, data, 0, &steps))
      for (const char* part : {"strategy.data", "worker 1", "Dataset::per_worker(data)"})
        EXPECT_NE(error.find(part), error.npos) << error;
    EXPECT_EQ(steps, 0);
  }
}

// Data that begin alike: the first batch tells nothing, the fourth does, on all workers in that step.
TEST(FitOwnData, DataThatBeginAlikeAndDifferLaterAreNamedInTheStep) {
  const auto differs_at = [](int64_t batch, int64_t row) {
    return [=](int worker) {
      std::vector<float> x(40 * 6, 0.25f);
      if (worker == 1 && row >= 0) x[static_cast<size_t>((batch * 8 + row) * 6 + 2)] = 0.5f;
      return Dataset::from_tensor_slices({Tensor::of(x, {40, 6}), full({40}, 1, DType::kI32)}).batch(8);
    };
  };
  for (const int64_t batch : {1, 3, 4}) {
    for (const std::string& error : heard(3, differs_at(batch, 7)))
      EXPECT_NE(error.find(cat("element ", batch,
                               " of the dataset of worker 1 is another one than that of worker 0")),
                error.npos)
          << error;
  }
  for (const std::string& error : heard(3, differs_at(0, -1))) EXPECT_EQ(error, "");
  // Ends that differ lose no rows either.
  const auto ends = [](int worker) {
    return Dataset::from_generator([worker] {
      return [left = 3 + (worker == 2)]() mutable -> std::optional<Tensors> {
        if (left-- == 0) return std::nullopt;
        return Tensors{ones({4, 6}), full({4}, 1, DType::kI32)};
      };
    });
  };
  for (const std::string& error : heard(3, ends))
    EXPECT_NE(error.find("the dataset of worker 0 ends before element 3, and that of worker 2 does not"),
              error.npos)
        << error;
}

TEST(FitOwnData, WhatItCannotBeIsRefusedByName) {
  const auto own = [](int worker) { return own_data(kTwo, worker); };
  for (const std::string& error : heard(2, own, 4))
    EXPECT_NE(error.find("fit.logical_shards"), error.npos) << error;
  const auto none = [](int) { return own_data({{}, {}}, 0); };
  for (const std::string& error : heard(2, none))
    EXPECT_NE(error.find("there are no batches"), error.npos) << error;
  on_each_worker(2, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Sequential model{Dense({.units = 3})};
    EXPECT_EQ(rule_of([&] {
                model.predict(
                    own_data(kTwo, strategy.worker()).map([](const Tensor& x, const Tensor&) { return x; }));
              }),
              "predict.per_worker");
  });
}

// Evaluation on data that each worker has whole compares them, too.
TEST(FitOwnData, EvaluateComparesWhatEachReadsWhole) {
  for (const std::string& error : errors_of_workers(2, [](const Strategy& strategy) {
         const auto scope = strategy.scope();
         set_seed(3);
         Sequential model{Dense({.units = 3})};
         model.compile({});
         std::vector<float> x(24 * 6, 1.0f);
         x.back() += static_cast<float>(strategy.worker());
         model.evaluate(
             Dataset::from_tensor_slices({Tensor::of(x, {24, 6}), full({24}, 1, DType::kI32)}).batch(8));
       }))
    EXPECT_NE(error.find("element 2 of the dataset of worker 1 is another one"), error.npos) << error;
}

// Each takes its part of a batch that all have.
TEST(FitOwnData, OtherRowsInTrainOnBatchAreRefused) {
  const auto heard_of = [](float last) {
    return errors_of_workers(3, [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      set_seed(3);
      Sequential model{Dense({.units = 3})};
      model.compile({});
      std::vector<float> x(8 * 6, 1.0f);
      model.train_on_batch(Tensor::of(x, {8, 6}), full({8}, 1, DType::kI32));
      if (strategy.worker() == 2) x.back() = last;
      model.train_on_batch(Tensor::of(x, {8, 6}), full({8}, 1, DType::kI32));
    });
  };
  for (const std::string& error : heard_of(1)) EXPECT_EQ(error, "");
  for (const std::string& error : heard_of(2))
    for (const char* part : {"strategy.data", "the rows that worker 2 gives to train_on_batch() are others"})
      EXPECT_NE(error.find(part), error.npos) << error;
}

}  // namespace
}  // namespace espalier
