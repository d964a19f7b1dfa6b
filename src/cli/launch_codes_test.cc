// The codes that the help of `espalier launch` promises, by each engine.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "cli/beside_test.h"
#include "cli/engines_test.h"

namespace espalier::cli {
namespace {

class LaunchCodes : public EnginesTest, public testing::WithParamInterface<const char*> {
 protected:
  std::string launch_by(const std::string& engine, const std::string& program,
                        const std::string& flags = "") const {
    const std::string where = engine == "gloo"
                                  ? "--hosts a:1,b:1 --agent env --interface 127.0.0.1 --engine gloo"
                                  : cat("-n 2 --engine ", engine);
    return cat(build_folder(), "/espalier launch ", where, flags.empty() ? "" : " ", flags, " -- ", program);
  }
  std::string launch(const std::string& program, const std::string& flags = "") const {
    return launch_by(GetParam(), program, flags);
  }
  Outcome run(const std::string& program, const std::string& flags = "") const {
    return call_shell(launch(program, flags));
  }
  bool has_engine() const { return GetParam() != std::string("mpi") || has_mpirun(); }

  // Ends of itself in hours. Its log says that it is under way.
  std::string long_training() const {
    const std::string plan = folder_ + "/plan.toml";
    write_file(plan,
               posix_env().read_file(plan) + "[[callbacks]]\ntype = \"CSVLogger\"\npath = \"log.csv\"\n");
    return worker_words(folder_, "--batch 12 --epochs 100000 --checkpoint-every 100000000");
  }
  // The run of these words, in a session of its own, which gets the signal in its second epoch: the launcher,
  // or with Ctrl-C all of its group.
  Outcome told(const std::string& words, int signal, bool group = false) const {
    const std::string log = folder_ + "/log.csv";
    std::filesystem::remove(log);
    Beside run("setsid " + words, folder_ + "/errors");
    EXPECT_TRUE(comes_true([&] {
      return posix_env().exists(log) && std::ranges::count(posix_env().read_file(log), '\n') > 1;
    })) << run.errors();
    ::kill(group ? -run.process() : run.process(), signal);
    EXPECT_TRUE(run.ends()) << run.errors();
    return {run.code(), "", run.errors()};
  }
  // What "told to go; `...` goes on" names.
  static std::string hint_of(const Outcome& run) {
    const std::string head = "told to go; `";
    const size_t at = run.error.find(head), end = run.error.find("` goes on\n", at);
    EXPECT_NE(end, std::string::npos) << run.error;
    return end == std::string::npos ? "false" : run.error.substr(at + head.size(), end - at - head.size());
  }
};

// Of programs that do not join each other: what their ranks ended with.
TEST_P(LaunchCodes, SlowAreThoseOfTheRankThatFailedFirst) {
  if (!has_engine()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const auto code_of = [&](const std::string& script) {
    return run(cat("sh -c '[ ${OMPI_COMM_WORLD_RANK:-$ESPALIER_RANK} = 0 ] || { ", script, "; }'")).code;
  };
  EXPECT_EQ(code_of("true"), 0);
  EXPECT_EQ(code_of("exit 42"), 42);
  EXPECT_EQ(code_of("exit 5"), 5);
  EXPECT_EQ(code_of("kill -SEGV $$"), 128 + SIGSEGV);
}

TEST_P(LaunchCodes, NightlyARunThatIsToldToEndSavesAndEndsWith42) {
  if (!has_engine()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const std::string words = launch(long_training());
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    std::filesystem::remove(folder_ + "/model.checkpoint");
    const Outcome run = told(words, signal);
    EXPECT_EQ(run.code, 42) << signal << run.error;
    EXPECT_TRUE(posix_env().exists(folder_ + "/model.checkpoint")) << signal;
    EXPECT_EQ(hint_of(run), words + " --resume");
  }
}

TEST_P(LaunchCodes, NightlySignalsThatNobodyLooksForEndTheRun) {
  if (!has_engine()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const std::string words = launch(cat("sh -c '{ echo; echo; } > ", folder_, "/log.csv; exec sleep 300'"));
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT, SIGHUP}) {
    const Outcome run = told(words, signal);
    EXPECT_EQ(run.code, 128 + signal) << run.error;
    EXPECT_EQ(run.error.find("ended with status"), std::string::npos) << run.error;
  }
}

TEST_P(LaunchCodes, NightlyBadInputThatAllRefuseIs2) {
  if (!has_engine()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  EXPECT_EQ(run(worker_words(folder_, "--batch 0")).code, 2);
  write_file(folder_ + "/table.csv", "a,b\n1,2\n");
  const Outcome refused = run(train());
  EXPECT_EQ(refused.code, 2) << refused.error;
}

TEST_P(LaunchCodes, NightlyARunThatIsGivenUpIs43) {
  if (!has_engine()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  for (const char* fault : {"kill:1@step3", "throw:1@step3", "exit:1@step3"}) {
    const Outcome given_up = run(train(), cat("--chaos ", fault));
    if (GetParam() != std::string("mpi")) {
      EXPECT_EQ(given_up.code, 43) << fault << given_up.error;
      continue;
    }
    // mpirun ends with what the first rank ended with: the one that failed, or one that had heard of it.
    if (fault == std::string("kill:1@step3"))
      EXPECT_EQ(given_up.code, 128 + SIGKILL) << given_up.error;
    else
      EXPECT_TRUE(given_up.code == 1 || given_up.code == 43) << fault << given_up.code << given_up.error;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, LaunchCodes, testing::Values("shm", "gloo", "mpi"),
                         [](const auto& info) { return std::string(info.param); });

class LaunchMpirun : public LaunchCodes {};

// The hint is done as it stands, and what goes on is told by Ctrl-C.
TEST_F(LaunchMpirun, SlowThatIsToldToEndSavesAndItsHintGoesOn) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const std::string training = long_training();
  const Outcome first =
      told(launch_by("mpi", training, "--env 'KEY=a;b' --chaos stop:1@step2:0.1s"), SIGTERM);
  EXPECT_EQ(first.code, 42) << first.error;
  EXPECT_TRUE(posix_env().exists(folder_ + "/model.checkpoint"));
  const std::string hint = launch_by("mpi", training, "--env KEY") + " --resume";
  ASSERT_EQ(hint_of(first), hint) << first.error;
  const Outcome again = told(cat("env KEY=a ", hint), SIGINT, true);
  EXPECT_EQ(again.code, 42) << again.error;
  EXPECT_EQ(hint_of(again), hint);
}

TEST_F(LaunchMpirun, SlowEndsAtOnceByASecondSignal) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const std::string under_way = "echo it is under way >&2", asked = "echo it is asked >&2";
  Beside run(launch_by("mpi", cat("sh -c '", under_way, "; trap \"", asked,
                                  "\" USR1; while true; do sleep 0.1; done'")),
             folder_ + "/errors");
  const auto both_say = [&](const std::string& line) {
    return comes_true([&] {
      const size_t first = run.errors().find(line);
      return first != std::string::npos && run.errors().find(line, first + 1) != std::string::npos;
    });
  };
  EXPECT_TRUE(both_say("it is under way\n")) << run.errors();
  run.signal(SIGINT);
  EXPECT_TRUE(both_say("it is asked\n")) << run.errors();
  EXPECT_FALSE(run.ended()) << run.errors();
  run.signal(SIGINT);
  EXPECT_TRUE(run.ends()) << run.errors();
  EXPECT_EQ(run.code(), 128 + SIGINT) << run.errors();
}

// It is no worker.
TEST_F(LaunchMpirun, NightlyTheOnlyRankSavesAndEndsWith42) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const Outcome run = told(launch_words(1, "--engine mpi", long_training()), SIGTERM);
  EXPECT_EQ(run.code, 42) << run.error;
  EXPECT_TRUE(posix_env().exists(folder_ + "/model.checkpoint"));
}

}  // namespace
}  // namespace espalier::cli
