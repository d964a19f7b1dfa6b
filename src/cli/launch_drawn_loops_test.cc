// Loops of one's own below `espalier launch` of which one rank departs in a call that a seed draws: the
// verdict names rank, call and function, the status is that of what happened, and nothing is left behind.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/drawn_test.h"
#include "base/philox.h"
#include "cli/engines_test.h"
#include "cli/launched_program_test.h"
#include "cli/seeded_fault_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

constexpr int64_t kCalls = 12;

auto step_of(Variable& sums, const char* name, double scale = 1) {
  return function([&sums, scale](const Tensor& x) { sums.assign_add(strategy::all_reduce({x * scale})[0]); },
                  {.name = name});
}

// Makes the calls of "step"; `departs`, where it is given, comes in the place of this one on this rank, and
// says whether the loop goes on.
struct LoopCall {
  const Strategy& workers;
  const TracedFunction& step;
  const PerReplica& x;
  Variable& sums;
};
int loop(const std::function<std::optional<int>(const LoopCall&)>& departs) {
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  Variable sums(zeros({2}), {.name = "sums"});
  const auto step = step_of(sums, "step");
  const PerReplica x{{full({2}, 1)}};
  const bool is_odd = workers.worker() == std::atoi(std::getenv("ODD_RANK"));
  const int64_t in_call = std::atoi(std::getenv("ODD_CALL"));
  workers.told_to_go();  // from here on it listens
  for (int64_t call = 1; call <= kCalls; ++call) {
    if (is_odd && call == in_call) {
      if (const auto status = departs({workers, step, x, sums})) {
        if (*status >= 0) return *status;
        continue;
      }
    }
    workers.run(step, {x});
    if (!workers.told_to_go()) continue;
    std::cerr << cat("goes behind call ", call, "\n");
    return workers.kPreempted;
  }
  return 0;
}
// For `departs`.
constexpr int kInItsPlace = -1;
std::optional<int> signals(int number) {
  ::raise(number);
  return std::nullopt;
}

// Whom a verdict names first: the odd one, one of the others, or nobody.
enum class Names { kOdd, kOther, kNone };
// A way to depart, and what is said of it. Before a call k that is the odd one's it is behind call k - 1.
struct Departure {
  std::function<std::optional<int>(const LoopCall&)> departs;
  // Behind "rank 1 (pid 7)", where a rank is named.
  std::function<std::string(int rank, int64_t call)> said;
  Names names = Names::kOdd;
  int status = 43;
};
std::string behind(int64_t call) { return cat(" behind call ", call - 1, " of \"step\""); }
std::string left(int64_t call, const std::string& status) {
  return cat(" left the run", status, behind(call), " while rank");
}
// Of two ranks that differ, rank 0's call is what the others are held against.
std::string called(int64_t call, int rank, const std::string& odd, const std::string& wanted) {
  return cat(" in call ", call, " of Strategy::run() rank ", std::max(rank, 1), " calls \"",
             rank == 0 ? wanted : odd, "\" where rank 0 calls \"", rank == 0 ? odd : wanted, "\"");
}

