// What the machine can do at most, measured: the limits that benchmarks are held against.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace espalier {

struct Probe {
  // Multiply-adds of independent f32 vectors in registers, `rounds` times; the result only keeps the work
  // from being dropped.
  int64_t flops_per_round;
  float (*run)(int64_t rounds);
  // to = from + 3 other; n is a multiple of 16.
  void (*triad)(float* to, const float* from, const float* other, int64_t n);
};
extern const Probe probe_portable, probe_avx2, probe_avx512;
const Probe& probe(Isa isa);

struct Limits {
  double fma_gflops = 0;  // f32 multiply-adds, all threads
  double clock_ghz = 0;   // by a chain of dependent multiplications, three cycles each
  double triad_gbs = 0;   // a = b + s c over arrays far larger than caches, 12 bytes an element, all threads
  double cache_gbs = 0;   // the same over arrays that lie in each core's second cache
};
// About half a second.
Limits probe_limits();

}  // namespace espalier
