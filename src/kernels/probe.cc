#include "kernels/probe.h"

#include <algorithm>
#include <atomic>
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

std::atomic<float> sink;

double measure_fma(int threads) {
  const Probe& probe = espalier::probe(current_isa());
  constexpr int64_t kRounds = 400000;
  const double seconds = best_seconds(
      8, [&] { thread_pool().parallel_for(threads, [&](int64_t) { sink = probe.run(kRounds); }); });
  return static_cast<double>(probe.flops_per_round * kRounds * threads) / seconds * 1e-9;
}

double measure_clock() {
  constexpr int64_t kProducts = 15000000;
  constexpr double kCycles = 3;  // of a multiplication of 64-bit integers, on every x86 of the last ten years
  const double seconds = best_seconds(5, [] {
    uint64_t value = 3;
    for (int64_t i = 0; i < kProducts; ++i) {
      value *= value;
      asm volatile("" : "+r"(value));
    }
    sink = static_cast<float>(value);
  });
  return kCycles * static_cast<double>(kProducts) / seconds * 1e-9;
}

// a = b + s c on arrays of `elements` for each thread, `rounds` times between two looks at the clock.
double measure_triad(int threads, int64_t elements, int64_t rounds) {
  const auto triad = probe(current_isa()).triad;
  std::vector<std::vector<float>> arrays;
  for (int i = 0; i < 3 * threads; ++i) arrays.emplace_back(elements, static_cast<float>(i));
  const double seconds = best_seconds(4, [&] {
    thread_pool().parallel_for(threads, [&](int64_t thread) {
      std::vector<float>* own = arrays.data() + 3 * thread;
      for (int64_t i = 0; i < rounds; ++i) triad(own[0].data(), own[1].data(), own[2].data(), elements);
    });
  });
  sink = arrays[0][1];
  return static_cast<double>(12 * elements * rounds * threads) / seconds * 1e-9;
}

}  // namespace

const Probe& probe(Isa isa) { return ESPALIER_BY_ISA(probe, isa); }

Limits probe_limits() {
  const int threads = thread_pool().threads();
  return {measure_fma(threads), measure_clock(),
          measure_triad(threads, (int64_t{1} << 24) / threads / 16 * 16, 1),
          measure_triad(threads, int64_t{1} << 16, 200)};
}

}  // namespace espalier
