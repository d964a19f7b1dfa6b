// Matrix products of f32: the register tiles of each instruction set, and the blocking around them.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace espalier {

// The partition of a sum over k depends on nothing but k: blocks of this length, each summed from its first
// term, then added up in order. So every way through the blocking gives the same bits.
inline constexpr int64_t kDepthBlock = 256;

// One register tile: for i < rows, j < columns
//   c[i * c_row + j] = (accumulate ? c[...] : 0) + sum over k < depth of a[i * a_row + k * a_depth] * b[k *
//   b_row + j].
struct TileProduct {
  int64_t rows, columns, depth;
  const float* a;
  int64_t a_row, a_depth;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool accumulate;
};
struct GemmTiles {
  int64_t rows, columns;  // the largest tile
  void (*multiply)(const TileProduct& product);
};
extern const GemmTiles gemm_tiles_portable, gemm_tiles_avx2, gemm_tiles_avx512;
const GemmTiles& gemm_tiles(Isa isa);

// How the indices of one axis group map to elements: i * stride, or table[i].
struct IndexMap {
  int64_t count = 0, stride = 0;
  const int64_t* table = nullptr;
  int64_t operator[](int64_t i) const { return table ? table[i] : i * stride; }
};

// One product C = A B with row-major C; `packed` holds packed_floats() floats when pack_b is set.
struct Gemm {
  IndexMap a_row, a_depth, b_depth, b_column;
  const GemmTiles* tiles = nullptr;
  bool pack_a = false, pack_b = false;

  // Decides what is packed, from shapes and strides alone.
  void choose(const GemmTiles& with);
  int64_t rows() const { return a_row.count; }
  int64_t columns() const { return b_column.count; }
  int64_t depth() const { return a_depth.count; }
  int64_t panels() const { return (columns() + tiles->columns - 1) / tiles->columns; }
  int64_t packed_floats() const { return pack_b ? panels() * tiles->columns * depth() : 0; }

  // Panels [first, last) of B.
  void pack(const float* b, float* packed, int64_t first, int64_t last) const;
  // Rows [first_row, last_row) of C, columns of panels [first_panel, last_panel). `first_row` is a multiple
  // of tiles->rows.
  void multiply(const float* a, const float* b, const float* packed, float* c, int64_t first_row,
                int64_t last_row, int64_t first_panel, int64_t last_panel) const;
};

}  // namespace espalier
