// Workers that fork a child, as for an evaluation beside the training: the child is told that it has no part
// in the run, and the run is what it is without one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <set>
#include <string>

#include "cli/engines_test.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

std::string rule_of_call(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.rule();
  }
  return "none";
}

Sequential small_model(const Tensor& x, const Tensor& y) {
  Sequential model{Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = MeanSquaredError(), .metrics = {}});
  model.fit(x, y, {.epochs = 1, .batch_size = 6});
  return model;
}

// Trains for two epochs, with a child of each rank between them. Returns in the child, too: 0, or what was
// not as it should be.
int train_beside_a_child(bool forks) {
  const Tensor x = random_normal({24, 4}, 1, 0), y = matmul(x, random_normal({4, 2}, 2, 0));
  pid_t child = -1;
  int wrong = 0;
  {
    const strategy::MultiWorkerMirrored workers;
    const auto scope = workers.scope();
    Sequential model = small_model(x, y);
    std::cout.flush();
    if (forks) child = ::fork();
    if (child == 0) {
      ::alarm(100);
      const std::function<void()> calls[] = {
          [&] { model.evaluate(x, y); },
          [&] { model.fit(x, y, {.epochs = 1, .batch_size = 6}); },
          [&] { workers.reduce(ReduceOp::kSum, {{full({4}, 1)}}); },
      };
      for (size_t i = 0; i < std::size(calls); ++i) {
        const std::string rule = rule_of_call(calls[i]);
        if (rule == "strategy.forked") continue;
        std::cerr << cat("call ", i, " of the child: ", rule, "\n");
        wrong = 1;
      }
    } else {
      model.fit(x, y, {.epochs = 1, .batch_size = 6});
      for (const float weight : model.variables()[0].read().to_vector<float>()) std::cout << weight << " ";
      std::cout << cat("of rank ", workers.worker(), "\n") << std::flush;
    }
  }
  if (child == 0) {
    if (rule_of_call([] { strategy::MultiWorkerMirrored(); }) != "strategy.forked") wrong |= 2;
    // On its own it computes.
    Sequential own = small_model(x, y);
    return wrong | (own.evaluate(x, y).at("loss") > 0 ? 0 : 4);
  }
  int status = 0;
  if (forks && (::waitpid(child, &status, 0) != child || status != 0)) {
    std::cerr << cat("the child ended with status ", status, "\n");
    return 3;
  }
  return 0;
}

TEST(LaunchForked, DISABLED_Program) {
  // By exit(): what lives as long as the process ends in the child, too.
  run_named_program([](const std::string& name) { std::exit(train_beside_a_child(name == "forks")); });
}

// Lines in any order.
std::multiset<std::string> lines_of(const std::string& text) {
  std::multiset<std::string> out;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    if (text.substr(at, end - at).find(" of rank ") != text.npos) out.insert(text.substr(at, end - at));
  }
  return out;
}

void expect_unharmed(const std::function<std::string(const std::string&)>& words_of) {
  const Outcome with = call_shell(words_of("forks")), without = call_shell(words_of("does not"));
  EXPECT_EQ(with.code, 0) << with.error;
  EXPECT_EQ(without.code, 0) << without.error;
  EXPECT_EQ(lines_of(with.output).size(), 2u) << with.output;
  EXPECT_EQ(lines_of(with.output), lines_of(without.output));
}

TEST(LaunchForked, SlowAChildHasNoPartInARunOverSharedMemory) {
  expect_unharmed([](const std::string& name) { return launch_words(2, "", program_words(name)); });
}

TEST(LaunchForked, NightlyAChildHasNoPartInARunOverGloo) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  expect_unharmed([](const std::string& name) {
    return cat(build_folder(), "/espalier launch --hosts a:1,b:1 --interface lo --agent env -- ",
               program_words(name));
  });
}

TEST(LaunchForked, NightlyAChildHasNoPartInARunOfMpi) {
  if (const std::string why = missing_engine({"mpi"}); !why.empty()) GTEST_SKIP() << why;
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  expect_unharmed([](const std::string& name) {
    return cat("ESPALIER_ENGINE=mpi ", kMpirun, "-n 2 ", program_words(name));
  });
}

}  // namespace
}  // namespace espalier::cli
