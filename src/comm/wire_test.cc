#include "comm/wire.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/wire_version.h"
#include "comm/ranks_test.h"
#include "comm/wire_module.h"
#include "comm/wire_rank_test.h"
#include "launch/control_server.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

// Children, with what they print in files.
class Children {
 public:
  Children() {
    std::string pattern = testing::TempDir() + "/espalier-wire-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Children() {
    for (const auto& [pid, status] : pids_)
      if (!status) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    fs::remove_all(folder_);
  }
  void start(std::vector<std::string> words, const std::map<std::string, std::string>& variables) {
    std::vector<std::string> environment;
    for (char** at = environ; *at; ++at) environment.emplace_back(*at);
    for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
    const auto pointers = [](std::vector<std::string>& of) {
      std::vector<char*> out;
      for (std::string& word : of) out.push_back(word.data());
      out.push_back(nullptr);
      return out;
    };
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 1, file(pids_.size()).c_str(), O_CREAT | O_WRONLY | O_APPEND,
                                       0600);
    ::posix_spawn_file_actions_adddup2(&files, 1, 2);
    pid_t pid = -1;
    ASSERT_EQ(::posix_spawnp(&pid, words[0].c_str(), &files, nullptr, pointers(words).data(),
                             pointers(environment).data()),
              0);
    ::posix_spawn_file_actions_destroy(&files);
    pids_.emplace_back(pid, std::nullopt);
  }
  // The status of one, as waitpid gives it; nothing while it runs.
  std::optional<int> status(size_t child) {
    auto& [pid, status] = pids_[child];
    int found = 0;
    if (!status && ::waitpid(pid, &found, WNOHANG) == pid) status = found;
    return status;
  }
  std::string text(size_t child) const {
    std::ostringstream out;
    out << std::ifstream(file(child)).rdbuf();
    return out.str();
  }
  size_t size() const { return pids_.size(); }

 private:
  std::string file(size_t child) const { return cat(folder_, "/", child, ".txt"); }
  std::string folder_;
  std::vector<std::pair<pid_t, std::optional<int>>> pids_;
};

std::vector<std::string> rank_words() {
  return {fs::read_symlink("/proc/self/exe").string(), "--gtest_color=no", "--gtest_also_run_disabled_tests",
          "--gtest_filter=WireRank.DISABLED_Runs"};
}

constexpr std::string_view kPassed = "[  PASSED  ] 1 test.";
int count_of(std::string_view word, std::string_view text) {
  int out = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++out;
  return out;
}

// Three ranks over gloo, with a server for their keys; `expected` is the status of each, -1: it is not
// awaited.
void run_gloo(const std::string& name, const std::vector<int>& expected,
              std::vector<std::string>* said = nullptr) {
  ControlServer server(cat("unix:@espalier-wire-", ::getpid(), "-", name),
                       {.world = static_cast<int>(expected.size()), .secret = "secret", .id = "id"});
  Children children;
  for (size_t rank = 0; rank < expected.size(); ++rank)
    children.start(rank_words(), {{"TEST_WIRE_ENGINE", "gloo"},
                                  {"TEST_WIRE_CASE", name},
                                  {"ESPALIER_CONTROL", server.address()},
                                  {"ESPALIER_SECRET", "secret"},
                                  {"ESPALIER_RANK", std::to_string(rank)},
                                  {"ESPALIER_WORLD", std::to_string(expected.size())}});
  const auto all_done = [&] {
    bool out = true;
    for (size_t rank = 0; rank < expected.size(); ++rank)
      out &= expected[rank] == -1 || children.status(rank).has_value();
    return out;
  };
  const auto begin = WireClock::now();
  while (!all_done() && seconds_since(begin) < kTooLong) {
    pollfd ready{server.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, 20);
    server.serve();
    server.take_news();
  }
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    if (said) said->push_back(children.text(rank));
    if (expected[rank] == -1) continue;
    EXPECT_EQ(children.status(rank).value_or(-1), expected[rank]) << children.text(rank);
    if (expected[rank] != 0) continue;
    EXPECT_EQ(count_of(kPassed, children.text(rank)), 1) << children.text(rank);
  }
}

