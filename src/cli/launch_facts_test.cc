// What workers of a run compare before the first step of each fit, by real runs on ranks that differ.
#include <filesystem>
#include <functional>
#include <map>
#include <regex>

#include "base/version.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

constexpr const char* kStepped = "stepped";

// A model that has trained, before something differs on a rank.
struct TrainedModel {
  strategy::MultiWorkerMirrored workers;
  Strategy::Scope scope = workers.scope();
  Tensor x = iota({DType::kF32, {24, 2}}, 0) / 48.0, y = reshape(reduce_sum(x, {1}), {24, 1});
  Sequential model = with_dropout(0.1);
  bool other = workers.worker() == 1;

  TrainedModel() {
    compile({.learning_rate = 0.01, .momentum = 0.5});
    fit({}, x);
  }
  static Sequential with_dropout(double rate) {
    return Sequential{Dense({.units = 4}), Dropout(rate), Dense({.units = 1})};
  }
  void compile(const SGD& rule) {
    model.compile({.optimizer = rule, .loss = MeanSquaredError(), .metrics = {}});
  }
  void fit(std::vector<std::shared_ptr<Callback>> callbacks, const Tensor& rows) {
    model.fit(rows, y, {.epochs = 2, .batch_size = 8, .callbacks = std::move(callbacks)});
  }
  void fit_again(std::vector<std::shared_ptr<Callback>> callbacks = {}, const Tensor& rows = {}) {
    callbacks.push_back(
        LambdaCallback({.on_batch_end = [](int64_t, const Logs&) { std::cerr << cat(kStepped, "\n"); }}));
    fit(std::move(callbacks), rows.defined() ? rows : x);
  }
};

using RankProgram = std::function<void(TrainedModel&)>;
const std::map<std::string, RankProgram> kFactPrograms = {
    {"same",
     [](TrainedModel& of) {
       if (of.other) of.model.optimizer().learning_rate().assign(full({}, 0.01));
       of.fit_again({EarlyStopping({.monitor = "loss"})});
     }},
    {"rate",
     [](TrainedModel& of) {
       of.model.optimizer().learning_rate().assign(full({}, of.other ? 0.02 : 0.01));
       of.fit_again();
     }},
    {"momentum",
     [](TrainedModel& of) {
       of.compile({.learning_rate = 0.01, .momentum = of.other ? 0.9 : 0.5});
       of.fit_again();
     }},
    {"dropout",
     [](TrainedModel& of) {
       of.model = TrainedModel::with_dropout(of.other ? 0.5 : 0.1);
       of.compile({.learning_rate = 0.01});
       of.fit_again();
     }},
    {"patience",
     [](TrainedModel& of) {
       of.fit_again({EarlyStopping({.monitor = "loss", .patience = of.other ? 3 : 2})});
     }},
    {"one callback",
     [](TrainedModel& of) {
       of.fit_again(of.other ? std::vector<std::shared_ptr<Callback>>{}
                             : std::vector{EarlyStopping({.monitor = "loss"})});
     }},
    {"rows", [](TrainedModel& of) { of.fit_again({}, of.other ? of.x + 1 : of.x); }},
    {"seed",
     [](TrainedModel& of) {
       set_seed(of.other ? 8 : 7);
       of.fit_again();
     }},
    {"other call", [](TrainedModel& of) {
       if (of.other) of.workers.gather({{Tensor::of<float>({1})}});
       of.fit_again();
     }}};

TEST(LaunchFacts, DISABLED_Program) {
  run_named_program([](const std::string& name) {
    TrainedModel of;
    kFactPrograms.at(name)(of);
  });
}

// Rank 1 runs it by `binary`.
Outcome launched_program(const std::string& name, const std::string& binary = test_binary()) {
  return call_shell(launch_words(3, "--stall-after 20s",
                                 but_on(1, cat("exec ", program_words(name, binary)), program_words(name))));
}

