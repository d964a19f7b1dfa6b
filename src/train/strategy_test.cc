#include "espalier/strategy.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "comm/local.h"
#include "dist/workers_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

struct Weights {
  std::vector<std::string> paths;
  std::vector<std::vector<float>> values;
  Logs logs;
};

Weights weights_of(const Model& model, Logs logs) {
  Weights out;
  for (const Variable& variable : model.variables()) {
    if (variable.dtype() != DType::kF32) continue;
    const Tensor value = variable.read();
    out.paths.push_back(variable.path());
    out.values.emplace_back(value.data<float>().begin(), value.data<float>().end());
  }
  out.logs = std::move(logs);
  return out;
}

struct TrainingRows {
  Tensor x, y;
};
TrainingRows rows_for(int64_t count) {
  const Tensor x = random_normal({count, 12}, 7, 0);
  const Tensor scores = matmul(x, random_normal({12, 4}, 8, 0));
  return {x, argmax(scores, 1)};
}

using Make = std::function<Sequential()>;
using Compile = std::function<void(Model&)>;

Weights fitted(const Make& make, const Compile& compile, const TrainingRows& rows, FitOptions options,
               const Strategy* strategy) {
  set_seed(3);
  std::optional<Strategy::Scope> scope;
  if (strategy) scope.emplace(strategy->replicas());
  Sequential model = make();
  compile(model);
  const std::vector<Logs> logs = model.fit(rows.x, rows.y, options);
  return weights_of(model, logs.back());
}

// How far apart, as a share of the largest value of the tensor.
double distance(const Weights& a, const Weights& b) {
  EXPECT_EQ(a.paths, b.paths);
  double worst = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    float largest = 0, apart = 0;
    for (size_t k = 0; k < a.values[i].size(); ++k) {
      largest = std::max(largest, std::abs(a.values[i][k]));
      apart = std::max(apart, std::abs(a.values[i][k] - b.values[i][k]));
    }
    worst = std::max<double>(worst, largest > 0 ? apart / largest : apart);
  }
  return worst;
}

Sequential plain() { return Sequential{Dense({.units = 16, .activation = "relu"}), Dense({.units = 4})}; }
Sequential dropping() {
  return Sequential{Dense({.units = 16, .activation = "relu"}), Dropout(0.4), Dense({.units = 4})};
}
void with_momentum(Model& model) {
  model.compile({.optimizer = SGD{.learning_rate = 0.05, .momentum = 0.9}, .metrics = {"accuracy"}});
}
void with_adam(Model& model) {
  model.compile({.optimizer = Adam{.learning_rate = 0.01, .global_clipnorm = 1.0}});
}

// All ranks as threads of this process.
std::vector<Weights> on_workers(int world, const std::function<Weights(const Strategy&)>& program) {
  std::vector<Weights> out(static_cast<size_t>(world));
  on_each_worker(
      world, [&](const Strategy& workers) { out[static_cast<size_t>(workers.worker())] = program(workers); });
  return out;
}

struct Case {
  const char* name;
  Make make;
  Compile compile;
  FitOptions options;
};
std::vector<Case> cases() {
  return {{"plain", plain, with_momentum, {.epochs = 3, .batch_size = 16}},
          // 50 rows: batches of 16, 16, 16, 2, of which some replicas have none.
          {"dropout", dropping, with_adam, {.epochs = 3, .batch_size = 16}},
          {"class weights",
           plain,
           with_adam,
           {.epochs = 2, .batch_size = 7, .class_weight = {{0, 3.0}, {2, 0.25}}}},
          {"accumulation",
           dropping,
           [](Model& model) {
             model.compile({.optimizer = SGD{.learning_rate = 0.05, .gradient_accumulation_steps = 3}});
           },
           {.epochs = 3, .batch_size = 8}}};
}

// Replicas write new values into the memory of those before them, unless somebody holds these.
TEST(Strategies, WhatAUserHasReadStaysAsItWas) {
  const strategy::Mirrored devices({.devices = 2});
  const auto scope = devices.scope();
  Sequential model{Dense({.units = 4})};
  model.compile({.optimizer = Adam{.learning_rate = 0.1}, .loss = MeanSquaredError()});
  const Tensor x = random_normal({8, 3}, 1, 0), y = random_normal({8, 4}, 2, 0);
  model.train_on_batch(x, y);
  std::vector<Tensor> held;
  std::vector<std::vector<float>> was;
  for (int step = 0; step < 4; ++step) {
    held.push_back(model.trainable_variables()[0].read());
    was.push_back(held.back().to_vector<float>());
    model.train_on_batch(x, y);
  }
  for (size_t i = 0; i < held.size(); ++i) EXPECT_EQ(held[i].to_vector<float>(), was[i]) << i;
  EXPECT_NE(was[0], was[1]);
}

