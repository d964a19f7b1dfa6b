#include <immintrin.h>

#include <cstdint>

namespace espalier {
namespace {

struct Vector {
  static constexpr int64_t kWidth = 16;
  using Mask = __mmask16;
  static Mask mask_of(int64_t n) { return static_cast<Mask>((1u << n) - 1u); }
  static Vector zero() { return {_mm512_setzero_ps()}; }
  static Vector load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vector load(const float* p, Mask mask) { return {_mm512_maskz_loadu_ps(mask, p)}; }
  static Vector broadcast(float x) { return {_mm512_set1_ps(x)}; }
  static Vector add(Vector a, Vector b) { return {_mm512_add_ps(a.v, b.v)}; }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  void store(float* p, Mask mask) const { _mm512_mask_storeu_ps(p, mask, v); }
  __m512 v;
};

}  // namespace
}  // namespace espalier

#include "kernels/gemm_tile.h"

namespace espalier {

constinit const GemmTiles gemm_tiles_avx512[kTileShapes] = {
    {1, 8 * Vector::kWidth, multiply<8, 1>},
    {3, 4 * Vector::kWidth, multiply<4, 1, 2, 3>},
    {14, 2 * Vector::kWidth, multiply<2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>},
};

}  // namespace espalier
