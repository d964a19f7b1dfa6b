// What a rank writes about itself on the board.
#pragma once

#include <cstdint>

#include <espalier/communicator.h>

#include "comm/board_layout.h"
#include "comm/calls.h"

namespace espalier {

inline uint64_t stage_word(Stage stage, int64_t number) {
  return static_cast<uint64_t>(number) << 8 | static_cast<uint64_t>(stage);
}

inline void write_stage(RankBlock& block, uint64_t word) {
  block.stage.store(word, std::memory_order_release);
  block.since_ns.store(monotonic_ns(), std::memory_order_release);
}

// While it lives those who watch see that the rank waits for others in this collective; then that it goes on.
class AsleepOnBoard {
 public:
  AsleepOnBoard(RankBlock& block, uint64_t sequence) : block_(block), before_(block.stage.load()) {
    write_stage(block_, stage_word(Stage::kCollective, static_cast<int64_t>(sequence)));
  }
  ~AsleepOnBoard() { write_stage(block_, before_); }
  AsleepOnBoard(const AsleepOnBoard&) = delete;
  AsleepOnBoard& operator=(const AsleepOnBoard&) = delete;

 private:
  RankBlock& block_;
  const uint64_t before_;
};

// The `sequence`-th call of its rank; `place`: see HostMemory.
inline void write_call(CallCell& cell, uint64_t sequence, CallKind kind, const Collective& what, int64_t step,
                       uint32_t bits, uint64_t place) {
  cell.sequence.store(0, std::memory_order_release);
  cell.fingerprint.store(fingerprint(kind, what), std::memory_order_release);
  cell.place.store(place, std::memory_order_release);
  cell.arrived_ns.store(monotonic_ns(), std::memory_order_release);
  cell.done_ns.store(0, std::memory_order_release);
  cell.count.store(what.count, std::memory_order_release);
  cell.step.store(step, std::memory_order_release);
  cell.bits.store(bits, std::memory_order_release);
  cell.root.store(static_cast<uint16_t>(what.root), std::memory_order_release);
  cell.kind.store(static_cast<uint16_t>(kind), std::memory_order_release);
  cell.name.store(what.name);
  cell.type.store(what.type);
  cell.call.store(what.call, std::memory_order_release);
  cell.program.store(what.program);
  cell.sequence.store(sequence + 1, std::memory_order_release);
}

}  // namespace espalier