// Skips where the module is not there.
#define NEEDS_ENGINE(name) \
  if (std::string why_not; !has_wire(name, &why_not)) GTEST_SKIP() << why_not

TEST(GlooWire, ThreeRanksExchangeMessagesOfAllSizesSlow) {
  NEEDS_ENGINE("gloo");
  run_gloo("exchange", {0, 0, 0});
}

TEST(GlooWire, AWaitEndsWhenItIsToldTo) {
  NEEDS_ENGINE("gloo");
  run_gloo("aborted", {0, 0, 0});
}

TEST(GlooWire, OneThatIsKilledBreaksTheWaitsOfOthersSlow) {
  NEEDS_ENGINE("gloo");
  std::vector<std::string> said;
  run_gloo("killed", {0, SIGKILL, 0}, &said);
  for (const size_t rank : {0u, 2u})
    EXPECT_NE(said.at(rank).find("why: rank 1: "), std::string::npos) << said[rank];
}

TEST(GlooWire, OneThatIsStoppedKeepsNobodyFromEnding) {
  NEEDS_ENGINE("gloo");
  run_gloo("stopped", {0, -1, 0});
}

TEST(GlooWire, TwentyJoinsLeaveNothingSlow) {
  NEEDS_ENGINE("gloo");
  run_gloo("joins", {0, 0, 0});
}

TEST(GlooWire, StrangersWhoComeWhileItJoinsAreOutlivedSlow) {
  NEEDS_ENGINE("gloo");
  run_gloo("disturbed", {0, 0, 0});
}

// Keys in this process alone.
class OwnKeys : public KeyStore {
 public:
  void put(const std::string& key, const std::string& value) override { values_.try_emplace(key, value); }
  std::string get(const std::string& key) override {
    if (const auto at = values_.find(key); at != values_.end()) return at->second;
    throw RunError("comm.join", cat("no rank has published the key ", key));
  }

 private:
  std::map<std::string, std::string> values_;
};

TEST(GlooWire, WhatCannotBeJoinedIsAnErrorThatSaysWhy) {
  NEEDS_ENGINE("gloo");
  OwnKeys keys;
  const auto error = [&](const std::string& interface) {
    return error_of(
        [&] { load_wire("gloo", {.rank = 1, .world = 2, .store = &keys, .interface = interface}); });
  };
  EXPECT_EQ(error("127.0.0.1"), "comm.join: no rank has published the key /gloo/0/at/0");
  const std::string begin = "comm.join: rank 1 of 2 cannot join over gloo: ";
  EXPECT_EQ(error(""), begin + "no interface or address is given to listen at");
  EXPECT_TRUE(error("eth77").starts_with(
      begin + "\"eth77\" is no interface with an address, and no address; interfaces are lo"));
  EXPECT_EQ(error("192.0.2.77"), begin + "cannot listen at 192.0.2.77: Cannot assign requested address");
}

// What rank 0 of two reads, where rank 1 is somebody who takes connections and hangs up when all are
// connected.
class RudePeer : public KeyStore {
 public:
  RudePeer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at_;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at_), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at_), &size);
    hangs_up_ = std::jthread([this](std::stop_token over) {
      while (!over.stop_requested()) {
        pollfd ready{listener_.get(), POLLIN, 0};
        const int came = ::poll(&ready, 1, 20) == 1 ? ::accept(listener_.get(), nullptr, nullptr) : -1;
        const std::lock_guard lock(mutex_);
        if (came >= 0) keep(ControlFd(came));
        std::erase_if(calls_, [](const auto& call) { return seconds_since(call.second) > 0.4; });
      }
    });
  }
  void put(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_.try_emplace(key, value);
    changed_.notify_all();
  }
  std::string get(const std::string& key) override {
    if (key.ends_with("/at/1")) {
      // A place begins as a sockaddr_in. Where rank 0 is the one that listens, it is called.
      std::string place = get(key.substr(0, key.size() - 1) + "0");
      ControlFd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(::connect(caller.get(), reinterpret_cast<const sockaddr*>(place.data()), sizeof at_), 0);
      const std::lock_guard lock(mutex_);
      keep(std::move(caller));
      place.replace(0, sizeof at_, reinterpret_cast<const char*>(&at_), sizeof at_);
      return place;
    }
    if (key.ends_with("/1")) return "";
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return values_.contains(key); });
    return values_.at(key);
  }

 private:
  void keep(ControlFd call) { calls_.emplace_back(std::move(call), WireClock::now()); }

  const ControlFd listener_;
  sockaddr_in at_ = {};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::vector<std::pair<ControlFd, WireClock::time_point>> calls_;
  std::jthread hangs_up_;
};

