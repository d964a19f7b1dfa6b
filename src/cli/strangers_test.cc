// Strangers at every port of a run over hosts, while a join waits for its last rank.
#include "cli/strangers_test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "cli/engines_test.h"

namespace espalier::cli {
namespace {

using VisitClock = std::chrono::steady_clock;

double seconds_of_visit(VisitClock::time_point since) {
  return std::chrono::duration<double>(VisitClock::now() - since).count();
}

int lines_with(const std::string& part, const std::string& text) {
  int out = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += line.find(part) != line.npos;
  return out;
}

// A run in the background, in a process group of its own.
class VisitedRun {
 public:
  VisitedRun(const std::string& folder, const std::string& words) : folder_(folder) {
    process_ = ::fork();
    if (process_ != 0) return;
    ::setsid();
    const std::string line = cat("{ ", words, "; } > ", folder, "/out 2> ", folder, "/err < /dev/null");
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  ~VisitedRun() {
    for (const pid_t process : status() ? std::vector<pid_t>() : processes_below(process_))
      ::kill(process, SIGKILL);
    if (!status_) ::waitpid(process_, nullptr, 0);
  }
  VisitedRun(const VisitedRun&) = delete;
  VisitedRun& operator=(const VisitedRun&) = delete;

  pid_t process() const { return process_; }
  // As a shell calls it, when it has ended.
  std::optional<int> status() {
    int status = 0;
    if (!status_ && ::waitpid(process_, &status, WNOHANG) == process_)
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
  }
  std::string errors() const { return posix_env().read_file(folder_ + "/err"); }

 private:
  const std::string folder_;
  pid_t process_ = -1;
  std::optional<int> status_;
};

class Strangers : public EnginesTest {
 protected:
  static constexpr double kLimit = 150;  // seconds: a join, and an mpirun that does not end
  static constexpr Visit kVisits[] = {Visit::kBytes, Visit::kRequest, Visit::kHalfOpen};

  void SetUp() override {
    EnginesTest::SetUp();
    write_file(folder_ + "/agent", cat("#!/bin/sh\n[ $1 = late ] && ", late_words(), "shift\nexec \"$@\"\n"));
    ::chmod((folder_ + "/agent").c_str(), 0755);
  }
  // Until the test says so.
  std::string late_words() const { return cat("while [ ! -e ", folder_, "/go ]; do sleep 0.05; done; "); }
  std::string hosts(const std::string& list) const {
    return cat(build_folder(), "/espalier launch --hosts ", list, " --agent \"", folder_,
               "/agent {host}\" --interface 127.0.0.1 -- ", train());
  }
  // Ranks of an MPI launcher, of which the last comes late.
  std::string late_mpi_rank(int last) const {
    return shell_words(cat("[ $OMPI_COMM_WORLD_RANK = ", last, " ] && ", late_words(), "exec ", train()));
  }
  // So many ranks with variables of their own, the last late.
  std::string apart(int ranks, const std::function<std::string(int)>& variables_of) const {
    return together(ranks, [&](int rank) {
      return cat(rank == ranks - 1 ? late_words() : "", "exec env ", variables_of(rank), " ", train());
    });
  }