TEST(Strategies, MirroredTrainsAsOneDevice) {
  const TrainingRows rows = rows_for(50);
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Weights one = fitted(each.make, each.compile, rows, each.options, nullptr);
    for (const int devices : {1, 2, 3, 4}) {
      SCOPED_TRACE(devices);
      const strategy::Mirrored mirrored({.devices = devices});
      EXPECT_EQ(mirrored.num_replicas_in_sync(), devices);
      const Weights many = fitted(each.make, each.compile, rows, each.options, &mirrored);
      EXPECT_LE(distance(one, many), devices == 1 ? 0 : 1e-6);
      for (const auto& [name, value] : one.logs) EXPECT_NEAR(many.logs.at(name), value, 1e-5) << name;
    }
  }
}

TEST(Strategies, InSixteenBitsTheyTrainWithinAPercent) {
  const TrainingRows rows = rows_for(96);
  const auto narrow = [] {
    return Sequential{Dense({.units = 16, .activation = "relu", .dtype = "mixed_bfloat16"}),
                      Dense({.units = 16, .activation = "tanh", .dtype = "mixed_bfloat16"}),
                      Dense({.units = 4, .dtype = "float32"})};
  };
  const FitOptions options{.epochs = 3, .batch_size = 32};
  for (const Compile& compile : {Compile(with_momentum), Compile(with_adam)}) {
    const Weights one = fitted(narrow, compile, rows, options, nullptr);
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(devices);
      const strategy::Mirrored mirrored({.devices = devices});
      const double apart = distance(one, fitted(narrow, compile, rows, options, &mirrored));
      EXPECT_GT(apart, 0);
      EXPECT_LE(apart, 1e-2);
    }
  }
}

TEST(Strategies, WorkersTrainAsMirroredBitForBit) {
  const TrainingRows rows = rows_for(50);
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    for (const int world : {2, 3, 4}) {
      SCOPED_TRACE(world);
      const strategy::Mirrored mirrored({.devices = world});
      const Weights one = fitted(each.make, each.compile, rows, each.options, &mirrored);
      const auto all = on_workers(world, [&](const Strategy& workers) {
        return fitted(each.make, each.compile, rows, each.options, &workers);
      });
      for (const Weights& weights : all) {
        EXPECT_EQ(weights.values, one.values);
        EXPECT_EQ(weights.logs, one.logs);
      }
    }
  }
}

// Workers begin with variables and an order of rows of their own; the first one's count.
TEST(Strategies, TheFirstWorkerSaysWhereAllBegin) {
  const TrainingRows rows = rows_for(40);
  const FitOptions options{.epochs = 2, .batch_size = 8};
  const auto all = on_workers(3, [&](const Strategy& workers) {
    const auto scope = workers.scope();
    set_seed(static_cast<uint64_t>(10 + workers.worker()));
    Sequential model = dropping();
    with_adam(model);
    const std::vector<Logs> logs = model.fit(rows.x, rows.y, options);
    return weights_of(model, logs.back());
  });
  EXPECT_EQ(all[1].values, all[0].values);
  EXPECT_EQ(all[2].values, all[0].values);
}

Sequential normalized() {
  return Sequential{Dense({.units = 16, .use_bias = false}), BatchNormalization({.momentum = 0.9}),
                    Dropout(0.3), Dense({.units = 4})};
}

// What a model says of rows does not depend on who asks it, and evaluation is that of all rows.
TEST(Strategies, EvaluationAndPredictionAreThoseOfAllRows) {
  const TrainingRows rows = rows_for(37);
  struct Said {
    Logs logs;
    std::vector<float> outputs;
  };
  const auto said = [&](const Strategy* strategy) {
    set_seed(3);
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    Sequential model = plain();
    with_adam(model);
    Said out;
    out.outputs = model.predict(rows.x, 16).to_vector<float>();
    out.logs = model.evaluate(rows.x, rows.y, 16);
    return out;
  };
  const Said one = said(nullptr);
  const auto same = [&](const Said& other) {
    EXPECT_EQ(other.outputs, one.outputs);
    for (const auto& [name, value] : one.logs) EXPECT_NEAR(other.logs.at(name), value, 1e-6) << name;
  };
  for (const int devices : {2, 3, 8})
    same(said(std::make_unique<strategy::Mirrored>(strategy::MirroredOptions{.devices = devices}).get()));
  std::vector<Said> all(3);
  on_each_worker(
      3, [&](const Strategy& workers) { all[static_cast<size_t>(workers.worker())] = said(&workers); });
  for (const Said& worker : all) same(worker);
}

