// What the processes of a run say to each other on the host, outside of their programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "espalier/run_context.h"
#include "espalier/variable.h"

namespace espalier {

// A handle on a communicator; copies share it. All processes make the same calls in one order, and `name` is
// what verdicts and records call one. Each call raises what Communicator::done() raises. Of a process that is
// alone each gives back what it is given.
class HostCollectives {
 public:
  HostCollectives() = default;  // alone
  // By the communicator of the context, which outlives it; alone, if it has none.
  HostCollectives(const RunContext& context) : communicator_(context.communicator), pool_(&context.pool) {}

  int rank() const { return communicator_ ? communicator_->rank() : 0; }
  int world() const { return communicator_ ? communicator_->world() : 1; }

  // The bits that are set on any.
  uint32_t any(uint32_t bits) const { return communicator_ ? communicator_->any(bits) : bits; }
  // What all give, in the order of ranks, as many bytes each: `out` has room for them.
  void all_gather(std::string_view name, std::span<const std::byte> mine, std::byte* out) const;
  // The same of values: as many of each.
  template <class T>
  std::vector<T> all_gather(std::string_view name, std::span<const T> mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> out(mine.size() * static_cast<size_t>(world()));
    all_gather(name, std::as_bytes(mine), reinterpret_cast<std::byte*>(out.data()));
    return out;
  }
  // One value of each.
  template <class T>
  std::vector<T> of_each(std::string_view name, const T& mine) const {
    return all_gather(name, std::span<const T>(&mine, 1));
  }
  // One text of each.
  std::vector<std::string> texts(std::string_view name, std::string mine) const;
  // Tensors of each, as many of each one, of any types: those of rank 0 first.
  std::vector<Tensor> tensors(const std::vector<Tensor>& own) const;
  // The sum of what they give, of one type on all of them, in the order of ranks. Twice its bytes travel, and
  // not the world's.
  Tensor sum(const Tensor& own) const;
  // Gives variables the values they have on rank 0. All name the same ones in one order.
  void broadcast(std::span<const Variable> variables) const;

 private:
  Communicator* communicator_ = nullptr;
  ThreadPool* pool_ = nullptr;
};

}  // namespace espalier
