#include "espalier/strategy.h"

#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "comm/local.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"
#include "train/trained_weights_test.h"

namespace espalier {
namespace {

Sequential plain() { return Sequential{Dense({.units = 16, .activation = "relu"}), Dense({.units = 4})}; }
void with_momentum(Model& model) {
  model.compile({.optimizer = SGD{.learning_rate = 0.05, .momentum = 0.9}, .metrics = {"accuracy"}});
}
void with_adam(Model& model) {
  model.compile({.optimizer = Adam{.learning_rate = 0.01, .global_clipnorm = 1.0}});
}

// All ranks as threads of this process.
std::vector<TrainedWeights> on_workers(int world,
                                       const std::function<TrainedWeights(const Strategy&)>& program) {
  std::vector<TrainedWeights> out(static_cast<size_t>(world));
  on_each_worker(
      world, [&](const Strategy& workers) { out[static_cast<size_t>(workers.worker())] = program(workers); });
  return out;
}

struct Case {
  const char* name;
  MakeModel make;
  CompileModel compile;
  FitOptions options;
};
Tensor every_third() {
  std::vector<float> weights(50);
  for (size_t i = 0; i < weights.size(); i += 3) weights[i] = 1 + static_cast<float>(i % 2);
  return Tensor::of(weights);
}
std::vector<Case> cases() {
  return {{"plain", plain, with_momentum, {.epochs = 3, .batch_size = 16}},
          // 50 rows: batches of 16, 16, 16, 2, of which some replicas have none.
          {"dropout", dropping_model, with_adam, {.epochs = 3, .batch_size = 16}},
          {"class weights",
           plain,
           with_adam,
           {.epochs = 2, .batch_size = 7, .class_weight = {{0, 3.0}, {2, 0.25}}}},
          {"accumulation",
           dropping_model,
           [](Model& model) {
             model.compile({.optimizer = SGD{.learning_rate = 0.05, .gradient_accumulation_steps = 3}});
           },
           {.epochs = 3, .batch_size = 8}},
          // Fewer rows in each step than there are replicas.
          {"padding", dropping_model, with_momentum, {.epochs = 1, .batch_size = 3}},
          // Of which some replicas have no others.
          {"rows of weight 0",
           plain,
           with_momentum,
           {.epochs = 2, .batch_size = 8, .sample_weight = every_third()}}};
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
  const RowsOfFourClasses rows = rows_of_four_classes(50);
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const TrainedWeights one = trained_by(each.make, each.compile, rows, each.options, nullptr);
    for (const int devices : {1, 2, 3, 4}) {
      SCOPED_TRACE(devices);
      const strategy::Mirrored mirrored({.devices = devices});
      EXPECT_EQ(mirrored.num_replicas_in_sync(), devices);
      const TrainedWeights many = trained_by(each.make, each.compile, rows, each.options, &mirrored);
      EXPECT_LE(trained_distance(one, many), devices == 1 ? 0 : 1e-6);
      for (const auto& [name, value] : one.logs) EXPECT_NEAR(many.logs.at(name), value, 1e-5) << name;
    }
  }
}

TEST(Strategies, InSixteenBitsTheyTrainAsOneDevice) {
  const RowsOfFourClasses rows = rows_of_four_classes(96);
  const auto narrow = [] {
    return Sequential{Dense({.units = 16, .activation = "relu", .dtype = "mixed_bfloat16"}),
                      Dense({.units = 16, .activation = "tanh", .dtype = "mixed_bfloat16"}),
                      Dense({.units = 4, .dtype = "float32"})};
  };
  const FitOptions options{.epochs = 3, .batch_size = 32};
  for (const CompileModel& compile : {CompileModel(with_momentum), CompileModel(with_adam)}) {
    const TrainedWeights one = trained_by(narrow, compile, rows, options, nullptr);
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(devices);
      const strategy::Mirrored mirrored({.devices = devices});
      EXPECT_LE(trained_distance(one, trained_by(narrow, compile, rows, options, &mirrored)), 2e-6);
    }
  }
}

