// Runs whose ranks join the control: this program again, as a rank.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "base/thread_pool.h"
#include "comm/shm.h"
#include "espalier/error.h"
#include "espalier/strategy.h"
#include "launch/chaos.h"
#include "launch/control_board.h"
#include "launch/control_client.h"
#include "launch/launch.h"
#include "launch/launch_test.h"
#include "strategy/replicas.h"

namespace espalier {
namespace {

int number_of(const char* variable) { return std::atoi(std::getenv(variable)); }

bool others_wait(const Board& board, int but) {
  for (int rank = 0; rank < board.world(); ++rank)
    if (rank != but && board.stage_of(rank).stage != Stage::kCollective) return false;
  return true;
}

// As a training would: `steps` steps of one all-reduce each, of ranks + 1 by rank.
int train_as_rank(int64_t steps, double seconds) {
  const int rank = number_of("ESPALIER_RANK"), world = number_of("ESPALIER_WORLD");
  const std::vector<ChaosEvent> chaos = chaos_from_environment(rank, world);
  SharedSegments segments = parse_shared_segments(std::getenv("ESPALIER_SEGMENTS"));
  const std::shared_ptr<Board> board = shm_board(segments);
  const std::shared_ptr<Communicator> ranks = shm_communicator(segments, rank, world);
  close_segments(segments);
  ControlHooks hooks;
  hooks.report = [board, rank] { return report_of(*board, rank).value_or(StageReport()); };
  hooks.on_verdict = [board](const RunVerdict& verdict) { board->abort(to_string(verdict)); };
  const auto control = ControlClient::from_environment(hooks);
  ThreadPool pool(1);
  try {
    const char* odd = std::getenv("ODD_RANK");
    control->describe({{"seed", odd && std::atoi(odd) == rank ? "8" : "7"}});
    const std::shared_ptr<std::byte[]> memory = ranks->allocate(sizeof(int64_t));
    auto* sum = reinterpret_cast<int64_t*>(memory.get());
    for (int64_t step = 1; step <= steps; ++step) {
      ranks->stage(Stage::kStep, step);
      for (const ChaosEvent& event : chaos) {
        if (event.step != step) continue;
        // A verdict says that others waited if they did.
        if (event.kind == ChaosKind::kKill || event.kind == ChaosKind::kThrow)
          comes_true([&] { return others_wait(*board, rank); });
        if (event.kind == ChaosKind::kKill) ::raise(SIGKILL);
        if (event.kind == ChaosKind::kStop) ::raise(SIGSTOP);
        if (event.kind == ChaosKind::kExit) ::_exit(0);
        if (event.kind == ChaosKind::kThrow) throw ValueError("data.row", "row 7 has no label");
      }
      const char* hangs = std::getenv("HANGS");
      if (hangs && std::atoi(hangs) == rank && step == 5) std::this_thread::sleep_for(std::chrono::hours(1));
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      *sum = rank + 1;
      const Collective collective{Collective::Kind::kAllReduce,
                                  "gradients",
                                  "i64 sum",
                                  sizeof(int64_t),
                                  1,
                                  [](std::byte* to, const std::byte* const* from, int count, size_t) {
                                    int64_t out = 0;
                                    for (int i = 0; i < count; ++i)
                                      out += *reinterpret_cast<const int64_t*>(from[i]);
                                    *reinterpret_cast<int64_t*>(to) = out;
                                  }};
      run_collective(*ranks, collective, memory.get(), nullptr, pool);
      if (*sum != world * (world + 1) / 2) return 9;
    }
    ranks->stage(Stage::kEnd, steps);
    control->left();
    return 0;
  } catch (const Error& error) {
    const bool others = error.rule() == "comm.verdict";
    control->failed(error.what(), others ? FailureCause::kOthers : FailureCause::kOwn);
    std::fprintf(stderr, "%s\n", error.message().c_str());
    control->wait_for_verdict(kTooLong);
    return 1;
  }
}

// Runs in the processes that the tests below launch.
TEST(LaunchedRank, DISABLED_Trains) {
  if (!std::getenv("ESPALIER_CONTROL")) GTEST_SKIP() << "it is no rank";
  // Not through the destructors of the test program.
  ::_exit(train_as_rank(number_of("STEPS"), std::atof(std::getenv("SECONDS"))));
}

// When all are there it cannot go on by an error of RULE_OF_RANK, or ends with status 3 where none is given.
int fail_as_rank() {
  const strategy::MultiWorkerMirrored workers;
  workers.replicas()->membership().describe({{"seed", "7"}});
  const char* const rule = std::getenv(cat("RULE_OF_", workers.worker()).c_str());
  if (!rule) ::_exit(3);
  workers.replicas()->membership().failed(RunError(rule, "the ranks are not alike"));
  return 1;
}

TEST(LaunchedRank, DISABLED_Fails) {
  if (!std::getenv("ESPALIER_CONTROL")) GTEST_SKIP() << "it is no rank";
  ::_exit(fail_as_rank());
}

// Ranks that meet before anybody has read that they join, of which one ends.
int end_unheard() {
  const int rank = number_of("ESPALIER_RANK");
  SharedSegments segments = parse_shared_segments(std::getenv("ESPALIER_SEGMENTS"));
  const std::shared_ptr<Communicator> ranks = shm_communicator(segments, rank, number_of("ESPALIER_WORLD"));
  close_segments(segments);
  ranks->any(0);
  if (rank == 1) ::_exit(6);
  try {
    ranks->any(0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    return 1;
  }
  return 0;
}

TEST(LaunchedRank, DISABLED_EndsUnheard) {
  if (!std::getenv("ESPALIER_SEGMENTS")) GTEST_SKIP() << "it is no rank";
  ::_exit(end_unheard());
}

struct Trained {
  LaunchOutcome outcome;
  std::string errors, output;
  std::vector<std::string> said;
};

// `as`: the test above that each rank is.
Trained run_ranks(const std::string& as, int world, LaunchOptions options,
                  const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const ControlFd output(::memfd_create("output", MFD_CLOEXEC)),
      errors(::memfd_create("errors", MFD_CLOEXEC));
  Trained out;
  options.ranks = world;
  options.program = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                     cat("--gtest_filter=LaunchedRank.", as)};
  options.output = output.get();
  options.errors = errors.get();
  options.say = [&](const std::string& text) { out.said.push_back(text); };
  out.outcome = launch(options);
  out.errors = written_to(errors.get());
  out.output = written_to(output.get());
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  return out;
}

Trained train_ranks(int world, LaunchOptions options, int steps = 40, double seconds = 0.01,
                    std::map<std::string, std::string> variables = {}) {
  variables["STEPS"] = cat(steps);
  variables["SECONDS"] = cat(seconds);
  return run_ranks("DISABLED_Trains", world, std::move(options), variables);
}

LaunchOptions with_chaos(const std::string& chaos) {
  LaunchOptions out;
  out.chaos = chaos;
  return out;
}

// `text` with P for each number of a process and ID for that of the verdict.
std::string without_numbers(std::string text) {
  for (const std::string before : {"(pid ", "(verdict "}) {
    for (size_t at = 0; (at = text.find(before, at)) != text.npos; at += before.size()) {
      const size_t begin = at + before.size();
      text.replace(begin, text.find(')', begin) - begin, before == "(pid " ? "P" : "ID");
    }
  }
  return text;
}

// The first line.
std::string sentence_of(const Trained& run) {
  return without_numbers(run.outcome.failure.substr(0, run.outcome.failure.find('\n')));
}

TEST(LaunchVerdict, HealthyRanksEndWithZero) {
  for (const int world : {1, 2, 5}) {
    const Trained run = train_ranks(world, {}, 30, 0.001);
    EXPECT_EQ(run.outcome.code, 0) << run.outcome.failure << run.errors;
    EXPECT_TRUE(run.said.empty());
  }
}

TEST(LaunchVerdict, AKilledRankIsNamedOnAll) {
  const Trained run = train_ranks(4, with_chaos("kill:2@step9"));
  EXPECT_EQ(run.outcome.code, 43);
  const std::string wanted =
      "rank 2 (pid P) ended by signal 9 in step 9 before all-reduce 'gradients'; ranks 0, 1, 3 waited "
      "(verdict ID)";
  EXPECT_EQ(sentence_of(run), wanted);
  EXPECT_NE(run.outcome.failure.find("\nthe last collective of each rank:\n"
                                     "  | rank 0: number 8, all-reduce 'gradients' of step 9, began "),
            std::string::npos)
      << run.outcome.failure;
  EXPECT_NE(run.outcome.failure.find("  | rank 2: number 7, all-reduce 'gradients' of step 8, began "),
            std::string::npos);
  // The survivors say the same.
  std::istringstream lines(without_numbers(run.errors));
  int said = 0;
  for (std::string line; std::getline(lines, line); ++said) EXPECT_EQ(line, wanted);
  EXPECT_EQ(said, 3);
}

TEST(LaunchVerdict, AnErrorIsQuotedOnAll) {
  const Trained run = train_ranks(3, with_chaos("throw:0@step4"));
  EXPECT_EQ(run.outcome.code, 43);
  const std::string said = without_numbers(run.outcome.failure);
  EXPECT_TRUE(said.starts_with(
      "rank 0 (pid P) failed in step 4 before all-reduce 'gradients' while ranks 1, 2 waited: "
      "ValueError[data.row]"))
      << said;
  EXPECT_NE(said.find("\nthe last 1 line of rank 0:\n  | row 7 has no label\n"), std::string::npos) << said;
  EXPECT_NE(run.errors.find("while ranks 1, 2 waited"), std::string::npos) << run.errors;
}

TEST(LaunchVerdict, OneThatReturnsEarlyIsMissed) {
  const Trained run = train_ranks(3, with_chaos("exit:1@step4"));
  EXPECT_EQ(run.outcome.code, 43);
  EXPECT_EQ(sentence_of(run),
            "rank 1 (pid P) ended with status 0 in step 4 while ranks 0, 2 are in step 4 (verdict ID)");
}

// Its engine has seen it, and the others hear why they end.
TEST(LaunchVerdict, OneThatEndsBeforeItIsHeardOfIsNamed) {
  const Trained run = run_ranks("DISABLED_EndsUnheard", 2, {}, {});
  EXPECT_EQ(run.outcome.code, 43);
  const std::string wanted = "rank 1 (pid P) ended with status 6 before its first step (verdict ID)";
  EXPECT_EQ(sentence_of(run), wanted);
  EXPECT_EQ(without_numbers(run.errors), wanted + "\n");
}

TEST(LaunchVerdict, FactsThatDifferAreNamedBeforeTheFirstStep) {
  const Trained run = train_ranks(3, {}, 40, 0.01, {{"ODD_RANK", "1"}});
  EXPECT_EQ(run.outcome.code, 43);
  EXPECT_EQ(without_numbers(run.outcome.failure),
            "ranks do not run the same: seed is 7 on ranks 0, 2 and 8 on rank 1 (verdict ID)\nthe last 1 "
            "line of rank 1:\n"
            "  | ranks do not run the same: seed is 7 on ranks 0, 2 and 8 on rank 1 (verdict ID)");
}

// The rule of its error says whose fault it is.
TEST(LaunchVerdict, WhatAllRanksSeeIsNobodysFault) {
  const std::string rule = "strategy.audit";
  const Trained run = run_ranks("DISABLED_Fails", 2, {}, {{"RULE_OF_0", rule}, {"RULE_OF_1", rule}});
  EXPECT_EQ(run.outcome.code, 43);
  EXPECT_EQ(sentence_of(run), "the ranks are not alike (verdict ID)");
}

TEST(LaunchVerdict, WhoHeardOfAnotherRanksFaultIsNotBlamed) {
  const Trained run = run_ranks("DISABLED_Fails", 2, {}, {{"RULE_OF_0", "comm.verdict"}});
  EXPECT_EQ(run.outcome.code, 43);
  EXPECT_TRUE(sentence_of(run).starts_with("rank 1 (pid P) ended with status 3")) << sentence_of(run);
}

TEST(LaunchVerdict, SlowAShortStopIsNoFailure) {
  const Trained run = train_ranks(3, with_chaos("stop:1@step4:2s"), 20);
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.failure;
}

TEST(LaunchVerdict, SlowALongStopIsSilence) {
  const Trained run = train_ranks(2, with_chaos("stop:1@step4:300s"), 20);
  EXPECT_EQ(run.outcome.code, 43);
  const std::string said = without_numbers(run.outcome.failure);
  EXPECT_TRUE(said.starts_with("rank 1 (pid P) has not been heard of for ")) << said;
  EXPECT_NE(said.find("it is stopped; rank 0 waited"), std::string::npos) << said;
}

TEST(LaunchVerdict, SlowOneThatHangsIsWarnedOfAndThenGivenUp) {
  LaunchOptions options;
  options.stall_after = 12;
  const Trained run = train_ranks(2, options, 20, 0.01, {{"HANGS", "1"}});
  EXPECT_EQ(run.outcome.code, 43);
  EXPECT_TRUE(std::regex_match(
      sentence_of(run),
      std::regex("rank 1 \\(pid P\\) has been in step 5 for 1\\d s; rank 0 waited \\(verdict ID\\)")))
      << sentence_of(run);
  ASSERT_EQ(run.said.size(), 1u);
  EXPECT_TRUE(
      std::regex_match(without_numbers(run.said[0]),
                       std::regex("warning: rank 1 \\(pid P\\) has been in step 5 for 1\\d s; rank 0 waits")))
      << run.said[0];
}

TEST(LaunchVerdict, AllStartAgainAfterAFailure) {
  LaunchOptions options = with_chaos("kill:1@step3");
  options.restarts = 2;
  const Trained run = train_ranks(3, options, 10);
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.failure;
  ASSERT_EQ(run.said.size(), 1u);
  EXPECT_TRUE(run.said[0].ends_with("all ranks start again, 1 of 2")) << run.said[0];
}

TEST(LaunchVerdict, RestartsAreCountedAndEnd) {
  LaunchOptions options;
  options.restarts = 2;
  std::vector<std::string> said;
  options.say = [&](const std::string& text) { said.push_back(text); };
  const auto run = launch_shell(2, "echo $ESPALIER_RESTART $ESPALIER_JOB; exit 3", options);
  EXPECT_EQ(run.outcome.code, 3);
  EXPECT_EQ(said.size(), 2u);
  for (const char* count : {"0 ", "1 ", "2 "})
    EXPECT_NE(run.output.find(count), std::string::npos) << run.output;
  std::istringstream words(run.output);
  std::string job, first;
  for (std::string word; words >> word >> job;)
    EXPECT_EQ(job, std::exchange(first, job).empty() ? job : first);
}

TEST(LaunchVerdict, ARunThatWasToldToEndIsNotStartedAgain) {
  LaunchOptions options;
  options.restarts = 5;
  const std::string ready = fresh_folder("launch-told") + "/ready";
  std::thread sender([&] {
    EXPECT_TRUE(comes_true([&] { return std::ifstream(ready).good(); }));
    ::kill(::getpid(), SIGTERM);
  });
  const auto run = launch_shell(
      1, "trap 'echo told; exit 3' TERM; echo > \"$1\"; while :; do sleep 0.05; done", options, {ready});
  sender.join();
  EXPECT_EQ(run.outcome.code, 3);
  EXPECT_EQ(run.output, "told\n");
}

// Every user of the host sees sockets; ids of runs are in names of files.
TEST(LaunchVerdict, TheSocketSaysNothingOfTheRun) {
  const auto run =
      launch_shell(1,
                   "sees() { grep -q -e \"$1\" /proc/net/unix && echo $1 || echo none; }; "
                   "echo $(sees $ESPALIER_JOB) $(sees ${ESPALIER_CONTROL#unix:}) $ESPALIER_CONTROL");
  std::istringstream words(run.output);
  std::string job, socket, control;
  words >> job >> socket >> control;
  EXPECT_EQ(job, "none");
  EXPECT_TRUE(socket.starts_with("@espalier-")) << run.output;
  EXPECT_EQ("unix:" + socket, control);
}

// What a run leaves behind: nothing with a name.
TEST(LaunchVerdict, NothingIsLeft) {
  const auto sockets = [] {
    std::ifstream in("/proc/net/unix");
    std::set<std::string> out;
    for (std::string line; std::getline(in, line);) {
      if (const size_t at = line.find("@espalier-"); at != line.npos) out.insert(line.substr(at));
    }
    return out;
  };
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto shared = [] {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) out.insert(entry.path());
    return out;
  };
  const auto before_sockets = sockets(), before_shared = shared();
  const auto before = descriptors();
  train_ranks(3, with_chaos("kill:2@step2"), 10);
  train_ranks(2, {}, 5);
  // Those of other tests, which run beside this one, go with their ranks.
  const auto expect_gone = [](std::set<std::string> left, const std::set<std::string>& old,
                              const auto& names_now) {
    std::erase_if(left, [&](const std::string& name) { return old.contains(name); });
    comes_true([&] {
      const std::set<std::string> now = names_now();
      std::erase_if(left, [&](const std::string& name) { return !now.contains(name); });
      return left.empty();
    });
    EXPECT_EQ(left, std::set<std::string>());
  };
  expect_gone(sockets(), before_sockets, sockets);
  expect_gone(shared(), before_shared, shared);
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace espalier
