#include "train/backup.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "ir/sink.h"

namespace espalier {
namespace {

constexpr int kEpochs = 6, kRows = 90, kSteps = 6;  // the last batch is smaller

// All that a finished run leaves, in bits.
struct Outcome {
  std::vector<Logs> history;
  std::vector<std::vector<std::byte>> variables;
  std::string log;
  bool operator==(const Outcome&) const = default;
};

struct Killed {};

// The same program every time: it dies after `dies_after` steps, or goes on to the end.
class Program {
 public:
  explicit Program(const std::string& name, int64_t save_freq) : folder_(testing::TempDir() + "/" + name) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options.path = folder_ + "/run.checkpoint";
    options.save_freq = save_freq;
  }

  Outcome run(int64_t dies_after = -1, bool stops = false) {
    set_seed(seed);
    Generator random(7);
    const Tensor x = random.normal({kRows, 3});
    const Tensor y = sum(x * x, 1, true);
    model.emplace(Dense({.units = units}), BatchNormalization(), Dropout(0.3), Dense({.units = 1}));
    model->compile({.optimizer = optimizer ? optimizer()
                                 : sgd     ? Optimizer(SGD{.momentum = momentum})
                                           : Optimizer(Adam{.learning_rate = 0.05}),
                    .loss = MeanSquaredError(),
                    .metrics = {metrics::MeanAbsoluteError(), metrics::R2Score()},
                    .loss_scale = loss_scale});
    int64_t steps = 0;
    FitOptions fit{.epochs = kEpochs, .batch_size = batch_size, .validation_split = 0.1};
    fit.callbacks = {BackupAndRestore(options),
                     LearningRateScheduler([](int, double rate) { return rate * 0.9; }),
                     ReduceLROnPlateau({.factor = 0.5, .patience = 1, .min_delta = 0.05}),
                     EarlyStopping({.min_delta = min_delta, .patience = 3, .restore_best_weights = true}),
                     CSVLogger(folder_ + "/log.csv"),
                     LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                       if (++steps != dies_after) return;
                       if (!stops) throw Killed();
                       model->stop_training();
                     }})};
    Outcome out;
    out.history = model->fit(x, y, fit);
    std::vector<Variable> variables = model->variables();
    for (const Variable& variable : model->optimizer().variables()) variables.push_back(variable);
    variables.push_back(default_generator().step_variable());
    for (const Variable& variable : variables) {
      const Tensor value = variable.read();
      const auto* bytes = static_cast<const std::byte*>(value.bytes());
      out.variables.emplace_back(bytes, bytes + value.type().bytes());
    }
    out.log = posix_env().read_file(folder_ + "/log.csv");
    return out;
  }
  bool has_checkpoint() const { return posix_env().exists(options.path); }
  const std::string& folder() const { return folder_; }

  BackupAndRestoreOptions options;
  uint64_t seed = 3;
  int64_t units = 8, batch_size = 16;
  bool sgd = false;
  double momentum = 0, min_delta = 0;
  std::function<Optimizer()> optimizer = {};
  std::optional<LossScale> loss_scale = {};
  std::optional<Sequential> model;  // of the last run

 private:
  std::string folder_;
};

// The run dies after every `stride` steps, anew from the begin each time.
void expect_same_bits(int64_t save_freq, int64_t stride) {
  Program program(cat("backup_died_", stride), save_freq);
  const Outcome wanted = program.run();
  ASSERT_GT(wanted.history.size(), 3u);
  EXPECT_FALSE(program.has_checkpoint()) << "the run has ended";
  const auto all = static_cast<int64_t>(wanted.history.size()) * kSteps;
  for (int64_t step = stride; step <= all; step += stride) {
    EXPECT_THROW(program.run(step), Killed);
    EXPECT_EQ(program.has_checkpoint(), step > (save_freq ? save_freq : kSteps)) << step;
    // The program that goes on has another seed; that of the file counts.
    program.seed = program.has_checkpoint() ? 99 : 3;
    EXPECT_TRUE(program.run() == wanted) << "died in step " << step << ", save_freq " << save_freq;
    program.seed = 3;
  }
}

TEST(Backup, ARunThatDiedGoesOnToTheSameBits) {
  expect_same_bits(0, 20);
  expect_same_bits(4, 13);
}

