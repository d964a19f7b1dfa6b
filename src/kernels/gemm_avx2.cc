#include <immintrin.h>

#include <cstdint>

namespace espalier {
namespace {

struct Vector {
  static constexpr int64_t kWidth = 8;
  using Mask = __m256i;
  static Mask mask_of(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vector zero() { return {_mm256_setzero_ps()}; }
  static Vector load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Vector load(const float* p, Mask mask) { return {_mm256_maskload_ps(p, mask)}; }
  static Vector broadcast(float x) { return {_mm256_set1_ps(x)}; }
  static Vector add(Vector a, Vector b) { return {_mm256_add_ps(a.v, b.v)}; }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  void store(float* p, Mask mask) const { _mm256_maskstore_ps(p, mask, v); }
  __m256 v;
};

}  // namespace
}  // namespace espalier

#include "kernels/gemm_tile.h"

namespace espalier {

constinit const GemmTiles gemm_tiles_avx2[kTileShapes] = {
    {1, 4 * Vector::kWidth, multiply<4, 1>},
    {2, 4 * Vector::kWidth, multiply<4, 1, 2>},
    {6, 2 * Vector::kWidth, multiply<2, 1, 2, 3, 4, 5, 6>},
};

}  // namespace espalier