const std::map<std::string, Departure> kDepartures = {
    {"is killed",
     {[](const LoopCall&) { return signals(SIGKILL); },
      [](int, int64_t call) { return " ended by signal 9" + behind(call); }}},
    {"is killed in the call",  // by --chaos
     {[](const LoopCall&) { return std::nullopt; },
      [](int, int64_t call) { return cat(" ended by signal 9 in call ", call, " of \"step\""); }}},
    {"aborts",
     {[](const LoopCall&) { return signals(SIGABRT); },
      [](int, int64_t call) { return " ended by signal 6" + behind(call); }}},
    {"is told to go by SIGTERM",
     {[](const LoopCall&) { return signals(SIGTERM); },
      [](int, int64_t call) { return cat("goes behind call ", call, "\n"); }, Names::kNone, 42}},
    {"is told to go by SIGUSR1",
     {[](const LoopCall&) { return signals(SIGUSR1); },
      [](int, int64_t call) { return cat("goes behind call ", call, "\n"); }, Names::kNone, 42}},
    {"returns 5",
     {[](const LoopCall&) { return 5; },
      [](int, int64_t call) { return left(call, " and ended with status 5"); }}},
    {"returns 0", {[](const LoopCall&) { return 0; }, [](int, int64_t call) { return left(call, ""); }}},
    {"exits",
     {[](const LoopCall&) -> std::optional<int> { ::_exit(6); },
      [](int, int64_t call) { return " ended with status 6" + behind(call); }}},
    {"throws",
     {[](const LoopCall&) -> std::optional<int> { throw ValueError("rows.none", "there are no more rows"); },
      [](int, int64_t call) { return cat(" failed", behind(call), " "); }}},
    {"calls another function",
     {[](const LoopCall& of) {
        of.workers.run(step_of(of.sums, "other"), {of.x});
        return kInItsPlace;
      },
      [](int rank, int64_t call) { return called(call, rank, "other", "step"); }, Names::kNone}},
    {"leaves out a call",
     {[](const LoopCall&) { return kInItsPlace; }, [](int, int64_t) { return left(kCalls, ""); }}},
    {"makes a call more",
     {[](const LoopCall& of) {
        of.workers.run(of.step, {of.x});
        return std::nullopt;
      },
      [](int rank, int64_t) {
        return cat(" left the run behind call ", kCalls, " of \"step\" while rank ", rank, " is at call ",
                   kCalls + 1, " of \"step\"");
      },
      Names::kOther}},
    {"captures another number",
     {[](const LoopCall& of) {
        of.workers.run(step_of(of.sums, "step", 2), {of.x});
        return kInItsPlace;
      },
      [](int rank, int64_t call) {
        return cat(" in call ", call, " of Strategy::run() \"step\" is another program on rank ",
                   std::max(rank, 1), " than on rank 0: it has ");
      },
      Names::kNone}}};

TEST(LaunchDrawnLoops, DISABLED_Program) {
  run_named_program([](const std::string& name) {
    if (const int status = loop(kDepartures.at(name).departs)) ::_exit(status);
  });
}

// What was not there before: files of memory and of /tmp, and processes.
class Traces {
 public:
  // Whoever outlives a launcher becomes a child of this process.
  Traces() : memory_(files_in("/dev/shm")) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Traces() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;

  std::string words() const { return cat("TMPDIR=", folder_, "/tmp XDG_STATE_HOME=", folder_, "/state "); }
  void expect_none() const {
    EXPECT_EQ(files_in(folder_ + "/tmp"), std::set<std::string>());
    std::set<std::string> memory = files_in("/dev/shm");
    // Others of this machine come and go.
    std::erase_if(memory, [this](const std::string& file) {
      return memory_.contains(file) || file.find("espalier") == file.npos;
    });
    EXPECT_EQ(memory, std::set<std::string>());
    // A program that was told to end has some time, and a launcher waits for its ranks.
    EXPECT_TRUE(comes_true([] { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }));
  }

 private:
  static std::set<std::string> files_in(const std::string& folder) {
    std::set<std::string> out;
    for (const auto& file : std::filesystem::directory_iterator(folder)) out.insert(file.path());
    return out;
  }
  static std::string made(const std::string& folder) {
    std::filesystem::create_directory(folder + "/tmp");
    return std::filesystem::absolute(folder);
  }

  const std::string folder_ = made(fresh_folder(
      cat("launch-drawn-loops-", testing::UnitTest::GetInstance()->current_test_info()->name())));
  const std::set<std::string> memory_;
};

struct DrawnLoop {
  std::string kind;
  int ranks = 2, rank = 1;
  int64_t call = 7;
  bool on_hosts = false;

