// What the ranks of one host write about themselves and read of each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <espalier/communicator.h>

namespace espalier {

struct BoardLayout;

// One of the last collectives that a rank began. Times are of CLOCK_MONOTONIC, which all processes share.
struct CollectiveRecord {
  uint64_t sequence = 0;  // counted from 0, the same on all ranks
  std::string kind;       // "all_reduce", as StableHLO writes it; "barrier", "vote"
  std::string name, type;
  uint64_t count = 0;
  int64_t step = 0;                     // the number of the stage in which it began
  int64_t arrived_ns = 0, done_ns = 0;  // done_ns is 0 until it is done
};

struct StageRecord {
  Stage stage = Stage::kStart;  // kCollective while it sleeps until others come
  int64_t number = 0;           // of its kind: a step, an epoch
  int64_t since_ns = 0;         // CLOCK_MONOTONIC; 0: the rank is not there yet
  uint64_t collectives = 0;     // how many it has begun
  std::string function = {};    // whose calls are counted; empty: steps are
};

// How much later than the first of them a rank came to its collectives.
struct Lateness {
  int64_t last_ns = 0, sum_ns = 0;
  uint64_t collectives = 0;
};

// For those who watch ranks: the launcher, a thread of a rank. Any thread may call it.
class Board {
 public:
  explicit Board(std::shared_ptr<BoardLayout> layout);

  int world() const;
  // All ranks stop: within 100 ms whoever waits raises RunError[comm.verdict] with `why` (at most 4 KiB), and
  // so does every later call. The first one counts.
  void abort(std::string_view why);
  // What the stages of that rank count from now on are calls of this function; empty: steps.
  void count_calls(int rank, std::string_view function);
  // What abort() was told; "" before.
  std::string verdict() const;

  // The last 64, oldest first.
  std::vector<CollectiveRecord> records(int rank) const;
  StageRecord stage_of(int rank) const;
  Lateness lateness_of(int rank) const;

 private:
  std::shared_ptr<BoardLayout> layout_;
};

}  // namespace espalier
