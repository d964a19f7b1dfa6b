#include "launch/launch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/process_state.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/error.h"
#include "launch/launch_process.h"
#include "launch/launch_test.h"

namespace espalier {
namespace {

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.insert(line);
  return out;
}

// Beside kTooLong: a rank that nobody ends sleeps for 300 s.
double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A zombie is none of ours to reap where its parent was killed.
bool lives(const std::string& pid) {
  const auto state = process_state(std::stoi(pid));
  return state && state->lives();
}

std::string text_of_file(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The status of a child that ends; -1 of one that has to be killed.
int status_of(pid_t child) {
  int status = 0;
  if (comes_true([&] { return ::waitpid(child, &status, WNOHANG) == child; })) return status;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return -1;
}

TEST(Launch, EachRankKnowsItsPlace) {
  const auto run =
      launch_shell(3,
                   "echo $ESPALIER_RANK/$ESPALIER_WORLD $ESPALIER_LOCAL_RANK/$ESPALIER_LOCAL_WORLD "
                   "${#ESPALIER_JOB}");
  EXPECT_EQ(run.outcome.code, 0);
  EXPECT_EQ(run.outcome.failure, "");
  EXPECT_EQ(lines_of(run.output), (std::set<std::string>{"0/3 0/3 16", "1/3 1/3 16", "2/3 2/3 16"}));
  const auto job = launch_shell(2, "echo $ESPALIER_JOB"), other = launch_shell(1, "echo $ESPALIER_JOB");
  EXPECT_EQ(lines_of(job.output).size(), 1u) << job.output;
  EXPECT_NE(job.output.substr(0, 17), other.output);
}

TEST(Launch, WordsReachTheProgramAsTheyAre) {
  const std::vector<std::string> words{"", "a b", "$HOME", "[1,2]", "--", "-n", "\"'\n;"};
  const auto run = launch_shell(1, "printf '<%s>' \"$@\"", {}, words);
  std::string wanted;
  for (const std::string& word : words) wanted += cat("<", word, ">");
  EXPECT_EQ(run.output, wanted);
}

TEST(Launch, OutputOfRankZeroIsUntouched) {
  const auto run = launch_shell(1, "printf 'a\\rb\\033[1m\\000c'; printf E >&2");
  EXPECT_EQ(run.output, std::string("a\rb\033[1m\0c", 9));
  EXPECT_EQ(run.errors, "E");
}

TEST(Launch, OutputOfOthersComesByLines) {
  const auto run = launch_shell(4,
                                "[ $ESPALIER_RANK = 0 ] && exit; for i in 1 2 3 4 5 6 7 8; do printf 'on'; "
                                "printf 'e %s\\n' $ESPALIER_RANK; done; printf half");
  EXPECT_EQ(lines_of(run.output), (std::set<std::string>{"one 1", "one 2", "one 3", "half"}));
  EXPECT_EQ(std::ranges::count(run.output, '\n'), 27);
}

TEST(Launch, PrefixNamesTheRankOfEachLine) {
  LaunchOptions options;
  options.prefix = true;
  const auto run = launch_shell(2, "echo out; echo err >&2; printf rest", options);
  EXPECT_EQ(lines_of(run.output),
            (std::set<std::string>{"[rank 0] out", "[rank 0] rest", "[rank 1] out", "[rank 1] rest"}));
  EXPECT_EQ(lines_of(run.errors), (std::set<std::string>{"[rank 0] err", "[rank 1] err"}));
}

TEST(Launch, MuchOutputOfAllComesWhole) {
  LaunchOptions options;
  options.prefix = true;
  const auto run = launch_shell(3, "seq 20000; head -c 200000 /dev/zero | tr '\\0' x; echo", options);
  EXPECT_EQ(std::ranges::count(run.output, '\n'), 3 * 20001);
  EXPECT_EQ(std::ranges::count(run.output, 'x'), 3 * 200000);
  EXPECT_EQ(std::ranges::count(run.output, '['), 3 * 20001) << "one prefix a line, however long it is";
  EXPECT_TRUE(lines_of(run.output).contains("[rank 2] 20000"));
}

TEST(Launch, TheFirstFailureIsNamedWithItsLastLines) {
  const auto run = launch_shell(
      3, "if [ $ESPALIER_RANK = 1 ]; then seq 30 >&2; printf 'old\\rlast' >&2; exit 7; fi; exec sleep 300");
  EXPECT_EQ(run.outcome.code, 7);
  std::string wanted = "\nthe last 20 lines of rank 1:";
  for (int i = 12; i <= 30; ++i) wanted += cat("\n  | ", i);
  wanted += "\n  | last";
  EXPECT_TRUE(run.outcome.failure.starts_with("rank 1 (pid ")) << run.outcome.failure;
  EXPECT_TRUE(run.outcome.failure.ends_with(cat(") ended with status 7", wanted))) << run.outcome.failure;
}

TEST(Launch, ASignalThatEndsARankIsNamed) {
  const auto run = launch_shell(2, "[ $ESPALIER_RANK = 1 ] && kill -9 $$; exec sleep 300");
  EXPECT_EQ(run.outcome.code, 137);
  EXPECT_TRUE(run.outcome.failure.ends_with(") ended by signal 9")) << run.outcome.failure;
}

TEST(Launch, SlowOthersThatDoNotListenAreKilledAfterTwoSeconds) {
  const double seconds = seconds_of([] {
    const auto run = launch_shell(3, "trap '' TERM; [ $ESPALIER_RANK = 2 ] && exit 3; exec sleep 300");
    EXPECT_EQ(run.outcome.code, 3);
    EXPECT_EQ(std::ranges::count(run.outcome.failure, '\n'), 0) << run.outcome.failure;
  });
  EXPECT_GE(seconds, 1.9);
  EXPECT_LT(seconds, kTooLong);
}

// It hears the signal that ends it, and need not be killed.
TEST(Launch, AStoppedRankIsEndedToo) {
  const std::string pid = fresh_folder("launch-stopped-too") + "/pid";
  const auto run = launch_shell(2,
                                "trap 'echo heard; exit 0' TERM; "
                                "[ $ESPALIER_RANK = 0 ] && echo $$ > \"$1\" && kill -STOP $$; "
                                "until grep -qs '^State:.T' /proc/$(cat \"$1\")/status; do sleep 0.05; done; "
                                "exit 5",
                                {}, {pid});
  EXPECT_EQ(run.outcome.code, 5);
  EXPECT_EQ(run.output, "heard\n");
}

TEST(Launch, CodeOfPreemption) {
  EXPECT_EQ(launch_shell(3, "exit 42").outcome.code, 42);
  EXPECT_EQ(launch_shell(3, "[ $ESPALIER_RANK = 1 ] && exit 42; sleep 0.1").outcome.code, 42);
  const auto mixed = launch_shell(2, "[ $ESPALIER_RANK = 1 ] && exit 42; sleep 0.1; exit 1");
  EXPECT_EQ(mixed.outcome.code, 1);
  EXPECT_TRUE(mixed.outcome.failure.starts_with("rank 0 ")) << mixed.outcome.failure;
}

TEST(Launch, WhatARankLeavesBehindEndsWithIt) {
  const std::string pids = fresh_folder("launch-left") + "/pids";
  const auto run = launch_shell(2, "sleep 300 & echo $! >> \"$1\"; exit 0", {}, {pids});
  EXPECT_EQ(run.outcome.code, 0);
  const std::vector<std::string> left = words_of(text_of_file(pids));
  ASSERT_EQ(left.size(), 2u);
  for (const std::string& pid : left) EXPECT_TRUE(comes_true([&] { return !lives(pid); })) << pid;
}

// One that has gone into a session of its own keeps the stream open, and is not waited for.
TEST(Launch, AStreamThatStaysOpenIsNotWaitedFor) {
  const std::string pid = fresh_folder("launch-open") + "/pid";
  const double seconds = seconds_of([&] {
    const auto run = launch_shell(1,
                                  "setsid sh -c 'echo $$ > \"$0\"; exec sleep 300' \"$1\" & "
                                  "until [ -s \"$1\" ]; do sleep 0.05; done; echo done",
                                  {}, {pid});
    EXPECT_EQ(run.output, "done\n");
  });
  EXPECT_LT(seconds, kTooLong);
  const std::string open = words_of(text_of_file(pid)).at(0);
  EXPECT_TRUE(lives(open));
  ::kill(std::stoi(open), SIGKILL);
}

// 150 kB of whole lines, which no pipe holds.
constexpr const char* kMuch = "for i in $(seq 5000); do echo ranks-may-write-so-much-here; done; ";

LaunchOptions options_into(const ControlFd& pipe, const std::string& script, const std::string& argument) {
  LaunchOptions out;
  out.ranks = 2;
  out.program = {"sh", "-c", script, "sh", argument};
  out.output = out.errors = pipe.get();
  return out;
}

TEST(Launch, AReaderThatSleepsHoldsUpNeitherRanksNorSignals) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const ControlFd read(ends[0]), write(ends[1]);
  const std::string ready = fresh_folder("launch-unread") + "/ready";
  std::thread sender([&] {
    EXPECT_TRUE(comes_true([&] { return words_of(text_of_file(ready)).size() == 2; }));
    ::kill(::getpid(), SIGTERM);
  });
  LaunchOutcome outcome;
  const std::string script = cat(kMuch, "echo $$ >> \"$1\"; exec sleep 300");
  const double seconds = seconds_of([&] { outcome = launch(options_into(write, script, ready)); });
  sender.join();
  EXPECT_EQ(outcome.code, 128 + SIGTERM) << outcome.failure;
  EXPECT_LT(seconds, kTooLong);
}

TEST(Launch, AReaderThatIsSlowGetsAllInWholeLines) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const ControlFd read(ends[0]);
  ControlFd write(ends[1]);
  std::string got;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    char bytes[3000];
    for (ssize_t one; (one = ::read(read.get(), bytes, sizeof bytes)) > 0;)
      got.append(bytes, static_cast<size_t>(one));
  });
  // Both streams of both ranks into one pipe.
  LaunchOptions options = options_into(write, cat("{ ", kMuch, "} >&2 & ", kMuch, "wait"), "");
  options.prefix = true;
  const auto outcome = launch(options);
  write.close();
  reader.join();
  EXPECT_EQ(outcome.code, 0) << outcome.failure;
  EXPECT_EQ(std::ranges::count(got, '\n'), 20000);
  EXPECT_EQ(lines_of(got), (std::set<std::string>{"[rank 0] ranks-may-write-so-much-here",
                                                  "[rank 1] ranks-may-write-so-much-here"}));
}

