// How a rank of a host gives memory to the others, and finds theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace espalier {

class HostMemory {
 public:
  static constexpr uint64_t kNowhere = std::numeric_limits<uint64_t>::max();

  virtual ~HostMemory() = default;
  // 64-byte aligned, of zeros on request. Raises RunError[comm.memory]. Any thread may free it.
  virtual std::shared_ptr<std::byte[]> allocate(size_t bytes, bool zeros) = 0;
  // What at() of other ranks takes; kNowhere where they cannot reach it.
  virtual uint64_t place_of(const std::byte* data, size_t bytes) const = 0;
  // Raises RunError[comm.memory] where this process has no room for it.
  virtual std::byte* at(int rank, uint64_t place, size_t bytes) = 0;
  // Whether others touch the very memory that this process frees. Then a rank that gives up waits until they
  // have stopped. One of another process could be ended before it says so, and cannot do harm: what it still
  // writes comes to memory that is there, and holds no result.
  virtual bool of_one_process() const = 0;
};

}  // namespace espalier
