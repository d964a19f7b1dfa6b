// Parts of the launcher by themselves: streams, programs, signals and what ranks have in their environment.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/error.h"
#include "espalier/tpu.h"
#include "launch/chaos.h"
#include "launch/host_list.h"
#include "launch/launch_environment.h"
#include "launch/launch_output.h"
#include "launch/launch_process.h"
#include "launch/launch_signals.h"

namespace espalier {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing";
}

// What a rank wrote, in these pieces, as it is passed on; behind it its last lines.
std::string passed_on(const std::vector<std::string>& pieces, bool by_lines, const std::string& prefix) {
  int from[2], to[2];
  EXPECT_EQ(::pipe2(from, O_CLOEXEC) | ::pipe2(to, O_CLOEXEC), 0);
  const ControlFd read(to[0]), write(to[1]);
  ControlFd rank(from[1]);
  LaunchStream stream(write.get());
  LaunchOutput output(ControlFd(from[0]), stream, by_lines, prefix);
  for (const std::string& piece : pieces) {
    EXPECT_EQ(::write(rank.get(), piece.data(), piece.size()), std::ssize(piece));
    output.pass_on();
    output.pass_on();  // there is no more
  }
  rank.close();
  output.pass_on();
  EXPECT_EQ(output.descriptor(), -1);
  stream.write();
  EXPECT_TRUE(stream.empty());
  std::string out(10000, 0);
  ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
  out.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(read.get(), out.data(), out.size()))));
  for (const std::string& line : output.last_lines()) out += cat("|", line);
  return out;
}

TEST(LaunchParts, LinesOfARank) {
  EXPECT_EQ(passed_on({"a\nb", "c\n", "d"}, true, "[rank 1] "),
            "[rank 1] a\n[rank 1] bc\n[rank 1] d\n|a|bc|d");
  EXPECT_EQ(passed_on({"a\nb", "c\n", "d"}, false, ""), "a\nbc\nd|a|bc|d");
  EXPECT_EQ(passed_on({}, true, "p"), "");
  EXPECT_EQ(passed_on({"\n\n"}, true, "p"), "p\np\n||");
  // Of what was overwritten the last text.
  EXPECT_EQ(passed_on({"1 %\r2 %\r\n"}, true, ""), "1 %\r2 %\r\n|2 %");
  EXPECT_EQ(passed_on({std::string(501, 'x') + "\n"}, false, ""),
            cat(std::string(501, 'x'), "\n|", std::string(500, 'x')));
  std::string many, last;
  for (int i = 1; i <= 21; ++i) {
    many += cat(i, "\n");
    if (i > 1) last += cat("|", i);
  }
  EXPECT_EQ(passed_on({many}, false, ""), many + last);
}

TEST(LaunchParts, AStreamIsFullAtAMebibyte) {
  LaunchStream stream(1);
  EXPECT_TRUE(stream.empty());
  stream.add(std::string((size_t{1} << 20) - 1, 'x'));
  EXPECT_FALSE(stream.full() || stream.empty());
  stream.add("x");
  EXPECT_TRUE(stream.full());
}

TEST(LaunchParts, ThePathOfAProgram) {
  const std::string folder = fresh_folder("launch-path");
  for (const char* name : {"/first", "/second"}) {
    ::mkdir((folder + name).c_str(), 0700);
    std::ofstream(folder + name + "/tool") << "#!/bin/sh\n";
    ::chmod((folder + name + "/tool").c_str(), 0700);
  }
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", cat(folder, "/none:", folder, "/second:", folder, "/first").c_str(), 1);
  EXPECT_EQ(program_file("tool"), folder + "/second/tool");
  ::chmod((folder + "/second/tool").c_str(), 0600);
  // For root too: no bit of it says that it may run.
  EXPECT_EQ(program_file("tool"), folder + "/first/tool");
  EXPECT_EQ(program_file(folder + "/first/tool"), folder + "/first/tool");
  EXPECT_TRUE(message_of([&] {
                program_file(folder + "/second/tool");
              }).ends_with(": it is no file that may be executed"));
  ::setenv("PATH", "", 1);
  EXPECT_EQ(message_of([] { program_file("tool"); }), "cannot run tool: no folder of PATH has it");
  EXPECT_EQ(message_of([] { program_file(""); }), "cannot run : its name is empty");
  ::unsetenv("PATH");
  EXPECT_TRUE(program_file("sh").ends_with("/bin/sh"));
  ::setenv("PATH", before.c_str(), 1);
}

sigset_t mask_of_thread() {
  sigset_t out;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &out);
  return out;
}

