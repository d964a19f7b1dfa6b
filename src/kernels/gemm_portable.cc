#include <cstdint>

namespace espalier {
namespace {

struct Vector {
  static constexpr int64_t kWidth = 4;
  using Mask = int64_t;
  static Mask mask_of(int64_t n) { return n; }
  static Vector zero() { return {}; }
  static Vector load(const float* p) { return {{p[0], p[1], p[2], p[3]}}; }
  static Vector load(const float* p, Mask n) {
    Vector out = {};
    for (int64_t i = 0; i < n; ++i) out.v[i] = p[i];
    return out;
  }
  static Vector broadcast(float x) { return {{x, x, x, x}}; }
  static Vector add(Vector a, Vector b) {
    for (int i = 0; i < kWidth; ++i) a.v[i] += b.v[i];
    return a;
  }
  static Vector multiply_add(Vector a, Vector b, Vector c) {
    for (int i = 0; i < kWidth; ++i) c.v[i] += a.v[i] * b.v[i];
    return c;
  }
  void store(float* p) const {
    for (int i = 0; i < kWidth; ++i) p[i] = v[i];
  }
  void store(float* p, Mask n) const {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  float v[kWidth];
};

}  // namespace
}  // namespace espalier

#include "kernels/gemm_tile.h"

namespace espalier {

constinit const GemmTiles gemm_tiles_portable[kTileShapes] = {
    {1, 4 * Vector::kWidth, multiply<4, 1>},
    {2, 4 * Vector::kWidth, multiply<4, 1, 2>},
    {4, 2 * Vector::kWidth, multiply<2, 1, 2, 3, 4>},
};

}  // namespace espalier