  struct Visited {
    int code = -1;
    std::string errors;
    int ports = 0;
  };
  // Strangers come to each port that `is_visited` when there are so many that have been there for a moment,
  // and stay; then the last rank comes. `relentless`: they come to all new ports until the end.
  Visited visited(const std::string& words, Visit visit, size_t ports, bool relentless = false,
                  const std::function<bool(const ListeningPort&)>& is_visited = {}) {
    std::filesystem::remove(folder_ + "/go");
    std::filesystem::remove_all(folder_ + "/model");
    Callers strangers;
    VisitedRun run(folder_, words);
    const auto begin = VisitClock::now();
    std::set<ListeningPort> seen;
    auto since = begin;
    while (!run.status() && seconds_of_visit(begin) < kTooLong &&
           (seen.size() < ports || seconds_of_visit(since) < 0.3)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::set<ListeningPort> now;
      for (const ListeningPort& port : listening_ports(run.process()))
        if (!is_visited || is_visited(port)) now.insert(port);
      if (now != seen) since = VisitClock::now();
      seen = now;
    }
    EXPECT_GE(seen.size(), ports) << run.errors();
    Visited out;
    for (const ListeningPort& port : seen) {
      ++out.ports;
      EXPECT_GE(strangers.visit(port, visit), 1) << port.program << " " << port.number;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    write_file(folder_ + "/go", "");
    while (!run.status() && seconds_of_visit(begin) < kLimit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (!relentless) continue;
      for (const ListeningPort& port : listening_ports(run.process()))
        if (seen.insert(port).second) out.ports += strangers.visit(port, visit) > 0;
    }
    out.code = run.status().value_or(-1);
    out.errors = run.errors();
    EXPECT_NE(out.code, -1) << "it hangs: " << out.errors;
    return out;
  }
  void expect_learned(const Visited& run) const {
    EXPECT_EQ(run.code, 0) << run.errors;
    EXPECT_EQ(run.code == 0 ? weights_hash(folder_ + "/model") : "", wanted_);
  }
};

// The launcher's, and one of each rank that speaks for its host.
TEST_F(Strangers, SlowHostsJoinInSpiteOfThem) {
  for (const Visit visit : kVisits) {
    SCOPED_TRACE(to_string(visit));
    const Visited run = visited(hosts("a:2,b:1,late:1"), visit, 3);
    expect_learned(run);
    const char* const why = visit == Visit::kHalfOpen ? "warning: a stranger was refused: others came before"
                                                      : "warning: a stranger was refused: a frame has 1 to ";
    EXPECT_GE(lines_with(why, run.errors), 1) << run.errors;
    EXPECT_LE(lines_with("refused", run.errors), 6) << run.errors;
    if (visit == Visit::kHalfOpen) {
      EXPECT_EQ(lines_with("warning: 50 strangers have been refused; the last: ", run.errors), 1)
          << run.errors;
    }
  }
}

// Rank 0 is the coordinator, and says whom it refuses.
TEST_F(Strangers, NightlyRanksWithoutALauncherJoinInSpiteOfThem) {
  for (const Visit visit : kVisits) {
    SCOPED_TRACE(to_string(visit));
    const int port = free_port();
    const Visited run = visited(
        apart(3, [&](int rank) { return cat("ESPALIER_ENGINE=gloo ", torchrun_words(rank, 3, port)); }),
        visit, 3);
    expect_learned(run);
    EXPECT_GE(lines_with("espalier: warning: a stranger was refused: ", run.errors), 1) << run.errors;
    EXPECT_LE(lines_with("refused", run.errors), 6) << run.errors;
  }
  const int port = free_port();
  expect_learned(
      visited(apart(2, [&](int rank) { return cat("ESPALIER_ENGINE=gloo ", tf_config_words(rank, port)); }),
              Visit::kBytes, 2));
}

// Whoever comes again and again may break each join; that is one sentence.
TEST_F(Strangers, NightlyThoseWhoDoNotGoAwayEndTheRunAtWorst) {
  for (const Visit visit : kVisits) {
    SCOPED_TRACE(to_string(visit));
    const Visited run = visited(hosts("a:1,b:1,late:1"), visit, 3, true);
    EXPECT_EQ(lines_with("has not found the others in 60 s", run.errors), 0) << run.errors;
    if (run.code == 0) {
      expect_learned(run);
      continue;
    }
    EXPECT_EQ(run.code, 43) << run.errors;
    EXPECT_EQ(lines_with("espalier launch: rank ", run.errors), 1) << run.errors;
    EXPECT_GE(lines_with("cannot join over gloo: rank ", run.errors), 1) << run.errors;
  }
}

// Ports of the ranks of Open MPI; by words of the user's own, that mpirun and ranks have any to others.
TEST_F(Strangers, NightlyRanksOfMpirunJoinInSpiteOfThem) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  for (const Visit visit : kVisits) {
    SCOPED_TRACE(to_string(visit));
    const Visited run =
        visited(cat(kMpirun, "--mca btl tcp,self -x ESPALIER_ENGINE=mpi -n 3 ", late_mpi_rank(2)), visit, 3,
                false, [](const ListeningPort& port) { return port.program != "mpirun"; });
    expect_learned(run);
    EXPECT_LE(lines_with("refused", run.errors), 6) << run.errors;
  }
}

// mpirun itself waits for ever for who says nothing; the launcher does not wait for it.
TEST_F(Strangers, NightlyAnMpirunThatWaitsForThemIsEnded) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  for (const Visit visit : kVisits) {
    // PMIx needs more than a minute for those who say nothing: ESPALIER_STRANGERS=all.
    if (visit == kVisits[2] && !std::getenv("ESPALIER_STRANGERS")) continue;
    SCOPED_TRACE(to_string(visit));
    const Visited run =
        visited(cat(build_folder(), "/espalier launch -n 3 --engine mpi -- ", late_mpi_rank(2)), visit, 3);
    if (run.code == 0) {
      expect_learned(run);
      continue;
    }
    // At its end, or where it keeps the last rank from joining, too.
    const bool joined =
        lines_with(" cannot join: its engine has not found the others in 60 s", run.errors) == 0;
    EXPECT_EQ(lines_with("espalier launch: ", run.errors), 2) << run.errors;
    EXPECT_GE(run.code, 1) << run.errors;
    EXPECT_LT(run.code, 128) << run.errors;
    if (joined) {
      EXPECT_EQ(lines_with("espalier launch: mpirun (pid ", run.errors), 1) << run.errors;
      EXPECT_EQ(weights_hash(folder_ + "/model"), wanted_);
    }
  }
}

}  // namespace
}  // namespace espalier::cli