// One that nobody compiled, as a loaded one, predicts by the strategy of its scope. Each worker has another
// model: of which one an output is says who made it.
TEST(Strategies, AModelThatIsNotCompiledPredictsByItsScope) {
  const TrainingRows rows = rows_for(10);
  const auto model_of = [&](int worker) {
    set_seed(static_cast<uint64_t>(worker));
    Sequential model = plain();
    model(rows.x);
    return model;
  };
  std::vector<std::vector<float>> own(2);
  for (int worker : {0, 1}) own[worker] = model_of(worker).predict(rows.x).to_vector<float>();
  ASSERT_NE(own[0], own[1]);
  // The first five rows are those of the first worker.
  std::vector<float> wanted(own[0].begin(), own[0].begin() + 20);
  wanted.insert(wanted.end(), own[1].begin() + 20, own[1].end());
  const auto all = on_workers(2, [&](const Strategy& workers) {
    Sequential model = model_of(workers.worker());
    const auto scope = workers.scope();
    return Weights{{}, {model.predict(rows.x).to_vector<float>()}, {}};
  });
  for (const Weights& said : all) EXPECT_EQ(said.values[0], wanted);
}

// Who prints or writes has no hook called elsewhere, at the end neither.
TEST(Strategies, OnOtherWorkersNoHookOfTheFirstOnesIsCalled) {
  const TrainingRows rows = rows_for(20);
  struct Writer final : Callback {
    explicit Writer(bool chief) : chief(chief) {}
    bool chief_only() const override { return chief; }
    void on_train_begin(const Run&) override { ++begins; }
    void on_epoch_end(int, const Logs&) override { ++epochs; }
    void on_train_end(const Logs&) override { ++ends; }
    const bool chief;
    int begins = 0, epochs = 0, ends = 0;
  };
  on_workers(2, [&](const Strategy& workers) {
    const auto writer = std::make_shared<Writer>(true), other = std::make_shared<Writer>(false);
    const Weights out = fitted(plain, with_adam, rows, {.epochs = 2, .callbacks = {writer, other}}, &workers);
    const int called = workers.worker() == 0;
    EXPECT_EQ(writer->begins, called);
    EXPECT_EQ(writer->epochs, 2 * called);
    EXPECT_EQ(writer->ends, called);
    EXPECT_EQ(other->begins, 1);
    EXPECT_EQ(other->epochs, 2);
    EXPECT_EQ(other->ends, 1);
    return out;
  });
}

// One bit of one variable on one worker, and the audit behind the next tenth step names both.
TEST(Strategies, TheAuditNamesTheVariableAndTheWorker) {
  const TrainingRows rows = rows_for(64);
  const auto ranks = local_communicators(3);
  std::vector<std::string> errors(3);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < errors.size(); ++i) {
      threads.emplace_back([&, i] {
        const RunContext context({.threads = 1, .communicator = ranks[i].get()});
        const RunScope scope(context);
        try {
          const strategy::MultiWorkerMirrored workers({.audit_steps = 10});
          const auto in_scope = workers.scope();
          Sequential model = plain();
          with_adam(model);
          const auto flips = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
            if (i != 1 || step != 13) return;
            Variable kernel = model.trainable_variables()[2];
            std::vector<float> values = kernel.read().to_vector<float>();
            values[5] = std::nextafter(values[5], 2.0f);
            kernel.assign(reshape(Tensor::of(values), kernel.shape()));
          }});
          model.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 2, .callbacks = {flips}});
        } catch (const std::exception& error) {
          errors[i] = error.what();
        }
      });
    }
  }
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("[strategy.audit]"), std::string::npos) << error;
    EXPECT_NE(error.find("of rank 1 differs from that of ranks 0, 2 behind step 20"), std::string::npos)
        << error;
    EXPECT_NE(error.find("/kernel\""), std::string::npos) << error;
  }
}

// Each row of an epoch is counted once, wherever it is trained on.
TEST(Strategies, TheLedgerOfRowsIsThatOfOneDevice) {
  const TrainingRows rows = rows_for(37);
  struct Ledger final : Callback {
    bool wants_rows() const override { return true; }
    void on_epoch_rows(int epoch, int64_t count, uint64_t ids) override {
      entries.push_back({epoch, count, ids});
    }
    std::vector<std::tuple<int, int64_t, uint64_t>> entries;
  };
  for (const int shards : {0, 8}) {
    SCOPED_TRACE(shards);
    const auto ledger = [&](const Strategy* strategy) {
      const auto out = std::make_shared<Ledger>();
      fitted(
          plain, [&](Model& model) { model.compile({.logical_shards = shards}); }, rows,
          {.epochs = 2, .batch_size = 8, .callbacks = {out}}, strategy);
      return out->entries;
    };
    const auto one = ledger(nullptr);
    ASSERT_EQ(one.size(), 2u);
    EXPECT_EQ(std::get<1>(one[0]), 37);
    // An order-free sum: that of both epochs is one.
    EXPECT_EQ(std::get<2>(one[0]), std::get<2>(one[1]));
    uint64_t sum = 0;
    for (uint64_t id = 0; id < 37; ++id) {
      uint64_t h = id + 0x9e3779b97f4a7c15ull;
      for (int i = 0; i < 2; ++i) {
        h ^= h >> 32;
        h *= 0xd6e8feb86659fd93ull;
      }
      sum += h ^ (h >> 32);
    }
    EXPECT_EQ(std::get<2>(one[0]), sum);
    const strategy::Mirrored mirrored({.devices = 3});
    EXPECT_EQ(ledger(&mirrored), one);
    const auto ranks = local_communicators(3);
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < ranks.size(); ++i) {
      threads.emplace_back([&, i] {
        const RunContext context({.threads = 1, .communicator = ranks[i].get()});
        const RunScope scope(context);
        const strategy::MultiWorkerMirrored workers;
        EXPECT_EQ(ledger(&workers), one);
      });
    }
  }
}