TEST(Strategies, WorkersTrainAsMirroredBitForBit) {
  const RowsOfFourClasses rows = rows_of_four_classes(50);
  std::vector<Case> all_cases = cases();
  for (const bool synchronized : {false, true})
    all_cases.push_back({synchronized ? "synchronized" : "normalized",
                         [=] { return normalized_by(synchronized); },
                         with_adam,
                         {.epochs = 2, .batch_size = 16}});
  for (const Case& each : all_cases) {
    SCOPED_TRACE(each.name);
    for (const int world : {2, 3, 4}) {
      SCOPED_TRACE(world);
      const strategy::Mirrored mirrored({.devices = world});
      const TrainedWeights one = trained_by(each.make, each.compile, rows, each.options, &mirrored);
      const auto all = on_workers(world, [&](const Strategy& workers) {
        return trained_by(each.make, each.compile, rows, each.options, &workers);
      });
      for (const TrainedWeights& weights : all) {
        EXPECT_EQ(weights.values, one.values);
        EXPECT_EQ(weights.logs, one.logs);
      }
    }
  }
}

// Behind every step, from seeds of their own, and with Dropout, rows that some have none of, and statistics.
TEST(Strategies, WorkersHaveEqualBitsBehindEveryStep) {
  const RowsOfFourClasses rows = rows_of_four_classes(50);
  const auto make = [](bool synchronized) {
    return Sequential{Dense({.units = 16}), BatchNormalization({.synchronized = synchronized}), Dropout(0.3),
                      Dense({.units = 4})};
  };
  for (const bool synchronized : {false, true}) {
    for (const int64_t batch : {2, 16}) {
      SCOPED_TRACE(cat(synchronized ? "synchronized, " : "", "batches of ", batch));
      std::vector<std::vector<std::vector<float>>> steps(3);  // of each worker, of each step
      on_each_worker(3, [&](const Strategy& workers) {
        auto& mine = steps[static_cast<size_t>(workers.worker())];
        const auto scope = workers.scope();
        set_seed(static_cast<uint64_t>(20 + workers.worker()));
        Sequential model = make(synchronized);
        with_adam(model);
        const auto look = LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
          auto& values = mine.emplace_back();
          for (const Variable& variable : model.variables()) {
            if (variable.dtype() != DType::kF32) continue;
            for (const float value : variable.read().to_vector<float>()) values.push_back(value);
          }
        }});
        model.fit(rows.x, rows.y, {.epochs = 2, .batch_size = batch, .callbacks = {look}});
      });
      ASSERT_EQ(steps[0].size(), batch == 2 ? 50u : 8u);
      for (size_t step = 0; step < steps[0].size(); ++step) {
        for (const int worker : {1, 2}) EXPECT_EQ(steps[worker].at(step), steps[0][step]) << step;
        if (step > 0) {
          EXPECT_NE(steps[0][step], steps[0][step - 1]);
        }
      }
    }
  }
}

