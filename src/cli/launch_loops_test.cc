// Loops of one's own below `espalier launch`: started again, and left by one rank.
#include <cstdlib>
#include <functional>
#include <map>

#include "base/sha256.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

// Fourteen calls, of which every third is saved. Worker 0 says what it has learned.
int train_in_loop(const strategy::MultiWorkerMirrored& workers, int64_t leaves_behind) {
  const auto scope = workers.scope();
  Sequential model{Dense({.units = 4, .activation = "tanh"}), Dense({.units = 1})};
  Optimizer optimizer = Adam{.learning_rate = 0.05};
  const Loss loss = MeanSquaredError();
  int64_t calls = 0;
  const Tensor x = reshape(convert(arange(80), DType::kF32), {40, 2}) / 40;
  auto batches = workers.distribute(
      Dataset::from_tensor_slices({x, sum(x * x, 1, true)}).shuffle(15).batch(6).repeat(2));
  CheckpointManager checkpoints(
      std::getenv("CHECKPOINTS"),
      {{"model", model}, {"optimizer", optimizer}, {"batches", batches}, {"calls", calls}});
  if (const auto number = checkpoints.restore(); number && workers.worker() == 0)
    std::cerr << cat("goes on from checkpoint ", *number, " behind call ", calls, "\n");
  const auto step = function(
      [&](const Tensor& rows, const Tensor& labels) {
        GradientTape tape;
        const LossSums sums = loss.sums(labels, model(rows));
        const Tensor count = strategy::all_reduce({sums.weight})[0];
        const auto weights = model.trainable_variables();
        optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / count, weights)), weights);
      },
      {.name = "step"});
  while (const auto batch = batches.next()) {
    workers.run(step, *batch);
    if (++calls % 3 == 0) checkpoints.save();
    if (calls == leaves_behind && workers.worker() == 1) return 5;
  }
  if (workers.worker() != 0) return 0;
  std::string bits;
  for (const Variable& variable : model.variables()) {
    const Tensor value = variable;
    bits.append(static_cast<const char*>(value.bytes()), value.type().bytes());
  }
  std::cerr << cat("it has learned ", sha256_of(bits), "\n");
  return 0;
}

// Nobody calls anything behind it that could say so.
int differ_at_the_end(const strategy::MultiWorkerMirrored& workers) {
  const auto scope = workers.scope();
  Variable weight(zeros({2}), {.name = "weight"});
  const auto step = function([&](const Tensor& x) { weight.assign_add(strategy::all_reduce({x})[0]); });
  for (int call = 0; call < 3; ++call) workers.run(step, {{{full({2}, 1)}}});
  if (workers.worker() == 1) weight.assign(ones({2}));
  return 0;
}

const std::map<std::string, std::function<int()>> kLoops = {
    {"differs", [] { return differ_at_the_end(strategy::MultiWorkerMirrored()); }},
    {"trains", [] { return train_in_loop(strategy::MultiWorkerMirrored(), -1); }},
    {"leaves", [] { return train_in_loop(strategy::MultiWorkerMirrored(), 7); }}};

TEST(LaunchLoops, DISABLED_Program) {
  run_named_program([](const std::string& name) {
    if (const int status = kLoops.at(name)()) ::_exit(status);
  });
}

std::string in_folder(const std::string& folder, const std::string& words) {
  return cat("CHECKPOINTS=", folder, "/checkpoints ", words);
}

std::string learned(const Outcome& run) {
  const std::string says = "it has learned ";
  const size_t at = run.error.find(says);
  return at == run.error.npos ? "nothing: " + run.error : run.error.substr(at + says.size(), 64);
}

TEST(LaunchLoops, SlowALoopThatIsKilledAndStartedAgainLearnsTheSameBits) {
  const auto run = [](const std::string& name, const std::string& flags) {
    return call_shell(in_folder(fresh_folder(name), launch_words(3, flags, program_words("trains"))));
  };
  const Outcome whole = run("launch-loops-whole", "");
  EXPECT_EQ(whole.code, 0) << whole.error;
  const Outcome killed = run("launch-loops-killed", "--chaos kill:1@step8 --restarts 1");
  EXPECT_EQ(killed.code, 0) << killed.error;
  EXPECT_NE(killed.error.find(
                " ended by signal 9 in call 8 of \"step\" before all-gather 'call'; ranks 0, 2 waited"),
            std::string::npos)
      << killed.error;
  EXPECT_NE(killed.error.find("goes on from checkpoint 2 behind call 6\n"), std::string::npos)
      << killed.error;
  EXPECT_EQ(learned(killed), learned(whole));
}

// The status of main(), which comes behind the end of the strategy.
TEST(LaunchLoops, SlowARankThatReturnsInTheMiddleOfALoopIsNamedWithItsStatus) {
  const Outcome run = call_shell(
      in_folder(fresh_folder("launch-loops-leaves"), launch_words(3, "", program_words("leaves"))));
  EXPECT_EQ(run.code, 43) << run.error;
  EXPECT_NE(run.error.find(
                ") left the run and ended with status 5 behind call 7 of \"step\" while ranks 0, 2 are at "
                "call 7 of \"step\" (verdict "),
            std::string::npos)
      << run.error;
}

TEST(LaunchLoops, SlowWhatDiffersBehindTheLastCallEndsTheRun) {
  const Outcome run = call_shell(launch_words(3, "", program_words("differs")));
  EXPECT_EQ(run.code, 43) << run.error;
  EXPECT_NE(
      run.error.find("variable \"weight\" of rank 1 differs from that of ranks 0, 2 behind step 3 (verdict "),
      std::string::npos)
      << run.error;
}

}  // namespace
}  // namespace espalier::cli
