#include "comm/board.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include <espalier/error.h>

#include "base/format.h"
#include "comm/board_layout.h"
#include "comm/calls.h"
#include "comm/waiting.h"

namespace espalier {
namespace {

constexpr uint64_t kMagic = 0x6472616f62707365;  // "espboard"

// Empty where the cell has gone to another collective meanwhile.
bool read_call(const CallCell& cell, uint64_t sequence, CollectiveRecord& record) {
  if (cell.sequence.load(std::memory_order_acquire) != sequence + 1) return false;
  record.sequence = sequence;
  record.kind = kind_name(static_cast<CallKind>(cell.kind.load(std::memory_order_acquire)));
  record.name = cell.name.load();
  record.type = cell.type.load();
  record.count = cell.count.load(std::memory_order_acquire);
  record.step = cell.step.load(std::memory_order_acquire);
  record.arrived_ns = cell.arrived_ns.load(std::memory_order_acquire);
  record.done_ns = cell.done_ns.load(std::memory_order_acquire);
  return cell.sequence.load(std::memory_order_acquire) == sequence + 1;
}

}  // namespace

int64_t monotonic_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

BoardLayout* make_board(void* memory, int world) {
  auto* board = new (memory) BoardLayout;
  board->magic = kMagic;
  board->bytes = board_bytes(world);
  board->version = kBoardVersion;
  board->world = static_cast<uint32_t>(world);
  return board;
}

BoardLayout* find_board(void* memory, size_t bytes) {
  auto* board = static_cast<BoardLayout*>(memory);
  if (bytes < sizeof(BoardLayout) || board->magic != kMagic)
    throw ValueError("comm.segments", "the first descriptor is of something else than the ranks' board");
  if (board->version != kBoardVersion)
    throw ValueError("comm.segments",
                     cat("the board is of version ", board->version,
                         " and this program's library of version ", kBoardVersion),
                     "start all ranks from the same build");
  if (board->bytes > bytes || board->bytes != board_bytes(static_cast<int>(board->world)))
    throw ValueError("comm.segments", cat("the board of ", board->world, " ranks has ", bytes, " bytes, not ",
                                          board_bytes(static_cast<int>(board->world))));
  return board;
}

Board::Board(std::shared_ptr<BoardLayout> layout) : layout_(std::move(layout)) {}

int Board::world() const { return static_cast<int>(layout_->world); }

void Board::abort(std::string_view why) {
  uint32_t none = 0;
  if (layout_->why_state.compare_exchange_strong(none, 1)) {
    layout_->why.store(why);
    layout_->why_state.store(2);
  }
  // Even when another one writes why: it may be ended before it comes here.
  layout_->given_up.store(1);
  ring_all(*layout_);
}

void Board::count_calls(int rank, std::string_view function) { layout_->of(rank).function.store(function); }

std::string Board::verdict() const {
  if (layout_->given_up.load() == 0) return "";
  const int64_t end = monotonic_ns() + 10'000'000;
  while (layout_->why_state.load() != 2 && monotonic_ns() < end) {
  }
  const std::string why = layout_->why_state.load() == 2 ? layout_->why.load() : "";
  return why.empty() ? "the run was given up" : why;
}

std::vector<CollectiveRecord> Board::records(int rank) const {
  const uint64_t end = layout_->of(rank).announced.load(std::memory_order_acquire);
  std::vector<CollectiveRecord> records;
  for (uint64_t sequence = end - std::min(end, kCallsKept); sequence < end; ++sequence) {
    CollectiveRecord record;
    if (read_call(layout_->call(rank, sequence), sequence, record)) records.push_back(std::move(record));
  }
  return records;
}

StageRecord Board::stage_of(int rank) const {
  const RankBlock& block = layout_->of(rank);
  StageRecord record;
  uint64_t word;
  do {
    word = block.stage.load(std::memory_order_acquire);
    record.since_ns = block.since_ns.load(std::memory_order_acquire);
  } while (block.stage.load(std::memory_order_acquire) != word);
  record.stage = static_cast<Stage>(word & 0xff);
  record.number = static_cast<int64_t>(word) >> 8;
  record.collectives = block.announced.load(std::memory_order_acquire);
  record.function = block.function.load();
  return record;
}

Lateness Board::lateness_of(int rank) const {
  const RankBlock& block = layout_->of(rank);
  return {block.late_last_ns.load(std::memory_order_relaxed),
          block.late_sum_ns.load(std::memory_order_relaxed), block.finished.load(std::memory_order_acquire)};
}

}  // namespace espalier
