// The probes of arithmetic and of streams: included by files of one instruction set, which define Vector and
// kVectors.
#pragma once

#include "kernels/probe.h"
#include "kernels/unroll.h"

namespace espalier {
namespace {

// Numbers between 1/2 and 1 whose bits look random.
Vector random_vector(uint32_t& state) {
  Vector out;
  for (int lane = 0; lane < kLanes; ++lane) {
    state = state * 1664525u + 1013904223u;
    out[lane] = 0.5f + static_cast<float>(state >> 8) * 0x1p-25f;
  }
  return out;
}

// Random mantissas throughout: a core clocks higher when its multipliers always see the same. What one round
// does to a sum the next one undoes, so that sums stay where they are.
// Every loop over the sums is unrolled, or they would live in memory.
float run_fma(int64_t rounds) {
  uint32_t state = 1;
  Vector sums[kVectors];
  ESPALIER_UNROLL
  for (int i = 0; i < kVectors; ++i) sums[i] = random_vector(state);
  const Vector factor = random_vector(state), term = random_vector(state);
  const Vector factors[2] = {factor, 1.0f / factor}, terms[2] = {term, -term / factor};
  for (int64_t round = 0; round < rounds; round += 2) {
    ESPALIER_UNROLL
    for (int half = 0; half < 2; ++half) {
      ESPALIER_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        sums[i] = fused(sums[i], factors[half], terms[half]);
        asm volatile("" : ESPALIER_REGISTER(sums[i]));
      }
    }
  }
  Vector total = sums[0];
  ESPALIER_UNROLL
  for (int i = 1; i < kVectors; ++i) total += sums[i];
  float out = 0;
  for (int lane = 0; lane < kLanes; ++lane) out += total[lane];
  return out;
}

void run_triad(float* to, const float* from, const float* other, int64_t n) {
  const Vector factor = Vector{} + 3.0f;
  for (int64_t i = 0; i < n; i += kLanes) {
    Vector a, b;
    __builtin_memcpy(&a, from + i, sizeof a);
    __builtin_memcpy(&b, other + i, sizeof b);
    a = fused(factor, b, a);
    __builtin_memcpy(to + i, &a, sizeof a);
  }
}

void run_stream_4r3w(float* a, float* b, float* c, const float* d, int64_t n) {
  const Vector factor = Vector{} + 0.5f;
  for (int64_t i = 0; i < n; i += kLanes) {
    Vector x, y, z, w;
    __builtin_memcpy(&x, a + i, sizeof x);
    __builtin_memcpy(&y, b + i, sizeof y);
    __builtin_memcpy(&z, c + i, sizeof z);
    __builtin_memcpy(&w, d + i, sizeof w);
    y = fused(factor, y, w);
    z = fused(factor, z, w);
    x = fused(factor, x, y + z);
    __builtin_memcpy(a + i, &x, sizeof x);
    __builtin_memcpy(b + i, &y, sizeof y);
    __builtin_memcpy(c + i, &z, sizeof z);
  }
}

constexpr int64_t kFlops = int64_t{2} * kVectors * kLanes;

}  // namespace
}  // namespace espalier
