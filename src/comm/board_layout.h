// The memory behind a Board, which the ranks of one host share: threads of one process or processes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace espalier {

inline constexpr int kMaxRanks = 256;
inline constexpr uint64_t kCallsKept = 64;    // of each rank, in a ring
inline constexpr size_t kPayload = 2048;      // bytes of a call that travel with its announcement
inline constexpr uint32_t kBoardVersion = 3;  // processes of one job run the same

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<uint64_t>) == 8 && sizeof(std::atomic<uint32_t>) == 4);

// Text that is read while it may be written: words, each of which is whole. Cut to what it can hold.
template <size_t kWords>
struct SharedText {
  std::array<std::atomic<uint64_t>, kWords> words;

  void store(std::string_view text) {
    text = text.substr(0, 8 * kWords - 1);
    for (std::atomic<uint64_t>& word : words) {
      uint64_t value = 0;
      const std::string_view part = text.substr(0, 8);
      part.copy(reinterpret_cast<char*>(&value), part.size());
      text.remove_prefix(part.size());
      word.store(value, std::memory_order_release);
    }
  }
  std::string load() const {
    std::string text;
    for (const std::atomic<uint64_t>& word : words) {
      const uint64_t value = word.load(std::memory_order_acquire);
      text.append(reinterpret_cast<const char*>(&value), 8);
    }
    return text.c_str();
  }
};

// What a rank says of one collective. Whoever reads it while it may be written looks at `sequence` before and
// after.
struct alignas(64) CallCell {
  std::atomic<uint64_t> sequence;  // 1 more than it; 0 while the cell is written
  std::atomic<uint64_t> fingerprint;
  std::atomic<uint64_t> place;  // where its data lie: see HostMemory
  std::atomic<int64_t> arrived_ns, done_ns;
  std::atomic<uint64_t> count;
  std::atomic<int64_t> step;
  std::atomic<uint32_t> bits;  // of any()
  std::atomic<uint16_t> root;
  std::atomic<uint16_t> kind;
  SharedText<6> name;
  SharedText<2> type;
  std::atomic<uint64_t> call;  // of a program; 0: none
  SharedText<4> program;
};
static_assert(sizeof(CallCell) == 192);

// Each line of the cache but the second has one writer, the rank.
struct alignas(64) RankBlock {
  std::atomic<uint64_t> announced, finished;   // collectives
  std::atomic<uint32_t> bell;                  // others sleep on it; moves when either of the above has moved
  std::atomic<uint32_t> works;                 // it touches memory of other ranks
  std::atomic<uint32_t> taken;                 // by a process, for good
  alignas(64) std::atomic<uint32_t> sleepers;  // on `bell`
  alignas(64) std::atomic<uint64_t> stage;     // the stage in the first byte, its number in the others
  std::atomic<int64_t> since_ns;
  std::atomic<int64_t> late_last_ns, late_sum_ns;
  SharedText<4> function;  // whose calls its stage counts; empty: steps
  std::array<CallCell, kCallsKept> calls;
  alignas(64) std::array<std::array<std::byte, kPayload>, kCallsKept> payloads;
};

struct alignas(4096) BoardLayout {
  uint64_t magic, bytes;
  uint32_t version, world;
  alignas(64) std::atomic<uint32_t> given_up;
  std::atomic<uint32_t> why_state;  // 0, 1 while it is written, 2
  SharedText<512> why;
  std::array<std::atomic<uint64_t>, 16> processors;  // that any rank may use, a bit each

  RankBlock& of(int rank) { return reinterpret_cast<RankBlock*>(this + 1)[rank]; }
  CallCell& call(int rank, uint64_t sequence) { return of(rank).calls[sequence % kCallsKept]; }
  std::byte* payload(int rank, uint64_t sequence) { return of(rank).payloads[sequence % kCallsKept].data(); }
};
static_assert(std::is_trivially_destructible_v<BoardLayout>);

inline size_t board_bytes(int world) {
  return sizeof(BoardLayout) + static_cast<size_t>(world) * sizeof(RankBlock);
}
// Makes a board of zeroed memory of board_bytes().
BoardLayout* make_board(void* memory, int world);
// Raises ValueError[comm.segments] unless make_board() of this version made it; `bytes` are there.
BoardLayout* find_board(void* memory, size_t bytes);

// CLOCK_MONOTONIC.
int64_t monotonic_ns();

}  // namespace espalier