// However gradients are cut in messages, they have the same sums. Two of these layers have more than 1 MiB.
TEST(Strategies, BucketsChangeNoBit) {
  const RowsOfFourClasses rows = rows_of_four_classes(24);
  const auto wide = [] {
    return Sequential{Dense({.units = 600, .activation = "relu"}), Dense({.units = 600}),
                      Dense({.units = 4})};
  };
  const FitOptions options{.epochs = 1, .batch_size = 8};
  const auto messages = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Sequential model = wide();
    with_adam(model);
    const std::string program = model.step_program(rows.x, rows.y, "strategy");
    int out = 0;
    for (size_t at = 0; (at = program.find("all_reduce", at)) != program.npos; ++at) ++out;
    return out;
  };
  constexpr size_t kAll = size_t{1} << 30;
  for (const int world : {2, 3}) {
    const strategy::Mirrored in_one({.devices = world, .first_bucket = kAll});
    const TrainedWeights one = trained_by(wide, with_adam, rows, options, &in_one);
    const int once = messages(in_one);
    struct Cut {
      size_t first, next;
      int messages;
    };
    // The last kernel has 9,600 bytes, the one before 1.4 MB, and that is two in default sizes.
    for (const Cut& cut :
         {Cut{size_t{1} << 20, size_t{25} << 20, 2}, {1, kAll, 2}, {1, 1, 6}, {9000, 9700, 3}}) {
      SCOPED_TRACE(cat(world, " replicas, ", cut.first, " and ", cut.next, " bytes"));
      const strategy::Mirrored mirrored({.devices = world, .first_bucket = cut.first, .bucket = cut.next});
      EXPECT_EQ(messages(mirrored), once * cut.messages);
      EXPECT_EQ(trained_by(wide, with_adam, rows, options, &mirrored).values, one.values);
      const auto all = on_workers(world, [&](const Strategy&) {
        const strategy::MultiWorkerMirrored workers({.first_bucket = cut.first, .bucket = cut.next});
        return trained_by(wide, with_adam, rows, options, &workers);
      });
      for (const TrainedWeights& worker : all) EXPECT_EQ(worker.values, one.values);
    }
  }
}

// Who has how many rows of a step is said once, in words.
TEST(Strategies, ARunSaysHowItsBatchIsSharedOut) {
  const RowsOfFourClasses rows = rows_of_four_classes(50);
  const auto notes = [&](const Strategy* strategy, int64_t batch, int logical_shards) {
    std::string out;
    const auto hear = LambdaCallback({.on_note = [&](const std::string& note) { out += note + "\n"; }});
    trained_by(
        plain, [&](Model& model) { model.compile({.logical_shards = logical_shards}); }, rows,
        {.epochs = 2, .batch_size = batch, .callbacks = {hear}}, strategy);
    return out;
  };
  const strategy::Mirrored four({.devices = 4}), three({.devices = 3}), one({.devices = 1});
  EXPECT_EQ(notes(&four, 16, 0), "16 rows a step: 4 on each of 4 devices\n");
  EXPECT_EQ(notes(&three, 16, 0), "16 rows a step: 5 or 6 on each of 3 devices\n");
  EXPECT_EQ(notes(&four, 2, 0), "2 rows a step: 0 or 1 on each of 4 devices\n");
  EXPECT_EQ(notes(&four, 1000, 0), "50 rows a step: 12 or 13 on each of 4 devices\n");
  EXPECT_EQ(notes(&three, 16, 8), "16 rows a step: 8 logical shards, 2 or 3 of them on each of 3 devices\n");
  EXPECT_EQ(notes(&one, 16, 0), "");
  EXPECT_EQ(notes(nullptr, 16, 0), "");
  on_each_worker(2, [&](const Strategy& workers) {
    EXPECT_EQ(notes(&workers, 16, 0), "16 rows a step: 8 on each of 2 workers\n");
  });
}

// Workers begin with variables and an order of rows of their own; the first one's count.
TEST(Strategies, TheFirstWorkerSaysWhereAllBegin) {
  const RowsOfFourClasses rows = rows_of_four_classes(40);
  const FitOptions options{.epochs = 2, .batch_size = 8};
  const auto all = on_workers(3, [&](const Strategy& workers) {
    const auto scope = workers.scope();
    set_seed(static_cast<uint64_t>(10 + workers.worker()));
    Sequential model = dropping_model();
    with_adam(model);
    const std::vector<Logs> logs = model.fit(rows.x, rows.y, options);
    return trained_weights(model, logs.back());
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
  const RowsOfFourClasses rows = rows_of_four_classes(37);
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

// Of a row that weighs 2^24 and others that weigh one, beside which f32 has no place for them.
TEST(Strategies, SumsOfReplicasGoOnBeyondWhatAFloatHolds) {
  const strategy::Mirrored devices({.devices = 2});
  const auto scope = devices.scope();
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})};
  model.compile({.optimizer = SGD{}, .loss = MeanSquaredError(), .metrics = {"mae"}});
  const Tensor x = full({4, 1}, 1), y = Tensor::of<float>({1, 0, 0, 0}, {4, 1});
  const Logs logs = model.evaluate(
      x, y, EvaluateOptions{.batch_size = 2, .sample_weight = Tensor::of<float>({1 << 24, 1, 1, 1})});
  const double all = (1 << 24) + 3;
  EXPECT_DOUBLE_EQ(logs.at("loss"), 3 / all);
  EXPECT_DOUBLE_EQ(logs.at("mae"), 3 / all);
}

