// How a rank waits for another one of its host.
#pragma once

#include <atomic>
#include <cstdint>

#include "comm/board_layout.h"

namespace espalier {

// Tells those who sleep on the bell of `block` that one of its counters has moved. A system call only when
// there are any.
void ring(RankBlock& block);
// Even when nobody is seen to sleep.
void ring_all(BoardLayout& board);

// Some microseconds without sleep: whether `counter` has come to `value`. With `spins` it stays on its
// processor, otherwise it gives it to others.
bool comes_soon(const std::atomic<uint64_t>& counter, uint64_t value, bool spins);
// Sleeps until `counter` of `block` has come to `value` or the board is given up, but at most 100 ms.
void sleep_until(const BoardLayout& board, RankBlock& block, const std::atomic<uint64_t>& counter,
                 uint64_t value);

}  // namespace espalier