TEST(Launch, SignalsGoToAllRanksAndTheirChildren) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    const std::string ready = fresh_folder("launch-signals") + "/ready";
    std::thread sender([&] {
      comes_true([&] { return words_of(text_of_file(ready)).size() == 3; });
      ::kill(::getpid(), number);
    });
    // A shell in the background ignores SIGINT, so a child of another kind.
    const auto run = launch_shell(3,
                                  "trap 'echo got; exit 0' INT TERM USR1 HUP; echo $$ >> \"$1\"; "
                                  "while :; do sleep 0.05; done",
                                  {}, {ready});
    sender.join();
    EXPECT_EQ(run.outcome.code, 0) << number << run.outcome.failure;
    EXPECT_EQ(std::ranges::count(run.output, '\n'), 3) << number;
  }
}

// As a program under a shell script is; the script itself waits for it.
TEST(Launch, ASignalReachesWhatARankHasStarted) {
  const std::string ready = fresh_folder("launch-signals-started") + "/ready";
  std::thread sender([&] {
    comes_true([&] { return words_of(text_of_file(ready)).size() == 2; });
    ::kill(::getpid(), SIGTERM);
  });
  const auto run = launch_shell(2,
                                "trap 'wait $!; exit 0' TERM\n"
                                "sh -c 'trap \"echo started; exit 0\" TERM; echo $$ >> \"$1\"; "
                                "while :; do sleep 0.05; done' sh \"$1\" & wait $!",
                                {}, {ready});
  sender.join();
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.failure;
  EXPECT_EQ(lines_of(run.output), (std::set<std::string>{"started"}));
  EXPECT_EQ(std::ranges::count(run.output, '\n'), 2);
}