// Of what an update is still made of, of averages, and of the loss scale.
TEST(Backup, SumsOfGradientsAveragesAndTheLossScaleAreKept) {
  Program program("backup_accumulates", 1);
  program.optimizer = [] {
    return Adam{.learning_rate = 0.05,
                .gradient_accumulation_steps = 4,
                .use_ema = true,
                .ema_momentum = 0.5,
                .ema_overwrite_frequency = 3};
  };
  program.loss_scale = LossScale{.initial = 64, .growth_steps = 5};
  const Outcome wanted = program.run();
  EXPECT_GT(wanted.history.back().at("loss_scale"), 64);
  for (const int64_t step : {1, 2, 7, 9, 14}) {
    EXPECT_THROW(program.run(step), Killed);
    EXPECT_TRUE(program.run() == wanted) << step;
  }
}

TEST(Backup, SlowAndInAnyStep) {
  for (const int64_t save_freq : {0, 1, 4}) expect_same_bits(save_freq, 1);
}

TEST(Backup, ARunMayDieManyTimes) {
  Program program("backup_died_often", 3);
  const Outcome wanted = program.run();
  int deaths = 0;
  for (;; ++deaths) {
    try {
      EXPECT_TRUE(program.run(5) == wanted);
      break;
    } catch (const Killed&) {
    }
  }
  EXPECT_GT(deaths, 5);
}

TEST(Backup, ARunThatIsStoppedInAnEpochSavesThereAndGoesOn) {
  Program program("backup_stopped", 100000);
  const Outcome wanted = program.run();
  for (const int64_t step : {1, 8, 12, 17}) {
    program.run(step, true);
    EXPECT_TRUE(program.has_checkpoint());
    EXPECT_TRUE(program.run() == wanted) << step;
    EXPECT_FALSE(program.has_checkpoint());
  }
}

TEST(Backup, ARunThatHasEndedStaysSo) {
  Program program("backup_ended", 0);
  program.options.delete_checkpoint = false;
  program.min_delta = 1e9;
  const Outcome wanted = program.run();
  ASSERT_LT(wanted.history.size(), kEpochs) << "it was stopped";
  EXPECT_TRUE(program.has_checkpoint());
  EXPECT_TRUE(program.run() == wanted);
}

TEST(Backup, AnotherRunIsRefusedAndChangesNothing) {
  Program program("backup_other", 4);
  const Outcome wanted = program.run();
  EXPECT_THROW(program.run(20), Killed);
  const std::string file = posix_env().read_file(program.options.path);
  const auto refused = [&] {
    const std::string rule = rule_of([&] { program.run(); });
    EXPECT_TRUE(program.model->variables().empty());
    EXPECT_EQ(program.model->optimizer().variables().size(), 2u);
    return rule;
  };
  program.units = 9;
  EXPECT_EQ(refused(), "backup.variable");
  program.units = 8;
  program.sgd = true;
  EXPECT_EQ(refused(), "backup.variable");
  program.sgd = false;
  program.batch_size = 15;
  EXPECT_EQ(refused(), "backup.run");
  program.batch_size = 16;
  EXPECT_EQ(posix_env().read_file(program.options.path), file);
  EXPECT_TRUE(program.run() == wanted);
}

// Versions before added losses and metrics up in f32.
TEST(Backup, SumsInThePrecisionOfVersionsBeforeAreTaken) {
  Program program("backup_sums", 4);
  const Outcome wanted = program.run();
  EXPECT_THROW(program.run(20), Killed);
  Checkpoint file = parse_checkpoint(posix_env().read_file(program.options.path));
  int sums = 0;
  for (NamedArray& array : file.variables) {
    if (!array.name.starts_with("metrics/")) continue;
    if (!array.name.ends_with("/total") && !array.name.ends_with("/weight")) continue;
    EXPECT_EQ(array.value.type(), (TensorType{DType::kF64, {}})) << array.name;
    array.value = convert(make_concrete(array.value), DType::kF32).node()->dense();
    ++sums;
  }
  EXPECT_EQ(sums, 4) << "of the loss and of one metric";
  write_checkpoint(program.options.path, file);
  const Outcome out = program.run();
  EXPECT_EQ(out.variables, wanted.variables);
  ASSERT_EQ(out.history.size(), wanted.history.size());
  for (size_t i = 0; i < out.history.size(); ++i) {
    for (const auto& [name, value] : wanted.history[i])
      EXPECT_NEAR(out.history[i].at(name), value, 1e-6 * std::fabs(value)) << name << " of epoch " << i;
  }
  // Of others a type is a type.
  EXPECT_THROW(program.run(20), Killed);
  file = parse_checkpoint(posix_env().read_file(program.options.path));
  for (NamedArray& array : file.variables) {
    if (array.name.ends_with("/count"))
      array.value = convert(make_concrete(array.value), DType::kI64).node()->dense();
  }
  write_checkpoint(program.options.path, file);
  EXPECT_EQ(rule_of([&] { program.run(); }), "backup.variable");
}