// Notes how many rows it is traced for.
struct RowsTraced final : Layer {
  explicit RowsTraced(std::vector<int64_t>& rows) : Layer("rows"), rows(rows) {}
  Tensor call(const Tensor& x) override {
    rows.push_back(x.size(0));
    return x * 1;
  }
  std::vector<int64_t>& rows;
};

// One that nobody compiled, as a loaded one, predicts by the strategy of its scope, and each worker its rows.
TEST(Strategies, AModelThatIsNotCompiledPredictsByItsScope) {
  const RowsOfFourClasses rows = rows_of_four_classes(10);
  const auto predicted = [&](std::vector<int64_t>& traced, const Strategy* strategy) {
    set_seed(3);
    Sequential model{RowsTraced(traced), Dense({.units = 4})};
    model(rows.x);
    traced.clear();
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    return model.predict(rows.x).to_vector<float>();
  };
  std::vector<int64_t> whole;
  const std::vector<float> wanted = predicted(whole, nullptr);
  EXPECT_EQ(std::set(whole.begin(), whole.end()), std::set<int64_t>{10});
  std::vector<std::vector<int64_t>> parts(2);
  const auto all = on_workers(2, [&](const Strategy& workers) {
    return TrainedWeights{{}, {predicted(parts[static_cast<size_t>(workers.worker())], &workers)}, {}};
  });
  for (const TrainedWeights& said : all) EXPECT_EQ(said.values[0], wanted);
  for (const std::vector<int64_t>& part : parts)
    EXPECT_EQ(std::set(part.begin(), part.end()), std::set<int64_t>{5});
}

// Who prints or writes has no hook called elsewhere, at the end neither.
TEST(Strategies, OnOtherWorkersNoHookOfTheFirstOnesIsCalled) {
  const RowsOfFourClasses rows = rows_of_four_classes(20);
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
    const TrainedWeights out =
        trained_by(plain, with_adam, rows, {.epochs = 2, .callbacks = {writer, other}}, &workers);
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
  const RowsOfFourClasses rows = rows_of_four_classes(64);
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
  const RowsOfFourClasses rows = rows_of_four_classes(37);
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
      trained_by(
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
  const RowsOfFourClasses rows = rows_of_four_classes(101), others = rows_of_four_classes(40);
  for (const int64_t batch : {24, 50}) {
    SCOPED_TRACE(batch);
    const auto compile = [](Model& model) {
      model.compile({.optimizer = Adam{.learning_rate = 0.02, .gradient_accumulation_steps = 2},
                     .metrics = {"accuracy"},
                     .logical_shards = 8});
    };
    const auto program = [&](const Strategy* strategy) {
      return trained_by(normalized, compile, rows,
                        {.epochs = 4,
                         .batch_size = batch,
                         .validation_x = others.x,
                         .validation_y = others.y,
                         .class_weight = {{1, 2.5}},
                         .callbacks = {ReduceLROnPlateau({.patience = 1, .min_delta = 0.5}),
                                       EarlyStopping({.patience = 2, .restore_best_weights = true})}},
                        strategy);
    };
    const TrainedWeights one = program(nullptr);
    for (const int world : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(world);
      const strategy::Mirrored mirrored({.devices = world});
      const TrainedWeights local = program(&mirrored);
      EXPECT_EQ(local.values, one.values);
      EXPECT_EQ(local.logs, one.logs);
      for (const TrainedWeights& worker :
           on_workers(world, [&](const Strategy& workers) { return program(&workers); })) {
        EXPECT_EQ(worker.values, one.values);
        EXPECT_EQ(worker.logs, one.logs);
      }
    }
  }
}

// What shards find together is what the batch finds, but for rounding.
TEST(LogicalShards, TrainAsTheWholeBatch) {
  const RowsOfFourClasses rows = rows_of_four_classes(50);
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
    const TrainedWeights whole = trained_by(dropping_model, compile(0), rows, options, nullptr);
    const TrainedWeights parts = trained_by(dropping_model, compile(shards), rows, options, nullptr);
    EXPECT_LE(trained_distance(whole, parts), 1e-6);
    for (const auto& [name, value] : whole.logs) EXPECT_NEAR(parts.logs.at(name), value, 1e-5) << name;
  }
}

