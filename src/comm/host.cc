#include "comm/host.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include <espalier/error.h>

#include "base/format.h"
#include "base/thread_pool.h"
#include "comm/board_writer.h"
#include "comm/slices.h"
#include "comm/waiting.h"

namespace espalier {
namespace {

// Adds the processors that this process may use to those on the board. Gives how many its quota lets work at
// once.
int show_processors(BoardLayout& board) {
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  for (size_t i = 0; i < 64 * board.processors.size() && i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) board.processors[i / 64].fetch_or(uint64_t{1} << i % 64);
  const int allowed = default_threads();
  return allowed < CPU_COUNT(&mask) ? allowed : std::numeric_limits<int>::max();
}

int processors_of(const BoardLayout& board) {
  int count = 0;
  for (const std::atomic<uint64_t>& word : board.processors) count += std::popcount(word.load());
  return count;
}

}  // namespace

// While it lives this rank touches memory of others, which do not go on before.
class HostCommunicator::Working {
 public:
  explicit Working(HostCommunicator& of) : of_(of) {
    of_.block_.works.store(1);
    // Whoever gives up looks at `works` behind that: one of the two sees the other.
    if (of_.layout_->given_up.load() != 0) {
      of_.block_.works.store(0);
      of_.check();
    }
  }
  ~Working() { of_.block_.works.store(0); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  HostCommunicator& of_;
};

HostCommunicator::HostCommunicator(std::shared_ptr<BoardLayout> layout, std::unique_ptr<HostMemory> memory,
                                   int rank, int first)
    : layout_(std::move(layout)),
      board_(std::make_shared<Board>(layout_)),
      memory_(std::move(memory)),
      rank_(rank),
      world_(static_cast<int>(layout_->world)),
      first_(first),
      block_(layout_->of(rank)),
      processors_(show_processors(*layout_)),
      data_of_(static_cast<size_t>(world_)),
      payloads_of_(static_cast<size_t>(world_)) {
  if (block_.taken.exchange(1) != 0)
    throw ValueError("comm.segments",
                     cat("rank ", rank_, " has come already; ranks that start again need new memory"));
  stage(Stage::kStart, 0);
}

HostCommunicator::~HostCommunicator() {
  if (calls_.empty() || !mismatch_.empty()) return;
  abort(cat("rank ", rank_, " has left before ",
            collective_text(calls_[0].kind, calls_[0].name, calls_[0].type, calls_[0].what.count,
                            calls_[0].what.root),
            " was done"));
}

std::shared_ptr<std::byte[]> HostCommunicator::allocate(size_t bytes) {
  return memory_->allocate(bytes, true);
}

void HostCommunicator::stage(Stage stage, int64_t number) {
  step_ = number;
  write_stage(block_, stage_word(stage, number));
}

void HostCommunicator::abort(std::string_view why) {
  board_->abort(why);
  wait_until_left_alone();
}

void HostCommunicator::wait_until_left_alone() {
  if (!memory_->of_one_process()) return;
  for (int peer = 0; peer < world_; ++peer)
    while (peer != rank_ && layout_->of(peer).works.load() != 0) std::this_thread::yield();
}

void HostCommunicator::check() {
  if (!mismatch_.empty()) throw RunError("comm.mismatch", mismatch_);
  if (layout_->given_up.load() == 0) return;
  wait_until_left_alone();
  throw RunError("comm.verdict", board_->verdict());
}

uint32_t HostCommunicator::any(uint32_t bits) {
  check();
  if (!calls_.empty())
    throw StateError("comm.order", cat("any() before ", counted(calls_.size(), "collective"),
                                       " is done, as \"", calls_[0].name, "\""));
  const uint64_t sequence = begin(CallKind::kAny, {}, nullptr, nullptr, bits);
  meet(sequence);
  uint32_t all = 0;
  for (int peer = 0; peer < world_; ++peer)
    all |= layout_->call(peer, sequence).bits.load(std::memory_order_relaxed);
  finish(sequence);
  return all;
}

uint64_t HostCommunicator::start(const Collective& what, std::byte* data, std::byte* out) {
  check();
  check_call(what, world_);
  return begin(static_cast<CallKind>(what.kind), what, data, out, 0);
}

uint64_t HostCommunicator::begin(CallKind kind, const Collective& what, std::byte* data, std::byte* out,
                                 uint32_t bits) {
  Collective marked = what;
  program_.mark(marked);
  calls_.push_back({kind, marked, std::string(what.name), std::string(what.type), std::string(marked.program),
                    data, out, bits, nullptr});
  announce_ready();
  return begun_++;
}

// A cell of the ring is free when all ranks have finished the collective that was in it. Does not wait.
void HostCommunicator::announce_ready() {
  const uint64_t known = finished_ + calls_.size();
  for (; announced_ < known; ++announced_) {
    if (announced_ >= all_finished_ + kCallsKept) {
      all_finished_ = finished_;
      for (int peer = 0; peer < world_; ++peer)
        all_finished_ = std::min(all_finished_, layout_->of(peer).finished.load(std::memory_order_acquire));
      if (announced_ >= all_finished_ + kCallsKept) return;
    }
    announce(calls_[announced_ - finished_], announced_);
  }
}

bool HostCommunicator::gives_data(const Call& call) const {
  return call.kind < CallKind::kBroadcast || (call.kind == CallKind::kBroadcast && call.what.root == rank_);
}

void HostCommunicator::announce(Call& call, uint64_t sequence) {
  call.what.name = call.name;
  call.what.type = call.type;
  CallCell& cell = layout_->call(rank_, sequence);
  uint64_t place = 0;
  if (call.bytes() > 0 && gives_data(call)) {
    if (call.travels()) {
      std::memcpy(layout_->payload(rank_, sequence), call.data, call.bytes());
    } else {
      place = memory_->place_of(call.data, call.bytes());
      if (place == HostMemory::kNowhere) {
        call.staged = memory_->allocate(call.bytes(), false);
        std::memcpy(call.staged.get(), call.data, call.bytes());
        place = memory_->place_of(call.staged.get(), call.bytes());
      }
    }
  }
  write_call(cell, sequence, call.kind, call.what, step_, call.bits, place);
  block_.announced.store(sequence + 1);
  ring(block_);
}

// Waits until all ranks have announced it, and holds their calls against each other.
void HostCommunicator::meet(uint64_t sequence) {
  while (announced_ <= sequence) {
    wait_for_all(&RankBlock::finished, announced_ - kCallsKept + 1, sequence);
    announce_ready();
  }
  wait_for_all(&RankBlock::announced, sequence + 1, sequence);
  const CallCell& own = layout_->call(rank_, sequence);
  const uint64_t same = own.fingerprint.load(std::memory_order_relaxed);
  const int64_t arrived = own.arrived_ns.load(std::memory_order_relaxed);
  int64_t first = arrived;
  for (int peer = 0; peer < world_; ++peer) {
    const CallCell& cell = layout_->call(peer, sequence);
    if (cell.fingerprint.load(std::memory_order_relaxed) != same) raise_mismatch(sequence);
    first = std::min(first, cell.arrived_ns.load(std::memory_order_relaxed));
  }
  const int64_t late = arrived - first;
  block_.late_last_ns.store(late, std::memory_order_relaxed);
  block_.late_sum_ns.store(block_.late_sum_ns.load(std::memory_order_relaxed) + late,
                           std::memory_order_relaxed);
  if (sequence == 0) spins_ = std::min(processors_, processors_of(*layout_)) >= world_;
}

void HostCommunicator::raise_mismatch(uint64_t sequence) {
  std::vector<RankCall> calls;
  for (int peer = 0; peer < world_; ++peer) {
    const CallCell& cell = layout_->call(peer, sequence);
    calls.push_back({cell.fingerprint.load(),
                     collective_text(static_cast<CallKind>(cell.kind.load()), cell.name.load(),
                                     cell.type.load(), cell.count.load(), cell.root.load()),
                     call_text(cell.call.load(), cell.program.load())});
  }
  mismatch_ = mismatch_text(calls, first_);
  throw RunError("comm.mismatch", mismatch_);
}

void HostCommunicator::finish(uint64_t sequence) {
  layout_->call(rank_, sequence).done_ns.store(monotonic_ns(), std::memory_order_release);
  if (block_.finished.load(std::memory_order_relaxed) == sequence) {
    block_.finished.store(sequence + 1);
    ring(block_);
  }
  finished_ = sequence + 1;
  calls_.pop_front();
  announce_ready();
}

void HostCommunicator::wait_for_all(std::atomic<uint64_t> RankBlock::*counter, uint64_t value,
                                    uint64_t sequence) {
  for (int peer = 0; peer < world_; ++peer) {
    const std::atomic<uint64_t>& of_peer = layout_->of(peer).*counter;
    if (!comes_soon(of_peer, value, spins_)) sleep_for(peer, of_peer, value, sequence);
  }
}

void HostCommunicator::sleep_for(int peer, const std::atomic<uint64_t>& counter, uint64_t value,
                                 uint64_t sequence) {
  const AsleepOnBoard asleep(block_, sequence);
  while (counter.load(std::memory_order_acquire) < value) {
    check();
    sleep_until(*layout_, layout_->of(peer), counter, value);
  }
}

bool HostCommunicator::is_here(uint64_t ticket) const {
  if (calls_.empty() || ticket != finished_ || !calls_.front().travels()) return false;
  for (int peer = 0; peer < world_; ++peer)
    if (layout_->of(peer).announced.load(std::memory_order_acquire) <= ticket) return false;
  return true;
}

void HostCommunicator::done(uint64_t ticket, ThreadPool& pool) {
  if (!mismatch_.empty() || !is_here(ticket)) check();
  if (calls_.empty() || ticket != finished_)
    throw StateError("comm.order", cat("collective ", ticket, " is to be done where ",
                                       calls_.empty() ? std::string("none has begun")
                                                      : cat("collective ", finished_, ", \"", calls_[0].name,
                                                            "\", is next")));
  meet(ticket);
  const Call& call = calls_.front();
  if (call.kind == CallKind::kBarrier || call.bytes() == 0) return finish(ticket);
  if (call.travels()) {
    work_on_payloads(call, ticket);
    return finish(ticket);
  }
  {
    const Working working(*this);
    work_in_memory(call, ticket, pool);
  }
  block_.finished.store(ticket + 1);
  ring(block_);
  // What others read of this rank's memory or write into it.
  if (gives_data(call)) wait_for_all(&RankBlock::finished, ticket + 1, ticket);
  if (call.kind == CallKind::kAllReduce && call.staged)
    std::memcpy(call.data, call.staged.get(), call.bytes());
  finish(ticket);
}

void HostCommunicator::work_on_payloads(const Call& call, uint64_t sequence) {
  for (int peer = 0; peer < world_; ++peer)
    payloads_of_[static_cast<size_t>(peer)] = layout_->payload(peer, sequence);
  const size_t bytes = call.bytes(), part = bytes / static_cast<size_t>(world_);
  switch (call.kind) {
    case CallKind::kAllReduce:
      return call.what.reduce(call.data, payloads_of_.data(), world_, call.what.count);
    case CallKind::kReduceScatter:
      for (const std::byte*& payload : payloads_of_) payload += part * static_cast<size_t>(rank_);
      return call.what.reduce(call.out, payloads_of_.data(), world_,
                              call.what.count / static_cast<size_t>(world_));
    case CallKind::kAllGather:
      for (size_t peer = 0; peer < payloads_of_.size(); ++peer)
        std::memcpy(call.out + peer * bytes, payloads_of_[peer], bytes);
      return;
    default:
      if (call.out) std::memcpy(call.out, payloads_of_[static_cast<size_t>(call.what.root)], bytes);
  }
}

void HostCommunicator::work_in_memory(const Call& call, uint64_t sequence, ThreadPool& pool) {
  const size_t bytes = call.bytes();
  for (int peer = 0; peer < world_; ++peer) {
    std::byte*& data = data_of_[static_cast<size_t>(peer)];
    if (call.kind == CallKind::kBroadcast && peer != call.what.root)
      data = nullptr;
    else if (peer == rank_)
      data = call.staged ? call.staged.get() : call.data;
    else
      data = memory_->at(peer, layout_->call(peer, sequence).place.load(std::memory_order_relaxed), bytes);
  }
  const Reduction reduction{call.what.reduce, call.what.element};
  switch (call.kind) {
    case CallKind::kAllReduce:
      return reduce_everywhere(reduction, data_of_, rank_, slice_of(rank_, world_, call.what), pool);
    case CallKind::kReduceScatter: {
      const size_t part = call.what.count / static_cast<size_t>(world_);
      const size_t first = part * static_cast<size_t>(rank_);
      return reduce_here(reduction, data_of_, {first, first + part}, call.out, pool);
    }
    case CallKind::kAllGather:
      for (size_t peer = 0; peer < data_of_.size(); ++peer)
        copy(call.out + peer * bytes, data_of_[peer], bytes, pool);
      return;
    default:
      if (call.out) copy(call.out, data_of_[static_cast<size_t>(call.what.root)], bytes, pool);
  }
}

std::shared_ptr<Board> board_of(const Communicator& communicator) {
  const auto* of_host = dynamic_cast<const HostCommunicator*>(&communicator);
  return of_host ? of_host->board() : nullptr;
}

}  // namespace espalier
