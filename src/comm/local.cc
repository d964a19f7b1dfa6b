#include "comm/local.h"

#include <cstring>
#include <new>
#include <utility>

#include <espalier/error.h>

#include "base/format.h"
#include "comm/host.h"

namespace espalier {
namespace {

constexpr std::align_val_t kLineOfHeap{64};

// Threads reach all memory of their process.
class HeapMemory final : public HostMemory {
 public:
  std::shared_ptr<std::byte[]> allocate(size_t bytes, bool zeros) override {
    void* memory = ::operator new[](bytes, kLineOfHeap, std::nothrow);
    if (!memory) throw RunError("comm.memory", cat("there are no ", bytes, " bytes for what ranks share"));
    if (zeros) std::memset(memory, 0, bytes);
    return {static_cast<std::byte*>(memory), [](std::byte* at) { ::operator delete[](at, kLineOfHeap); }};
  }
  uint64_t place_of(const std::byte* data, size_t) const override { return reinterpret_cast<uint64_t>(data); }
  std::byte* at(int, uint64_t place, size_t) override { return reinterpret_cast<std::byte*>(place); }
  bool of_one_process() const override { return true; }
};

}  // namespace

std::shared_ptr<BoardLayout> board_of_process(int world) {
  if (world < 1 || world > kMaxRanks)
    throw ValueError("comm.world", cat(world, " ranks: one process takes 1 to ", kMaxRanks));
  constexpr std::align_val_t kPage{alignof(BoardLayout)};
  void* memory = ::operator new(board_bytes(world), kPage);
  std::memset(memory, 0, board_bytes(world));
  return {make_board(memory, world), [](BoardLayout* of) { ::operator delete(of, kPage); }};
}

std::vector<std::shared_ptr<Communicator>> local_communicators(int world, int first) {
  const std::shared_ptr<BoardLayout> board = board_of_process(world);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.push_back(std::make_shared<HostCommunicator>(board, std::make_unique<HeapMemory>(), rank, first));
  return ranks;
}

}  // namespace espalier