// Bits follow from the batch and the number of logical shards alone. 101 rows in batches of 50 end in one of
// a single row, batches of 24 in one of five.
TEST(LogicalShards, AnyNumberOfReplicasEndsInTheSameBits) {
  const TrainingRows rows = rows_for(101), others = rows_for(40);
  for (const int64_t batch : {24, 50}) {
    SCOPED_TRACE(batch);
    const auto compile = [](Model& model) {
      model.compile({.optimizer = Adam{.learning_rate = 0.02, .gradient_accumulation_steps = 2},
                     .metrics = {"accuracy"},
                     .logical_shards = 8});
    };
    const auto program = [&](const Strategy* strategy) {
      return fitted(normalized, compile, rows,
                    {.epochs = 4,
                     .batch_size = batch,
                     .validation_x = others.x,
                     .validation_y = others.y,
                     .class_weight = {{1, 2.5}},
                     .callbacks = {ReduceLROnPlateau({.patience = 1, .min_delta = 0.5}),
                                   EarlyStopping({.patience = 2, .restore_best_weights = true})}},
                    strategy);
    };
    const Weights one = program(nullptr);
    for (const int world : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(world);
      const strategy::Mirrored mirrored({.devices = world});
      const Weights local = program(&mirrored);
      EXPECT_EQ(local.values, one.values);
      EXPECT_EQ(local.logs, one.logs);
      for (const Weights& worker :
           on_workers(world, [&](const Strategy& workers) { return program(&workers); })) {
        EXPECT_EQ(worker.values, one.values);
        EXPECT_EQ(worker.logs, one.logs);
      }
    }
  }
}

// What shards find together is what the batch finds, but for rounding.
TEST(LogicalShards, TrainAsTheWholeBatch) {
  const TrainingRows rows = rows_for(50);
  for (const int shards : {1, 3, 8, 64}) {
    SCOPED_TRACE(shards);
    const auto compile = [](int logical_shards) {
      return [logical_shards](Model& model) {
        model.compile({.optimizer = SGD{.learning_rate = 0.05, .momentum = 0.9, .clipnorm = 1.0},
                       .metrics = {"accuracy"},
                       .logical_shards = logical_shards});
      };
    };
    const FitOptions options{.epochs = 3, .batch_size = 16, .class_weight = {{0, 3.0}, {2, 0.25}}};
    const Weights whole = fitted(dropping, compile(0), rows, options, nullptr);
    const Weights parts = fitted(dropping, compile(shards), rows, options, nullptr);
    EXPECT_LE(distance(whole, parts), 1e-6);
    for (const auto& [name, value] : whole.logs) EXPECT_NEAR(parts.logs.at(name), value, 1e-5) << name;
  }
}

// With the statistics of all rows, normalisation on parts of a batch is that on the whole.
TEST(Strategies, SynchronizedNormalizationIsThatOfTheBatch) {
  const TrainingRows rows = rows_for(50);
  const auto make = [](bool synchronized) {
    return [synchronized] {
      return Sequential{Dense({.units = 16, .use_bias = false}),
                        BatchNormalization({.momentum = 0.9, .synchronized = synchronized}),
                        Dense({.units = 4})};
    };
  };
  const FitOptions options{.epochs = 3, .batch_size = 16};
  const Weights one = fitted(make(true), with_momentum, rows, options, nullptr);
  for (const int devices : {2, 3}) {
    SCOPED_TRACE(devices);
    const strategy::Mirrored mirrored({.devices = devices});
    EXPECT_LE(distance(one, fitted(make(true), with_momentum, rows, options, &mirrored)), 1e-6);
    EXPECT_GT(distance(one, fitted(make(false), with_momentum, rows, options, &mirrored)), 1e-4);
  }
}

}  // namespace
}  // namespace espalier