  std::string words() const {
    std::string flags =
        on_hosts ? cat("--hosts a:1,b:", ranks - 1, " --interface lo --agent env ") : cat("-n ", ranks, " ");
    if (kind == "is killed in the call") flags += cat("--chaos kill:", rank, "@step", call, " ");
    return cat("ODD_RANK=", rank, " ODD_CALL=", call, " ", build_folder(), "/espalier launch ", flags,
               on_hosts ? "--env ODD_RANK --env ODD_CALL " : "", "-- ", program_words(kind));
  }
  void expect_said(const Outcome& run) const {
    const Departure& of = kDepartures.at(kind);
    EXPECT_EQ(run.code, of.status);
    const std::string said = of.said(rank, call);
    if (of.status != 43) {
      // By each.
      size_t times = 0;
      for (size_t at = 0; (at = run.error.find(said, at)) != run.error.npos; ++at) ++times;
      EXPECT_EQ(times, static_cast<size_t>(ranks)) << said;
      return;
    }
    // Behind the line that names the engine.
    size_t at = run.error.find("espalier launch: ");
    if (at != run.error.npos && run.error.compare(at, 25, "espalier launch: engine: ") == 0)
      at = run.error.find("espalier launch: ", at + 1);
    std::string verdict = at == run.error.npos ? "" : run.error.substr(at, run.error.find('\n', at) - at);
    EXPECT_NE(verdict.find(" (verdict "), verdict.npos) << verdict;
    const auto is_of = [&](int number) {
      return verdict.starts_with(cat("espalier launch: rank ", number, " (pid "));
    };
    for (int other = 0; other < ranks; ++other)
      EXPECT_TRUE(!is_of(other) || of.names == (other == rank ? Names::kOdd : Names::kOther)) << verdict;
    const std::string host = cat(", host ", rank == 0 ? "a" : "b", ") ");
    EXPECT_TRUE(of.names != Names::kOdd || (verdict.find(host) != verdict.npos) == on_hosts) << verdict;
    verdict.erase(0, verdict.find(of.names == Names::kNone ? ": " : ")") + 1);
    EXPECT_TRUE(verdict.starts_with(said)) << verdict << "\nnot" << said;
  }
};

void try_loop(const DrawnLoop& of) {
  const Traces traces;
  const std::string words = traces.words() + of.words();
  const Outcome run = call_shell(words);
  SCOPED_TRACE(cat(words, "\n", run.error));
  of.expect_said(run);
  traces.expect_none();
}

// Of each kind one, but those that LaunchLoops and LaunchFaults have.
TEST(LaunchDrawnLoops, SlowARankThatIsGoneIsNamedWithItsCall) {
  for (const char* kind : {"is killed", "aborts", "returns 0", "exits", "throws"}) try_loop({.kind = kind});
}
TEST(LaunchDrawnLoops, SlowARankThatIsToldToGoEndsAllBehindItsCall) {
  try_loop({.kind = "is told to go by SIGUSR1", .ranks = 3, .rank = 2});
}
TEST(LaunchDrawnLoops, SlowARankThatCallsSomethingElseIsNamedWithItsCall) {
  for (const char* kind :
       {"calls another function", "leaves out a call", "makes a call more", "captures another number"})
    try_loop({.kind = kind, .ranks = 3, .rank = 1});
}

// Sixty, or ESPALIER_CHAOS_RUNS, from ESPALIER_SEED on: kinds in turn, a third of them between hosts.
TEST(LaunchDrawnLoops, NightlyAnyRankInAnyCallIsNamed) {
  const bool has_gloo = missing_engine({"gloo"}).empty();
  const int runs = runs_asked("ESPALIER_CHAOS_RUNS", 60);
  for (uint64_t i = 0; i < static_cast<uint64_t>(runs); ++i) {
    const uint64_t seed = first_seed() + i;
    Philox random(seed);
    DrawnLoop of{
        .kind =
            std::next(kDepartures.begin(), static_cast<std::ptrdiff_t>(seed % kDepartures.size()))->first};
    of.ranks = 2 + static_cast<int>(random.below(2));
    of.rank = static_cast<int>(random.below(static_cast<uint64_t>(of.ranks)));
    of.call = 2 + static_cast<int64_t>(random.below(kCalls - 1));
    of.on_hosts = has_gloo && random.below(3) == 0;
    SCOPED_TRACE(cat("ESPALIER_SEED=", seed));
    try_loop(of);
  }
}

}  // namespace
}  // namespace espalier::cli