TEST(GlooWire, SomebodyWhoIsNoPeerIsFoundBeforeTheFirstMessageSlow) {
  NEEDS_ENGINE("gloo");
  RudePeer peer;
  const std::string error =
      error_of([&] { load_wire("gloo", {.rank = 0, .world = 2, .store = &peer, .interface = "127.0.0.1"}); });
  EXPECT_TRUE(error.starts_with("comm.join: rank 0 of 2 cannot join over gloo: rank 0: ")) << error;
}

// `mpirun` with three ranks that run the case; gives what they print.
std::string run_mpi(const std::string& name, int expected, std::vector<std::string> options = {"-n", "3"}) {
  Children children;
  std::vector<std::string> words = {"mpirun", "--allow-run-as-root", "--oversubscribe"};
  words.insert(words.end(), options.begin(), options.end());
  for (const std::string& word : rank_words()) words.push_back(word);
  const std::string folder = cat(testing::TempDir(), "/espalier-wire-told-", ::getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  children.start(words,
                 {{"TEST_WIRE_ENGINE", "mpi"}, {"TEST_WIRE_CASE", name}, {"TEST_WIRE_FOLDER", folder}});
  const bool ended = comes_true([&] { return children.status(0).has_value(); });
  if (expected >= 0) {
    EXPECT_EQ(children.status(0).value_or(-1), expected) << children.text(0);
  }
  fs::remove_all(folder);
  EXPECT_TRUE(ended) << "it hangs: " << children.text(0);
  return children.text(0);
}
#define NEEDS_MPIRUN   \
  NEEDS_ENGINE("mpi"); \
  if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "no mpirun (openmpi-bin)"

TEST(MpiWire, ThreeRanksExchangeMessagesOfAllSizesSlow) {
  NEEDS_MPIRUN;
  const std::string text = run_mpi("exchange", 0);
  EXPECT_EQ(count_of(kPassed, text), 3) << text;
}

TEST(MpiWire, AWaitEndsWhenItIsToldToSlow) {
  NEEDS_MPIRUN;
  const std::string text = run_mpi("aborted", -1);
  EXPECT_EQ(text.find("Failure"), std::string::npos) << text;
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_NE(text.find(cat("rank ", rank, " was told: rank ", (rank + 1) % 3, ": it was told to end")),
              std::string::npos)
        << text;
}

TEST(MpiWire, AnotherWorldThanTheRunsIsRefusedSlow) {
  NEEDS_MPIRUN;
  const auto said = [](const std::map<std::string, std::string>& more) {
    std::map<std::string, std::string> variables = {{"TEST_WIRE_ENGINE", "mpi"},
                                                    {"TEST_WIRE_CASE", "exchange"},
                                                    {"OMPI_COMM_WORLD_RANK", "0"},
                                                    {"OMPI_COMM_WORLD_SIZE", "3"}};
    variables.insert(more.begin(), more.end());
    Children children;
    children.start(rank_words(), variables);
    comes_true([&] { return children.status(0).has_value(); });
    return children.text(0);
  };
  // Without a launcher MPI is alone.
  const std::string alone = "MPI says that this is rank 0 of 1, and the run that it is rank 0 of 3";
  EXPECT_NE(said({}).find(alone + ": MPI learns from mpirun who is there"), std::string::npos) << said({});
  const std::string text = said({{"SLURM_JOB_ID", "7"}});
  EXPECT_NE(text.find(alone + ": Slurm tells MPI who is there by `srun --mpi=pmix`"), text.npos) << text;
  const std::string step = said({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}});
  EXPECT_NE(step.find("Slurm has started this rank without PMIx, which Open MPI needs: use srun --mpi=pmix"),
            step.npos)
      << step;
}