TEST(LaunchFacts, NightlyARankOfAnotherProgramIsNamed) {
  const std::string folder = folder_to_launch("launch-facts-program");
  const Outcome run =
      call_shell(launch_words(3, "", but_on(1, cat("exec ", program_words("same")), worker_words(folder))));
  EXPECT_EQ(run.code, 43) << run.error;
  EXPECT_NE(
      run.error.find(
          "ranks do not run the same: rank 1 waits in collective-broadcast 'seed' of step 0 and ranks 0, "
          "2 wait in the comparison of what ranks run"),
      std::string::npos)
      << run.error;
}

// A run is given up with a sentence like this, before a step behind the comparison.
void expect_given_up(const Outcome& run, const std::string& wanted) {
  EXPECT_EQ(run.code, 43) << run.error;
  EXPECT_TRUE(std::regex_search(run.error, std::regex("ranks do not run the same: " + wanted)))
      << wanted << "\n"
      << run.error;
  EXPECT_EQ(run.error.find(kStepped), std::string::npos) << run.error;
}

TEST(LaunchFacts, NightlyASecondFitIsComparedAsTheFirst) {
  const Outcome same = launched_program("same");
  EXPECT_EQ(same.code, 0) << same.error;
  EXPECT_NE(same.error.find(kStepped), std::string::npos) << same.error;
  for (const auto& [program, wanted] : std::map<std::string, std::string>{
           {"rate", "learning rate is 0.01 on ranks 0, 2 and 0.02 on rank 1"},
           {"momentum", "program of the step is [0-9a-f]{8} on ranks 0, 2 and [0-9a-f]{8} on rank 1"},
           {"dropout", "program of the model is [0-9a-f]{8} on ranks 0, 2 and [0-9a-f]{8} on rank 1"},
           {"patience", "EarlyStopping patience is 2 on ranks 0, 2 and 3 on rank 1"},
           {"one callback", "EarlyStopping is set on ranks 0, 2 and not set on rank 1"},
           {"rows", "hash of the rows is [0-9a-f]{16} on ranks 0, 2 and [0-9a-f]{16} on rank 1"},
           {"seed", "seed is 7 on ranks 0, 2 and 8 on rank 1"}}) {
    SCOPED_TRACE(program);
    expect_given_up(launched_program(program), wanted);
  }
}

// The engine knows of it, or whoever compares.
TEST(LaunchFacts, NightlyARankThatMakesAnotherCallBetweenFitsIsNamed) {
  const Outcome run = launched_program("other call");
  EXPECT_EQ(run.code, 43) << run.error;
  EXPECT_NE(run.error.find("rank 1 calls "), std::string::npos) << run.error;
}

// A copy of a program whose library says that it is of another version.
std::string of_another_version(const std::string& program, const std::string& copy, std::string& version) {
  std::string bytes = posix_env().read_file(program);
  const std::string now = cat(std::string(1, '\0'), kVersion, std::string(1, '\0'));
  version = kVersion;
  version.back() = version.back() == '9' ? '8' : '9';
  size_t found = 0;
  for (size_t at = bytes.find(now); at != bytes.npos; at = bytes.find(now, at + now.size() - 1), ++found)
    bytes.replace(at + 1, version.size(), version);
  EXPECT_GT(found, 0u) << "the program does not hold its version";
  posix_env().write_file(copy, bytes);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  return copy;
}

TEST(LaunchFacts, SlowRanksOfAnotherVersionOrSeedAreNamed) {
  const std::string folder = folder_to_launch("launch-facts"), train = worker_words(folder);
  std::string version;
  const std::string command = of_another_version(build_folder() + "/espalier", folder + "/espalier", version);
  const std::string of_versions = cat("version is ", kVersion, " on ranks 0, 2 and ", version, " on rank 1");
  std::string other_train = train;
  other_train.replace(0, (build_folder() + "/espalier").size(), command);
  expect_given_up(call_shell(launch_words(3, "", but_on(1, cat("exec ", other_train), train))), of_versions);
  const std::string program = of_another_version(test_binary(), folder + "/program", version);
  expect_given_up(launched_program("same", program), of_versions);
  expect_given_up(
      call_shell(launch_words(3, "", shell_words(cat(train, " --seed $((7 + (ESPALIER_RANK == 1)))")))),
      "fit.seed is 7 on ranks 0, 2 and 8 on rank 1");
}

}  // namespace
}  // namespace espalier::cli