TEST(LogicalShards, RefuseStatisticsOfAllRows) {
  const RowsOfFourClasses rows = rows_of_four_classes(20);
  const auto in_shards = [](Model& model) { model.compile({.logical_shards = 4}); };
  const strategy::Mirrored mirrored({.devices = 2});
  for (const Strategy* strategy :
       {static_cast<const Strategy*>(nullptr), static_cast<const Strategy*>(&mirrored)}) {
    try {
      trained_by([] { return normalized_by(true); }, in_shards, rows, {.epochs = 1}, strategy);
      ADD_FAILURE() << "not refused";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "strategy.synchronized");
      EXPECT_EQ(error.fix(), "leave out synchronized, or train without logical shards");
    }
    trained_by([] { return normalized_by(false); }, in_shards, rows, {.epochs = 1}, strategy);
  }
}

// With the statistics of all rows, normalisation on parts of a batch is that on the whole, by devices and by
// workers; with those of a replica's own it is that of logical shards, which are as large here.
TEST(Strategies, SynchronizedNormalizationIsThatOfTheBatch) {
  const RowsOfFourClasses rows = rows_of_four_classes(50), even = rows_of_four_classes(48);
  const auto synchronized = [] { return normalized_by(true); };
  const auto local = [] { return normalized_by(false); };
  const FitOptions options{.epochs = 3, .batch_size = 16}, evenly{.epochs = 3, .batch_size = 24};
  for (const CompileModel& compile : {CompileModel(with_momentum), CompileModel(with_adam)}) {
    const TrainedWeights one = trained_by(synchronized, compile, rows, options, nullptr);
    for (const int count : {2, 3}) {
      SCOPED_TRACE(count);
      const strategy::Mirrored mirrored({.devices = count});
      EXPECT_LE(trained_distance(one, trained_by(synchronized, compile, rows, options, &mirrored)), 1e-6);
      EXPECT_GT(trained_distance(one, trained_by(local, compile, rows, options, &mirrored)), 1e-4);
      const auto workers = on_workers(count, [&](const Strategy& each) {
        return trained_by(synchronized, compile, rows, options, &each);
      });
      for (const TrainedWeights& worker : workers) {
        EXPECT_LE(trained_distance(one, worker), 1e-6);
        EXPECT_EQ(worker.values, workers[0].values);
      }
    }
  }
  for (const int count : {2, 3}) {
    SCOPED_TRACE(count);
    const auto in_shards = [=](Model& model) {
      model.compile({.optimizer = SGD{.learning_rate = 0.05, .momentum = 0.9}, .logical_shards = count});
    };
    const TrainedWeights shards = trained_by(local, in_shards, even, evenly, nullptr);
    const auto workers = on_workers(
        count, [&](const Strategy& each) { return trained_by(local, with_momentum, even, evenly, &each); });
    for (const TrainedWeights& worker : workers) EXPECT_LE(trained_distance(shards, worker), 1e-6);
  }
}

}  // namespace
}  // namespace espalier