// A program's own module counts, unless it is of another version; then the launcher's does.
TEST(WireModule, TheLaunchersIsTakenWhereThereIsNoOtherOfThisVersion) {
  const std::string here = wire_folder("gloo");
  if (here.empty()) GTEST_SKIP() << why_no_wire("gloo", "");
  const std::string folder = testing::TempDir() + "/espalier-other-module",
                    module = folder + "/espalier_gloo.so";
  fs::create_directories(folder);
  EXPECT_EQ(why_no_wire("gloo", here), "");
  EXPECT_NE(why_no_wire("gloo", folder).find(cat("searched in ", folder, ", ")), std::string::npos);
  ::setenv(kLauncherModules, here.c_str(), 1);
  EXPECT_EQ(why_no_wire("gloo", folder), "");
  std::string bytes = posix_env().read_file(here + "/espalier_gloo.so");
  const size_t version = bytes.find(kWireVersion);
  ASSERT_NE(version, std::string::npos);
  bytes.replace(version, 5, "9.9.9");
  std::ofstream(module) << bytes;
  EXPECT_EQ(why_no_wire("gloo", folder), "");
  ::unsetenv(kLauncherModules);
  const std::string why = why_no_wire("gloo", folder);
  EXPECT_TRUE(why.starts_with(cat(module, " is of version 9.9.9"))) << why;
  EXPECT_TRUE(why.ends_with(cat(", and this program of ", kWireVersion))) << why;
  fs::remove_all(folder);
}

TEST(WireModule, WhatIsMissingIsNamed) {
  const std::string folder = testing::TempDir() + "/espalier-no-modules";
  fs::create_directories(folder);
  ::setenv("ESPALIER_MODULES", folder.c_str(), 1);
  std::string gloo, mpi;
  EXPECT_FALSE(has_wire("gloo", &gloo));
  EXPECT_FALSE(has_wire("mpi", &mpi));
  EXPECT_EQ(gloo, cat("the engine gloo is not there: it is built where libgloo-dev is installed, as "
                      "espalier_gloo.so, and searched in ",
                      folder));
  EXPECT_EQ(
      mpi, cat("the engine mpi is not there: it is built where libopenmpi-dev and openmpi-bin are installed, "
               "as espalier_mpi.so, and searched in ",
               folder));
  EXPECT_EQ(error_of([] { load_wire("gloo", {}); }), "comm.engine: " + gloo);
  try {
    load_wire("gloo", {});
  } catch (const RunError& error) {
    EXPECT_EQ(error.fix(), "ESPALIER_MODULES=FOLDER, the one that has espalier_gloo.so");
  }
  std::ofstream(folder + "/espalier_gloo.so") << "no module";
  EXPECT_EQ(rule_of([] { load_wire("gloo", {}); }), "comm.engine");
  EXPECT_FALSE(has_wire("gloo", &gloo));
  EXPECT_NE(gloo.find(folder + "/espalier_gloo.so"), gloo.npos) << gloo;
  ::unsetenv("ESPALIER_MODULES");
  fs::remove_all(folder);
  for (const char* name : {"", "shm", "gloo2", "../gloo"}) {
    EXPECT_EQ(rule_of([&] { load_wire(name, {}); }), "comm.engine") << name;
    EXPECT_EQ(rule_of([&] { has_wire(name); }), "comm.engine") << name;
  }
}

}  // namespace
}  // namespace espalier
