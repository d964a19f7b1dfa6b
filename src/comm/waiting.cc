#include "comm/waiting.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace espalier {
namespace {

constexpr int64_t kSpinNs = 20'000;
constexpr int kYields = 4;
constexpr long kSleepNs = 100'000'000;

bool reached(const std::atomic<uint64_t>& counter, uint64_t value) {
  return counter.load(std::memory_order_acquire) >= value;
}

void pause_in_spin() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  // Not FUTEX_PRIVATE_FLAG: the word may lie in memory of several processes.
  return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

void wake(RankBlock& block) {
  block.bell.fetch_add(1);
  futex(block.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace

void ring(RankBlock& block) {
  if (block.sleepers.load() != 0) wake(block);
}

void ring_all(BoardLayout& board) {
  for (int rank = 0; rank < static_cast<int>(board.world); ++rank) wake(board.of(rank));
}

bool comes_soon(const std::atomic<uint64_t>& counter, uint64_t value, bool spins) {
  if (reached(counter, value)) return true;
  if (!spins) {
    for (int i = 0; i < kYields; ++i) {
      ::sched_yield();
      if (reached(counter, value)) return true;
    }
    return false;
  }
  const int64_t end = monotonic_ns() + kSpinNs;
  do {
    for (int i = 0; i < 32; ++i) {
      pause_in_spin();
      if (reached(counter, value)) return true;
    }
  } while (monotonic_ns() < end);
  return false;
}

// The waker moves a counter and then looks for sleepers; a sleeper says that it is one and then looks at the
// counter. All four are sequentially consistent, so one of them sees the other.
void sleep_until(const BoardLayout& board, RankBlock& block, const std::atomic<uint64_t>& counter,
                 uint64_t value) {
  block.sleepers.fetch_add(1);
  const uint32_t bell = block.bell.load();
  if (counter.load() < value && board.given_up.load() == 0) {
    const timespec timeout{0, kSleepNs};
    futex(block.bell, FUTEX_WAIT, bell, &timeout);
  }
  block.sleepers.fetch_sub(1);
}

}  // namespace espalier
