// What the machine can do at most, measured: the limits that benchmarks are held against.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace espalier {

// Multiply-adds of independent f32 vectors in registers, `rounds` times; the result only keeps the work from
// being dropped.
struct FmaProbe {
  int64_t flops_per_round;
  float (*run)(int64_t rounds);
};
extern const FmaProbe fma_probe_portable, fma_probe_avx2, fma_probe_avx512;
const FmaProbe& fma_probe(Isa isa);

struct Limits {
  double fma_gflops = 0;  // f32 multiply-adds, all threads
  double clock_ghz = 0;   // by a chain of dependent additions, one a cycle
  double triad_gbs = 0;   // a = b + s c over arrays far larger than caches, 12 bytes an element, all threads
};
// About half a second.
Limits probe_limits();

}  // namespace espalier
