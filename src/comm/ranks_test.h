// Ranks of tests, and collectives with an oracle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <espalier/communicator.h>
#include <espalier/error.h>

#include "base/philox.h"
#include "base/thread_pool.h"
#include "comm/board.h"

namespace espalier {

// Calls body(communicator, pool) for each rank on a thread of its own; rethrows what the lowest rank threw.
template <class Body>
void on_threads(const std::vector<std::shared_ptr<Communicator>>& ranks, const Body& body) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        ThreadPool pool(1);
        body(*ranks[rank], pool);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// Whether the first so many ranks sleep until others come.
inline bool all_wait(const Board& board, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (board.stage_of(rank).stage != Stage::kCollective) return false;
  return true;
}

// A sum of floats of many magnitudes, and a fold of integers: either shows in which order it was made.
template <class T>
T fold(T sum, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return sum + value;
  else
    return static_cast<T>(static_cast<uint64_t>(sum) * 31 + static_cast<uint64_t>(value));
}
template <class T>
void fold_ranks(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  const auto of = [&](int rank) { return reinterpret_cast<const T*>(from[rank]); };
  for (size_t i = 0; i < count; ++i) {
    T sum = of(0)[i];
    for (int rank = 1; rank < ranks; ++rank) sum = fold(sum, of(rank)[i]);
    reinterpret_cast<T*>(to)[i] = sum;
  }
}

// Cut from one table of a prime length, since draws take longer than what is tested.
template <class T>
std::vector<T> values_of(int rank, size_t count, uint64_t round) {
  static const std::vector<T> table = [] {
    Philox random(7);
    std::vector<T> values(10'007);
    for (T& value : values) {
      if constexpr (std::is_floating_point_v<T>)
        value = std::ldexp(static_cast<T>(random.uniform()) - T(0.5), static_cast<int>(random.below(40)));
      else
        value = static_cast<T>(random.below(1u << 30));
    }
    return values;
  }();
  std::vector<T> values;
  values.reserve(count);
  for (size_t at = (1'009 * static_cast<uint64_t>(rank) + 101 * round) % table.size(); values.size() < count;
       at = 0) {
    const size_t some = std::min(count - values.size(), table.size() - at);
    values.insert(values.end(), table.begin() + static_cast<ptrdiff_t>(at),
                  table.begin() + static_cast<ptrdiff_t>(at + some));
  }
  return values;
}

// One collective of the case, as `rank` of `world` makes it; its result is compared with what ranks in one
// loop give.
template <class T>
struct CollectiveCase {
  Collective::Kind kind;
  size_t count;
  uint64_t round;
  bool in_place;  // in memory of allocate()

  Collective what() const {
    return {kind,
            "case",
            sizeof(T) == 4 ? "f32 sum" : "i64 fold",
            sizeof(T),
            count,
            fold_ranks<T>,
            static_cast<int>(count % 2)};
  }
  std::vector<T> expected(int rank, int world) const {
    std::vector<T> out;
    if (kind == Collective::Kind::kBroadcast) return values_of<T>(root(world), count, round);
    if (kind == Collective::Kind::kBarrier) return out;
    std::vector<T> sum;
    for (int r = 0; r < world; ++r) {
      const std::vector<T> values = values_of<T>(r, count, round);
      if (kind == Collective::Kind::kAllGather) out.insert(out.end(), values.begin(), values.end());
      if (r == 0) {
        sum = values;
        continue;
      }
      for (size_t i = 0; i < count; ++i) sum[i] = fold(sum[i], values[i]);
    }
    if (kind == Collective::Kind::kAllGather) return out;
    if (kind == Collective::Kind::kAllReduce) return sum;
    const size_t part = count / static_cast<size_t>(world);
    return {sum.begin() + static_cast<ptrdiff_t>(part * static_cast<size_t>(rank)),
            sum.begin() + static_cast<ptrdiff_t>(part * static_cast<size_t>(rank + 1))};
  }
  int root(int world) const { return world > 1 ? static_cast<int>(count % 2) : 0; }
};

// Begins a case when it is made.
template <class T>
class StartedCase {
 public:
  StartedCase(Communicator& ranks, const CollectiveCase<T>& of) : ranks_(ranks), case_(of) {
    const std::vector<T> values = values_of<T>(ranks.rank(), of.count, of.round);
    if (of.in_place)
      data_ = ranks.allocate(values.size() * sizeof(T));
    else
      data_ = std::make_shared<std::byte[]>(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(data_.get(), values.data(), values.size() * sizeof(T));
    expected_ = of.expected(ranks.rank(), ranks.world());
    out_.resize(expected_.size());
    Collective what = of.what();
    what.root = of.root(ranks.world());
    ticket_ = ranks.start(what, data_.get(), reinterpret_cast<std::byte*>(out_.data()));
  }
  // Whether each bit is as it should be.
  bool done(ThreadPool& pool) {
    ranks_.done(ticket_, pool);
    const size_t bytes = expected_.size() * sizeof(T);
    if (bytes == 0) return true;
    const void* found = case_.kind == Collective::Kind::kAllReduce ? static_cast<void*>(data_.get())
                                                                   : static_cast<void*>(out_.data());
    return std::memcmp(found, expected_.data(), bytes) == 0;
  }

 private:
  Communicator& ranks_;
  const CollectiveCase<T> case_;
  std::shared_ptr<std::byte[]> data_;
  std::vector<T> out_, expected_;
  uint64_t ticket_ = 0;
};

// Every kind and both types, of about `count` elements.
inline void run_cases(Communicator& ranks, ThreadPool& pool, size_t count, uint64_t round, bool in_place) {
  for (int kind = 0; kind <= static_cast<int>(Collective::Kind::kBarrier); ++kind) {
    CollectiveCase<float> floats{static_cast<Collective::Kind>(kind), count, round, in_place};
    if (floats.kind == Collective::Kind::kReduceScatter)
      floats.count -= count % static_cast<size_t>(ranks.world());
    const CollectiveCase<int64_t> integers{floats.kind, floats.count, round + 1, in_place};
    const std::string where = "kind " + std::to_string(kind) + " of " + std::to_string(floats.count) +
                              " on rank " + std::to_string(ranks.rank()) + " of " +
                              std::to_string(ranks.world());
    EXPECT_TRUE(StartedCase<float>(ranks, floats).done(pool)) << "floats, " << where;
    EXPECT_TRUE(StartedCase<int64_t>(ranks, integers).done(pool)) << "integers, " << where;
  }
}

// The error that `call` raises, as "RULE: MESSAGE"; "nothing" when it raises none.
template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.rule() + ": " + error.message();
  }
  return "nothing";
}

}  // namespace espalier