TEST(Launch, OutputAndErrorsGoWhereThoseOfTheLauncherDo) {
  const LaunchOptions options;
  EXPECT_EQ(options.output, STDOUT_FILENO);
  EXPECT_EQ(options.errors, STDERR_FILENO);
}

TEST(Launch, RanksThatDieOfWhatAllWereSentHaveNotFailed) {
  for (const int number : {SIGINT, SIGTERM}) {
    const std::string ready = fresh_folder("launch-told") + "/ready";
    std::thread sender([&] {
      comes_true([&] { return words_of(text_of_file(ready)).size() == 3; });
      ::kill(::getpid(), number);
    });
    const auto run = launch_shell(3, "echo $$ >> \"$1\"; exec sleep 300", {}, {ready});
    sender.join();
    EXPECT_EQ(run.outcome.code, 128 + number);
    EXPECT_EQ(run.outcome.failure, "");
  }
}

// As under nohup.
TEST(Launch, AnIgnoredSignalStaysIgnored) {
  const std::string ready = fresh_folder("launch-ignored") + "/ready";
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    ::signal(SIGHUP, SIG_IGN);
    const auto run =
        launch_shell(1, "echo $$ >> \"$1\"; until [ -e \"$1-sent\" ]; do sleep 0.05; done", {}, {ready});
    ::_exit(run.outcome.code);
  }
  ASSERT_TRUE(comes_true([&] { return words_of(text_of_file(ready)).size() == 1; }));
  ::kill(launcher, SIGHUP);
  std::ofstream(ready + "-sent");
  EXPECT_EQ(status_of(launcher), 0);
}