// The mask is as it was, whether the program is there or not; and the program has it.
TEST(LaunchParts, AProcessHasTheMaskOfItsLauncher) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const ControlFd read(ends[0]), write(ends[1]), nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Process::Streams streams{nothing.get(), write.get(), nothing.get()};
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
  Process process("/bin/grep", {"grep", "SigBlk", "/proc/self/status"}, {}, streams);
  char text[100] = {};
  EXPECT_GT(::read(read.get(), text, sizeof text - 1), 0);
  EXPECT_EQ(std::string(text), "SigBlk:\t0000000000000800\n");
  EXPECT_EQ(rule_of([&] { Process("/no/such/file", {"x"}, {}, streams); }), "launch.program");
  sigset_t now = mask_of_thread();
  for (const int number : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1}) EXPECT_EQ(::sigismember(&now, number), 0);
  EXPECT_EQ(::sigismember(&now, SIGUSR2), 1);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

TEST(LaunchParts, SignalsComeInTheirOrderAndLeaveErrnoAlone) {
  {
    LaunchSignals signals;
    EXPECT_EQ(rule_of([] { LaunchSignals second; }), "launch.once");
    for (const int number : {SIGUSR1, SIGCHLD, SIGTSTP, SIGINT, SIGUSR1}) ::raise(number);
    EXPECT_EQ(signals.take(), (std::vector<int>{SIGUSR1, SIGTSTP, SIGINT, SIGUSR1}));
    EXPECT_TRUE(signals.take().empty());
    // More than the pipe holds.
    errno = 0;
    for (int i = 0; i < 70'000 && errno == 0; ++i) ::raise(SIGTSTP);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(signals.take().size(), 65'536u);
  }
  struct sigaction now = {};
  for (const int number : {SIGINT, SIGTSTP, SIGCHLD, SIGHUP}) {
    ::sigaction(number, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << number;
  }
  // One that told to go, and comes again while the process is about to end, does not end it.
  ::raise(SIGUSR1);
  ::signal(SIGUSR1, SIG_DFL);
}

// Each rank has its own, whatever an outer run has set; and nobody is given another's.
TEST(LaunchParts, WhatIsOfOneRankStaysThere) {
  const std::vector<std::string> own{
      "RANK",           "WORLD",       "LOCAL_RANK", "LOCAL_WORLD", "JOB",        "SEGMENTS", "CONTROL",
      "SECRET",         "RESTART",     "CHAOS",      "HOST",        "HOST_SIZES", "HOSTS",    "ENGINE",
      "ENGINE_ADDRESS", "STALL_AFTER", "BOARD",      "CORES",       "TERMINAL"};
  for (const std::string& word : own) {
    const std::string name = "ESPALIER_" + word;
    EXPECT_EQ(rule_of([&] { given_variable(name + "=1"); }), "launch.env") << name;
    ::setenv(name.c_str(), "1", 1);
    EXPECT_EQ(std::ranges::count(outer_environment(), name + "=1"), 0) << name;
    ::unsetenv(name.c_str());
  }
  for (const char* name : {"PMI_X", "PMIX_X", "OMPI_COMM_WORLD_X", "TPU_WORKER_X", "TPU_PROCESS_X",
                           "TPU_VISIBLE_X", "CLOUD_TPU_TASK_ID"}) {
    EXPECT_EQ(rule_of([&] { given_variable(cat(name, "=1")); }), "launch.env") << name;
    ::setenv(name, "1", 1);
    EXPECT_EQ(std::ranges::count(forwarded_environment(), cat(name, "=1")), 0) << name;
    EXPECT_EQ(std::ranges::count(outer_environment(), cat(name, "=1")), 1) << name;
    ::unsetenv(name);
  }
  for (const char* name :
       {"LANGUAGE", "CONDA_PREFIX", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
        "LSAN_OPTIONS", "GOMP_X", "KMP_X", "OPENBLAS_X", "TPU_X", "PJRT_X"}) {
    const char* const is = std::getenv(name);
    const std::string before = is ? is : "";
    ::setenv(name, "1", 1);
    EXPECT_EQ(std::ranges::count(forwarded_environment(), cat(name, "=1")), 1) << name;
    is ? ::setenv(name, before.c_str(), 1) : ::unsetenv(name);
  }
}

TEST(LaunchParts, ListsOfHostsSayWhatIsWrong) {
  const auto of = [](const std::string& text) { return message_of([&] { parse_hosts(text); }); };
  EXPECT_EQ(of("a:1,b:256"), "--hosts \"b:256\": a run has at most 256 ranks");
  EXPECT_EQ(of("a:1,b,a:2"), "--hosts \"a:2\": it comes twice");
  EXPECT_EQ(of("a,-b"), "--hosts \"-b\": this is no name of a host");
  EXPECT_EQ(of("a:0"), "--hosts \"a:0\": how many ranks a host has is a number from 1");
  const auto file = [](const std::string& text, const std::string& path) {
    return message_of([&] { parse_hostfile(text, path); });
  };
  EXPECT_EQ(file("a\nb max_slots=2", ""),
            "line 2: \"b max_slots=2\": behind a host's name stands slots=N, or nothing");
  EXPECT_EQ(file("a\n\n#\na slots=2", "/h"), "/h:4: \"a slots=2\": it comes twice");
  EXPECT_EQ(file("#", ""), "the list has no host");
  EXPECT_EQ(file(" \n", "/h"), "/h has no host");
  const std::vector<RunHost> hosts{{"a", 2}, {"fe80::1", 3}};
  EXPECT_EQ(to_string(hosts), "a:2,[fe80::1]:3");
  EXPECT_EQ(parse_hosts(to_string(hosts)), hosts);
  EXPECT_EQ(ranks_of(hosts), 5);
  EXPECT_EQ(host_sizes(hosts), "2,3");
  EXPECT_EQ(take_ranks(hosts, 5), hosts);
  EXPECT_EQ(message_of([] { take_ranks({{"a", 2}}, 3); }), "-n 3 is more than the 2 ranks of 1 host");
}

TEST(LaunchParts, NamesAndBoundsOfChaos) {
  const std::pair<ChaosKind, std::string> kinds[] = {{ChaosKind::kKill, "kill"},
                                                     {ChaosKind::kStop, "stop"},
                                                     {ChaosKind::kThrow, "throw"},
                                                     {ChaosKind::kExit, "exit"}};
  for (const auto& [kind, text] : kinds) EXPECT_EQ(name(kind), text);
  EXPECT_EQ(parse_chaos("stop:0@step1:3600s", 1).at(0).seconds, 3600);
  EXPECT_EQ(message_of([] { parse_chaos("kill:1@step1", 1); }),
            "\"kill:1@step1\" is for rank 1, and the run has 1 rank");
  const auto of = [](const std::string& text) { return message_of([&] { parse_chaos(text, 9); }); };
  EXPECT_EQ(of("kill:1@step4:5s"), "\"kill:1@step4:5s\" has a time, which is for stop");
  EXPECT_EQ(of("stop:1@step4:3600.5s"), "\"stop:1@step4:3600.5s\" has no time from 0s to 3600s");
  EXPECT_EQ(of("kill:x@step4"), "\"kill:x@step4\" has no rank before its @");
  EXPECT_EQ(of("kill:1@4"), "\"kill:1@4\" has no step behind its @");
  EXPECT_EQ(of("kill:1@stepx"), "\"kill:1@stepx\" has no number as its step");
  EXPECT_EQ(of("halt:1@step4"), "\"halt:1@step4\" does not begin with kill:, stop:, throw: or exit:");
}

// Chips of v5e and v6e by the name of their slice, as hosts of one, four and eight.
TEST(LaunchParts, BoundsOfTpuSlices) {
  const auto bounds = [](const std::string& accelerator, int hosts) {
    std::string names = "t0";
    for (int i = 1; i < hosts; ++i) names += cat(",t", i);
    const std::map<std::string, std::string> set{{"ESPALIER_RANK", "1"},
                                                 {"ESPALIER_WORLD", cat(hosts)},
                                                 {"ESPALIER_HOSTS", names},
                                                 {"TPU_ACCELERATOR_TYPE", accelerator}};
    const TPUClusterResolver resolver({.environment = [&](const std::string& name) {
      const auto at = set.find(name);
      return at == set.end() ? std::nullopt : std::optional<std::string>(at->second);
    }});
    const auto& told = resolver.variables();
    if (!told.contains("TPU_PROCESS_BOUNDS")) return std::string("none");
    return cat(told.at("TPU_CHIPS_PER_PROCESS_BOUNDS"), " ", told.at("TPU_PROCESS_BOUNDS"));
  };
  for (const std::string kind : {"v5litepod-", "v6e-"}) {
    EXPECT_EQ(bounds(kind + "16", 4), "2,2,1 2,2,1");
    EXPECT_EQ(bounds(kind + "32", 8), "2,2,1 2,4,1");
    EXPECT_EQ(bounds(kind + "64", 16), "2,2,1 4,4,1");
    EXPECT_EQ(bounds(kind + "128", 32), "2,2,1 4,8,1");
    EXPECT_EQ(bounds(kind + "256", 64), "2,2,1 8,8,1");
    EXPECT_EQ(bounds(kind + "16", 2), "2,4,1 2,1,1");
    EXPECT_EQ(bounds(kind + "16", 16), "1,1,1 4,4,1");
  }
  EXPECT_EQ(bounds("v4-32", 4), "none");
  EXPECT_EQ(bounds("v6e-8", 2), "none");
}

}  // namespace
}  // namespace espalier
