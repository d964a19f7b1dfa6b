// Collectives of the ranks of one host: each reads and writes the memory of all.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <espalier/communicator.h>

#include "comm/board.h"
#include "comm/board_layout.h"
#include "comm/calls.h"
#include "comm/host_memory.h"

namespace espalier {

// A call is announced on the board. Up to kPayload bytes travel with it, and each rank works on all of them
// by itself. Of more, a rank works on its own slice, in the memory of all ranks, and leaves when all have
// worked. Either way an element is reduced in the order of ranks. One thread calls it; abort() may be any.
class HostCommunicator final : public Communicator {
 public:
  // `first`: the number in the run of its rank 0, which a mismatch is told by.
  HostCommunicator(std::shared_ptr<BoardLayout> layout, std::unique_ptr<HostMemory> memory, int rank,
                   int first = 0);
  // With collectives that are not done it is an abort().
  ~HostCommunicator() override;

  int rank() const override { return rank_; }
  int world() const override { return world_; }
  uint32_t any(uint32_t bits) override;
  std::shared_ptr<std::byte[]> allocate(size_t bytes) override;
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override;
  void done(uint64_t ticket, ThreadPool& pool) override;
  void begin_program(std::string_view name) override { program_.begin(name); }
  void stage(Stage stage, int64_t number) override;
  void abort(std::string_view why) override;

  const std::shared_ptr<Board>& board() const { return board_; }
  BoardLayout& layout() const { return *layout_; }

 private:
  struct Call {
    CallKind kind;
    Collective what;  // its texts are the three below
    std::string name, type, program;
    std::byte *data, *out;
    uint32_t bits;
    std::shared_ptr<std::byte[]> staged;  // a copy of data that others can reach
    size_t bytes() const { return what.count * what.element; }
    bool travels() const { return bytes() <= kPayload; }
  };
  class Working;

  // Whether all that a collective needs lies on the board. Ranks that came earlier may have gone on, and
  // given the run up since: it ends here as it did there.
  bool is_here(uint64_t ticket) const;
  void check();
  uint64_t begin(CallKind kind, const Collective& what, std::byte* data, std::byte* out, uint32_t bits);
  bool gives_data(const Call& call) const;
  void announce_ready();
  void announce(Call& call, uint64_t sequence);
  void meet(uint64_t sequence);
  void finish(uint64_t sequence);
  void wait_for_all(std::atomic<uint64_t> RankBlock::*counter, uint64_t value, uint64_t sequence);
  void sleep_for(int peer, const std::atomic<uint64_t>& counter, uint64_t value, uint64_t sequence);
  void wait_until_left_alone();
  [[noreturn]] void raise_mismatch(uint64_t sequence);
  void work_on_payloads(const Call& call, uint64_t sequence);
  void work_in_memory(const Call& call, uint64_t sequence, ThreadPool& pool);

  const std::shared_ptr<BoardLayout> layout_;
  const std::shared_ptr<Board> board_;
  const std::unique_ptr<HostMemory> memory_;
  const int rank_, world_, first_;
  RankBlock& block_;
  std::deque<Call> calls_;  // begun and not done
  uint64_t begun_ = 0, announced_ = 0, finished_ = 0;
  uint64_t all_finished_ = 0;  // at least as many, by all ranks
  int64_t step_ = 0;
  ProgramCall program_;
  int processors_;      // at most so many work for this process at once
  bool spins_ = false;  // known when all ranks have come
  std::string mismatch_;
  std::vector<std::byte*> data_of_;  // of the collective that is worked on
  std::vector<const std::byte*> payloads_of_;
};

// Null where the communicator is none of one host.
std::shared_ptr<Board> board_of(const Communicator& communicator);

}  // namespace espalier
