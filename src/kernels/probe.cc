#include "kernels/probe.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/thread_pool.h"

namespace espalier {
namespace {

double seconds_of(auto work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The best of some rounds: a limit is what nothing disturbed.
double best_seconds(int rounds, auto work) {
  double best = seconds_of(work);
  for (int i = 1; i < rounds; ++i) best = std::min(best, seconds_of(work));
  return best;
}

volatile float sink;

double measure_fma(int threads) {
  const FmaProbe& probe = fma_probe(current_isa());
  constexpr int64_t kRounds = 400000;
  const double seconds = best_seconds(
      5, [&] { thread_pool().parallel_for(threads, [&](int64_t) { sink = probe.run(kRounds); }); });
  return static_cast<double>(probe.flops_per_round * kRounds * threads) / seconds * 1e-9;
}

double measure_clock() {
  constexpr int64_t kAdditions = 40000000;
  const double seconds = best_seconds(5, [] {
    uint64_t value = 1;
    for (int64_t i = 0; i < kAdditions; ++i) {
      value += 3;
      asm volatile("" : "+r"(value));
    }
    sink = static_cast<float>(value);
  });
  return static_cast<double>(kAdditions) / seconds * 1e-9;
}

double measure_triad(int threads) {
  constexpr int64_t kElements = int64_t{1} << 24;
  std::vector<float> a(kElements), b(kElements, 1), c(kElements, 2);
  const int64_t chunk = kElements / threads;
  const double seconds = best_seconds(4, [&] {
    thread_pool().parallel_for(threads, [&](int64_t part) {
      float* to = a.data() + part * chunk;
      const float *from = b.data() + part * chunk, *other = c.data() + part * chunk;
      for (int64_t i = 0; i < chunk; ++i) to[i] = from[i] + 3.0f * other[i];
    });
  });
  sink = a[1];
  return static_cast<double>(12 * chunk * threads) / seconds * 1e-9;
}

}  // namespace

const FmaProbe& fma_probe(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return fma_probe_avx512;
  if (isa == Isa::kAvx2) return fma_probe_avx2;
#endif
  (void)isa;
  return fma_probe_portable;
}

Limits probe_limits() {
  const int threads = thread_pool().threads();
  return {measure_fma(threads), measure_clock(), measure_triad(threads)};
}

}  // namespace espalier
