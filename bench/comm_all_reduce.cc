// All-reduce between processes of one host: microseconds, and as a share of a bound that the same run
// measures. Of n ranks with S bytes each reads and writes S bytes at least, so it takes as long as if each
// changed S bytes of its own in place, all at the same time. Prints a JSON line a size, from memory that
// ranks share ("registered") and from the heap; exit 1 when a sum is wrong.
//
// usage: bench_comm_all_reduce [RANKS [BYTES...]]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "comm/board_layout.h"
#include "comm/shm.h"

using namespace espalier;

namespace {

using Vector [[gnu::vector_size(64)]] = float;

void sum(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    Vector all, one;
    std::memcpy(&all, from[0] + 4 * i, sizeof all);
    for (int rank = 1; rank < ranks; ++rank) {
      std::memcpy(&one, from[rank] + 4 * i, sizeof one);
      all += one;
    }
    std::memcpy(to + 4 * i, &all, sizeof all);
  }
  for (; i < count; ++i) {
    float all = 0, one;
    for (int rank = 0; rank < ranks; ++rank) {
      std::memcpy(&one, from[rank] + 4 * i, 4);
      all += one;
    }
    std::memcpy(to + 4 * i, &all, 4);
  }
}

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Microseconds of body() on the rank that takes longest; they begin together.
double time_of(Communicator& ranks, ThreadPool& pool, int runs, const std::function<void()>& prepare,
               const std::function<void()>& body) {
  const Collective barrier{Collective::Kind::kBarrier, "begin", "", 1, 0, nullptr, 0};
  std::vector<double> all;
  for (int run = 0; run < runs; ++run) {
    prepare();
    run_collective(ranks, barrier, nullptr, nullptr, pool);
    const int64_t begin = monotonic_ns();
    body();
    int64_t own = monotonic_ns() - begin;
    std::vector<int64_t> times(static_cast<size_t>(ranks.world()));
    const Collective gather{Collective::Kind::kAllGather, "times", "i64", 8, 1, nullptr, 0};
    run_collective(ranks, gather, reinterpret_cast<std::byte*>(&own),
                   reinterpret_cast<std::byte*>(times.data()), pool);
    all.push_back(static_cast<double>(std::ranges::max(times)) / 1e3);
  }
  return median(all);
}

bool measure(Communicator& ranks, ThreadPool& pool, size_t bytes) {
  const size_t count = bytes / 4;
  const Collective what{Collective::Kind::kAllReduce, "bench", "f32 sum", 4, count, sum, 0};
  const int runs = bytes <= (size_t{64} << 10) ? 5'000 : bytes <= (size_t{1} << 20) ? 300 : 15;
  const std::shared_ptr<std::byte[]> shared = ranks.allocate(bytes);
  std::vector<float> heap(count);
  const auto fill = [&](float* data) {
    for (size_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(i % 1000) + static_cast<float>(ranks.rank());
  };
  const int n = ranks.world();
  bool good = true;
  const auto reduced = [&](float* data) {
    return time_of(
        ranks, pool, runs, [&] { fill(data); },
        [&] { run_collective(ranks, what, reinterpret_cast<std::byte*>(data), nullptr, pool); });
  };
  const auto check = [&](const float* data) {
    for (size_t i = 0; i < count; ++i)
      good = good && data[i] == static_cast<float>(i % 1000) * static_cast<float>(n) +
                                    static_cast<float>(n * (n - 1) / 2);
  };
  auto* registered = reinterpret_cast<float*>(shared.get());
  const double in_place = reduced(registered);
  check(registered);
  const double from_heap = reduced(heap.data());
  check(heap.data());
  auto* own = reinterpret_cast<std::byte*>(heap.data());
  const std::byte* const twice[] = {own, own};
  const double changed = time_of(
      ranks, pool, runs, [&] { fill(heap.data()); }, [&] { sum(own, twice, 2, count); });
  if (ranks.rank() == 0) {
    std::printf(
        "{\"ranks\": %d, \"bytes\": %zu, \"registered_us\": %.2f, \"heap_us\": %.2f, \"bound_us\": %.2f, "
        "\"registered_share\": %.2f}\n",
        n, bytes, in_place, from_heap, changed, changed / in_place);
    std::fflush(stdout);
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const int world = argc > 1 ? std::atoi(argv[1]) : 2;
  std::vector<size_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {8, 4 << 10, 64 << 10, 1 << 20, 25 << 20, 128 << 20};
  SharedSegments segments = make_shared_segments(world);
  for (int rank = 0; rank < world; ++rank) {
    if (::fork() != 0) continue;
    const std::shared_ptr<Communicator> ranks = shm_communicator(segments, rank, world);
    close_segments(segments);
    ThreadPool pool(std::max(1, default_threads() / world));
    bool good = true;
    for (const size_t bytes : sizes) good = measure(*ranks, pool, bytes) && good;
    return good ? 0 : 1;
  }
  bool good = true;
  for (int rank = 0; rank < world; ++rank) {
    int status = 1;
    ::wait(&status);
    good = good && status == 0;
  }
  return good ? 0 : 1;
}