TEST(Launch, StandardInputGoesToRankZero) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "words\nmore\nmore\nmore\n", 21), 21);
  ::close(ends[1]);
  const ControlFd before(::dup(0));
  ::dup2(ends[0], 0);
  ::close(ends[0]);
  const auto run = launch_shell(3, "read line; echo \"$ESPALIER_RANK<$line>\"");
  ::dup2(before.get(), 0);
  EXPECT_EQ(lines_of(run.output), (std::set<std::string>{"0<words>", "1<>", "2<>"}));
}

// The launcher's own descriptors would take their places.
TEST(Launch, ClosedStreamsAreNoStreamsOfOthers) {
  const std::string file = fresh_folder("launch-closed") + "/file";
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    for (int stream = 0; stream < 3; ++stream) ::close(stream);
    LaunchOptions options;
    options.ranks = 2;
    options.program = {"sh", "-c", "cat; echo out; echo err >&2; echo $ESPALIER_RANK >> \"$1\"", "sh", file};
    ::_exit(launch(options).code);
  }
  EXPECT_EQ(status_of(launcher), 0);
  EXPECT_EQ(lines_of(text_of_file(file)), (std::set<std::string>{"0", "1"}));
}

// In a process of its own, which is killed: those whose numbers three ranks of `script` have put into "$1"
// are gone, within 3 s by the median of three. They would sleep for 300 s.
void expect_gone_with_the_launcher(const std::string& name, const std::string& script) {
  std::vector<double> took;
  for (int round = 0; round < 3; ++round) {
    const std::string pids = fresh_folder(name) + "/pids";
    const pid_t launcher = ::fork();
    if (launcher == 0) {
      launch_shell(3, script, {}, {pids});
      ::_exit(0);
    }
    ASSERT_TRUE(comes_true([&] { return words_of(text_of_file(pids)).size() == 3; }));
    took.push_back(seconds_of([&] {
      ::kill(launcher, SIGKILL);
      ::waitpid(launcher, nullptr, 0);
      for (const std::string& pid : words_of(text_of_file(pids)))
        EXPECT_TRUE(comes_true([&] { return !lives(pid); })) << pid;
    }));
  }
  std::ranges::sort(took);
  EXPECT_LT(took[1], 3);
}

