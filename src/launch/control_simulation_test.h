// Ranks that train, links with delay and faults, in one thread and in virtual time: what the coordinator of a
// run says of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "launch/control_coordinator.h"
#include "launch/control_member.h"

namespace espalier {

enum class SimulatedFault : uint8_t {
  kNone,
  kKill,  // by signal `number`
  kStop,  // for `seconds`
  kThrow,
  kExit,   // with status `number`
  kLeave,  // status 0, and says so
  kMismatch,
  kHang,  // its beats go on
  kCut,   // its connection breaks, and it goes on
};

struct SimulatedRun {
  int world = 2;
  int64_t steps = 20;
  int collectives = 2;    // a step
  double delay = 0.01;    // of links, at most
  double slow = 0;        // seconds that one phase of one rank takes once
  bool board = true;      // the launcher knows what a rank did last
  bool resets = false;    // ranks that wait for one that is gone fail at once, by themselves
  bool wordless = false;  // ranks that fail for others do not say why
  SimulatedFault fault = SimulatedFault::kNone;
  int culprit = 0;
  int64_t at_step = 0;
  int at_phase = 0;  // 0: input, 1: before the first collective, ...
  double seconds = 0;
  int number = 0;
  double late_at = -1, late = 0;  // the coordinator does nothing
  int strangers = 0;
  double stalled = 300;
  int64_t again_at = 0;      // the step before which ranks compare what they run once more; 0: none
  bool other_again = false;  // kMismatch: then first, or before the first step

  // From one number.
  static SimulatedRun of(uint64_t seed);
};

struct SimulatedEnd {
  std::optional<RunVerdict> verdict;
  double given = 0, broken = 0;  // when
  double missed = 0;             // when another first waited for the culprit; 0: nobody did
  bool all_told = true;          // every rank that lived had the same record
  bool stepped = false;          // some rank had begun a step behind the comparison of a mismatch
  int warnings = 0, refused = 0;
  int64_t step = 0;       // of the culprit when it broke
  bool finished = false;  // all ranks left as planned
};

class Simulation {
 public:
  Simulation(const SimulatedRun& run, uint64_t seed);
  SimulatedEnd end();

 private:
  enum class Life : uint8_t { kRuns, kStopped, kGone };
  struct Rank {
    explicit Rank(ControlMember::Options options) : member(std::move(options)) {}
    ControlMember member;
    StageReport at;
    Life life = Life::kRuns;
    bool hangs = false, linked = true, over = false;
    int64_t next = 1;                         // the step behind the comparison that it waits for
    std::vector<std::function<void()>> held;  // while it is stopped
    double sent = 0, heard = 0;               // when the last message of each way comes
  };
  double random(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  void at(double when, std::function<void()> run);
  void after(double seconds, std::function<void()> run) { at(now_ + seconds, std::move(run)); }
  void in_rank(int rank, double seconds, std::function<void()> run);
  void at_coordinator(double when, std::function<void()> run);
  void flush(int rank);
  void flush_coordinator();
  void beat(int rank);
  void tick();
  void stranger(int link);
  void answer(int link);
  void compare(int rank, int64_t next);
  void phase(int rank, int64_t step, int phase);
  void arrive(int rank, int64_t step, int phase);
  bool break_down(int rank, int64_t step, int phase);
  void look(int rank);
  void fail_for_others(int rank, const std::string& text);
  void exit(int rank, ProcessEnd end, double seconds);
  double delay() { return random(0.0005, run_.delay); }

  const SimulatedRun run_;
  std::mt19937_64 random_;
  ControlCoordinator coordinator_;
  std::vector<Rank> ranks_;
  std::optional<ControlMessage> recorded_;                // a join of some rank
  std::vector<int> arrived_;                              // at each collective
  std::vector<std::vector<std::function<void()>>> wait_;  // for each
  std::map<std::pair<double, uint64_t>, std::function<void()>>
      events_;  // when, and the order of their making
  double now_ = 0;
  uint64_t order_ = 0;
  SimulatedEnd out_;
  bool broken_ = false;
};

}  // namespace espalier
