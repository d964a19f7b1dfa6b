// What the machine can do at most, measured: the limits that benchmarks are held against.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace espalier {

struct Probe {
  // Multiply-adds of independent f32 vectors of random numbers in registers, `rounds` times, an even number;
  // the result only keeps the work from being dropped.
  int64_t flops_per_round;
  float (*run)(int64_t rounds);
  // Of one core that begins two vector multiply-adds a cycle (or a multiplication and an addition).
  int64_t flops_per_cycle;
  // to = from + 3 other; n is a multiple of 16.
  void (*triad)(float* to, const float* from, const float* other, int64_t n);
  // An optimizer's stream: reads four arrays and writes three of them. n is a multiple of 16.
  void (*stream_4r3w)(float* a, float* b, float* c, const float* d, int64_t n);
};
extern const Probe probe_portable, probe_avx2, probe_avx512;
const Probe& probe(Isa isa);

struct Limits {
  double fma_gflops = 0;  // f32 multiply-adds, all threads
  // Tiles of bf16 on random data (zeros would be a fifth faster) from the first cache, all threads; 0: no
  // tiles.
  double bf16_gflops = 0;
  int64_t flops_per_cycle = 0;  // of one thread, as Probe says
  double clock_ghz = 0;         // by a chain of dependent multiplications, three cycles each
  double triad_gbs = 0;  // a = b + s c over arrays far larger than caches, 12 bytes an element, all threads
  double stream_4r3w_gbs = 0;  // four such arrays read, three written, 28 bytes an element, all threads
  double cache_gbs = 0;        // the triad over arrays that lie in each core's second cache

  // The probe against what `threads` cores should do at that clock.
  double fma_of_cycles(int threads) const {
    return clock_ghz > 0 ? fma_gflops / (static_cast<double>(flops_per_cycle * threads) * clock_ghz) : 0;
  }
  // Below this share threads had no core of their own, or cores have half the units.
  static constexpr double kDisturbed = 0.7;
};
// Each limit is the best of many short rounds, which take turns: a neighbour, or two threads on one core,
// would have to last for all of them. Half a second; two when they seem disturbed. The four arrays in memory
// are of `bytes_in_memory` together: a last cache of a shared machine holds what is smaller.
inline constexpr int64_t kProbedBytes = int64_t{1} << 28;
Limits probe_limits(int64_t bytes_in_memory = kProbedBytes);

}  // namespace espalier
