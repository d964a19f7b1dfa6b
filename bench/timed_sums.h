// Times sums of f32 by all ranks of a run, by whatever moves them: each refills its elements, all begin
// together, and the rank that takes longest counts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

class SumRanks {
 public:
  virtual ~SumRanks() = default;
  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int world() const = 0;
  virtual void barrier() = 0;
  virtual void sum(float* data, size_t count) = 0;                          // in place
  virtual std::vector<double> gather(const std::vector<double>& mine) = 0;  // of all ranks, in order
};

// Whether every sum was right. `data` has room for them. Rank 0 prints the median of `runs`: a JSON line.
inline bool time_sums(SumRanks& ranks, float* data, size_t bytes, int runs) {
  using Clock = std::chrono::steady_clock;
  const size_t count = bytes / 4;
  const int n = ranks.world();
  const auto fill = [&] {
    for (size_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(i % 1000) + static_cast<float>(ranks.rank());
  };
  const auto is_right = [&] {
    bool good = true;
    for (size_t i = 0; i < count; ++i)
      good = good && data[i] == static_cast<float>(i % 1000) * static_cast<float>(n) +
                                    static_cast<float>(n * (n - 1) / 2);
    return good;
  };
  fill();
  ranks.sum(data, count);
  if (!is_right()) return false;
  std::vector<double> mine;
  for (int run = 0; run < runs; ++run) {
    fill();
    ranks.barrier();
    const Clock::time_point begin = Clock::now();
    ranks.sum(data, count);
    mine.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  if (!is_right()) return false;
  const std::vector<double> all = ranks.gather(mine);
  for (size_t i = 0; i < all.size(); ++i) mine[i % mine.size()] = std::max(mine[i % mine.size()], all[i]);
  const auto middle = mine.begin() + runs / 2;
  std::ranges::nth_element(mine, middle);
  if (ranks.rank() == 0) {
    std::printf("{\"peer\": \"%s\", \"ranks\": %d, \"bytes\": %zu, \"value\": %.2f, \"unit\": \"us\"}\n",
                ranks.name().c_str(), n, bytes, *middle);
    std::fflush(stdout);
  }
  return true;
}

// Of the sizes of a command line. `allocate(bytes)` gives memory that outlives the sums.
template <class Allocate>
bool time_sums(SumRanks& ranks, const std::vector<size_t>& sizes, const Allocate& allocate) {
  bool good = true;
  for (const size_t bytes : sizes) {
    const auto memory = allocate(bytes);
    const int runs = bytes <= (size_t{64} << 10) ? 500 : bytes <= (size_t{1} << 20) ? 100 : 9;
    good = good && time_sums(ranks, reinterpret_cast<float*>(memory.get()), bytes, runs);
  }
  return good;
}

inline std::vector<size_t> sizes_of(int argc, char** argv, int from) {
  std::vector<size_t> sizes;
  for (int i = from; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {64 << 10, 1 << 20, 25 << 20, 64 << 20};
  return sizes;
}