TEST(Launch, RanksDieWithTheLauncher) {
  expect_gone_with_the_launcher("launch-killed", "echo $$ >> \"$1\"; exec sleep 300");
}

TEST(Launch, WhatRanksHaveStartedDiesWithTheLauncherToo) {
  expect_gone_with_the_launcher("launch-killed-children", "sleep 300 & echo $! >> \"$1\"; wait");
}

TEST(Launch, StopsAndGoesOnWithItsRanks) {
  const std::string pids = fresh_folder("launch-stopped") + "/pids";
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    ::setpgid(0, 0);
    const auto run = launch_shell(2, "echo $$ >> \"$1\"; exec sleep 300", {}, {pids});
    ::_exit(run.outcome.code);
  }
  const auto state_is = [](const std::string& pid, char wanted) {
    const auto state = process_state(std::stoi(pid));
    return state && state->letter == wanted;
  };
  ASSERT_TRUE(comes_true([&] { return words_of(text_of_file(pids)).size() == 2; }));
  const std::vector<std::string> ranks = words_of(text_of_file(pids));
  ::kill(launcher, SIGTSTP);
  for (const std::string& pid : {ranks[0], ranks[1], cat(launcher)})
    EXPECT_TRUE(comes_true([&] { return state_is(pid, 'T'); })) << pid;
  ::kill(launcher, SIGCONT);
  for (const std::string& pid : ranks) EXPECT_TRUE(comes_true([&] { return state_is(pid, 'S'); })) << pid;
  ::kill(launcher, SIGTERM);
  const int status = status_of(launcher);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST(Launch, TooFewDescriptorsAreASentence) {
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  LaunchOptions options;
  options.ranks = 64;
  options.program = {"true"};
  std::set<std::string> rules;
  for (rlim_t most = 3; most < 100; ++most) {
    const rlimit few{most, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    rules.insert(rule_of([&] { launch(options); }));
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const std::string& rule : rules)
    EXPECT_TRUE(rule == "launch.start" || rule == "comm.memory" || rule == "control.listen" ||
                rule == "control.connect")
        << rule;
}

TEST(Launch, Refusals) {
  LaunchOptions options;
  const auto rule = [&] { return rule_of([&] { launch(options); }); };
  options.program = {"true"};
  for (const int ranks : {0, -3, LaunchOptions::kMostRanks + 1, 1 << 30}) {
    options.ranks = ranks;
    EXPECT_EQ(rule(), "launch.ranks") << ranks;
  }
  options.ranks = 2;
  options.program = {};
  EXPECT_EQ(rule(), "launch.words");
  const std::string folder = fresh_folder("launch-refused");
  std::ofstream(folder + "/text") << "echo no\n";
  std::ofstream(folder + "/lost") << "#!/no/such/interpreter\n";
  std::ofstream(folder + "/bare") << "echo no shell reads it\n";
  for (const char* name : {"/lost", "/bare"})
    std::filesystem::permissions(folder + name, std::filesystem::perms::owner_all);
  for (const std::string& program : {std::string("no-such-program"), std::string("/no/such/program"), folder,
                                     folder + "/text", folder + "/lost", folder + "/bare", std::string()}) {
    options.program = {program};
    EXPECT_EQ(rule(), "launch.program") << program;
  }
  options.program = {"no-such-program"};
  try {
    launch(options);
  } catch (const IoError& error) {
    EXPECT_EQ(error.message(), "cannot run no-such-program: no folder of PATH has it");
  }
}

}  // namespace
}  // namespace espalier