// What a checkpoint does not say of its run may be anything: it is not taken for the same run.
TEST(Backup, ACheckpointThatLacksAFactOfItsRunIsRefused) {
  Program program("backup_lacks", 4);
  EXPECT_THROW(program.run(20), Killed);
  const std::string file = posix_env().read_file(program.options.path);
  const Checkpoint whole = parse_checkpoint(file);
  ASSERT_TRUE(whole.run.contains("batch_size"));
  for (const auto& [name, value] : whole.run) {
    if (value.empty()) continue;
    Checkpoint lacks = parse_checkpoint(file);
    lacks.run.erase(name);
    write_checkpoint(program.options.path, lacks);
    try {
      program.run();
      ADD_FAILURE() << name;
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "backup.run");
      EXPECT_NE(error.message().find(cat("its ", name, " was not said, now it is ", value)),
                std::string::npos)
          << error.message();
    }
  }
}

TEST(Backup, VariablesThatTheRunHasNotAreNamed) {
  Program program("backup_more", 4);
  program.sgd = true;
  program.momentum = 0.9;
  EXPECT_THROW(program.run(20), Killed);
  program.momentum = 0;
  try {
    program.run();
    ADD_FAILURE() << "it is not refused";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "backup.variable");
    EXPECT_NE(error.message().find("\"optimizer/sgd/"), std::string::npos) << error.what();
  }
}

TEST(Backup, ARefusedCheckpointLeavesNoSlots) {
  Program program("backup_slots", 4);
  program.sgd = true;
  EXPECT_THROW(program.run(20), Killed);
  program.momentum = 0.9;
  EXPECT_EQ(rule_of([&] { program.run(); }), "backup.variable");
  EXPECT_TRUE(program.model->variables().empty());
  EXPECT_EQ(program.model->optimizer().variables().size(), 2u);
}

TEST(Backup, DamagedFilesAreRefused) {
  Program program("backup_damaged", 4);
  EXPECT_THROW(program.run(20), Killed);
  const std::string file = posix_env().read_file(program.options.path);
  for (size_t i = 0; i < 40; ++i) {
    std::string damaged = file;
    const size_t at = i * (file.size() - 1) / 39;
    i % 2 ? damaged.resize(at) : static_cast<void>(damaged[at] = static_cast<char>(damaged[at] ^ 16));
    posix_env().write_file(program.options.path, damaged);
    try {
      program.run();
      ADD_FAILURE() << "byte " << at << " is not missed";
    } catch (const FormatError& error) {
      EXPECT_NE(error.message().find(program.options.path), std::string::npos) << error.what();
    }
  }
}

TEST(Backup, LeftOversOfKilledWritersAreRemoved) {
  Program program("backup_left_overs", 0);
  const auto make = [&](const std::string& name) { std::ofstream(program.folder() + "/" + name) << "x"; };
  make("run.checkpoint.12-345.part");
  make("run.checkpoint.mine.part");
  make("run.checkpoint2.12-345.part");
  program.run();
  EXPECT_EQ(posix_env().list_folder(program.folder()),
            (std::vector<std::string>{"log.csv", "run.checkpoint.mine.part", "run.checkpoint2.12-345.part"}));
}

TEST(Backup, OptionsAreChecked) {
  EXPECT_EQ(rule_of([] { BackupAndRestore({}); }), "backup.path");
  EXPECT_EQ(rule_of([] { BackupAndRestore({.path = "x", .save_freq = -1}); }), "backup.save_freq");
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError(), .metrics = {}});
  const auto backup = BackupAndRestore({.path = testing::TempDir() + "/backup_twice"});
  const Tensor x = full({4, 1}, 1);
  EXPECT_EQ(rule_of([&] { model.fit(x, x, {.callbacks = {backup, backup}}); }), "backup.twice");
  EXPECT_EQ(
      rule_of([&] { model.fit(x, x, {.callbacks = {BackupAndRestore({.path = "/no/such/folder/x"})}}); }),
      "file.list");
  EXPECT_TRUE(model.variables().empty());
}

}  // namespace
}  // namespace espalier
