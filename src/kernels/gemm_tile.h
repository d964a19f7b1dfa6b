// The register tile, compiled once for each instruction set: included by gemm_<isa>.cc alone, which defines
// Vector (kWidth floats; load and store of the first n; broadcast; multiply_add).
#pragma once

#include "kernels/gemm.h"
#include "kernels/unroll.h"

namespace espalier {
namespace {

// Every loop over accumulators is unrolled, or they would live in memory.
// Rows x Vectors accumulators; the last vector holds `tail` columns. ByDepth: a row of A follows the other in
// memory, else its terms do; a stride that is known leaves the address arithmetic to the load.
// Whole: no column is missing, and nothing is masked: a masked load would take an arithmetic port, and a
// masked store is slow on some processors.
template <int Rows, int Vectors, bool ByDepth, bool Whole>
void tile(const TileProduct& p) {
  const int64_t tail = p.columns - (Vectors - 1) * Vector::kWidth;
  const Vector::Mask mask = Vector::mask_of(tail);
  Vector sum[Rows][Vectors];
  ESPALIER_UNROLL
  for (int i = 0; i < Rows; ++i) {
    ESPALIER_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[i][j] = Vector::zero();
  }
  const float* b = p.b;
  const int64_t a_row = ByDepth ? 1 : p.a_row, a_depth = ByDepth ? p.a_depth : 1, b_row = p.b_row;
  // One address serves some rows, or there would be more strides than registers.
  constexpr int kGroup = ByDepth ? Rows : 4, kGroups = (Rows + kGroup - 1) / kGroup;
  for (const Segment* segment = p.segments; segment < p.segments + p.segment_count; ++segment) {
    const float* a[kGroups];
    ESPALIER_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      a[g] = p.a + segment->offset + g * kGroup * a_row;
      asm("" : "+r"(a[g]));
    }
    for (int64_t k = 0; k < segment->length; ++k, b += b_row) {
      Vector right[Vectors];
      for (int j = 0; j < Vectors - 1; ++j) right[j] = Vector::load(b + j * Vector::kWidth);
      const float* last = b + (Vectors - 1) * Vector::kWidth;
      right[Vectors - 1] = Whole ? Vector::load(last) : Vector::load(last, mask);
      ESPALIER_UNROLL
      for (int i = 0; i < Rows; ++i) {
        const Vector left = Vector::broadcast(a[i / kGroup][i % kGroup * a_row]);
        ESPALIER_UNROLL
        for (int j = 0; j < Vectors; ++j) sum[i][j] = Vector::multiply_add(left, right[j], sum[i][j]);
      }
      ESPALIER_UNROLL
      for (int g = 0; g < kGroups; ++g) a[g] += a_depth;
    }
  }
  float* c = p.c;
  const int64_t c_row = p.c_row;
  const bool accumulate = p.accumulate;
  ESPALIER_UNROLL
  for (int i = 0; i < Rows; ++i, c += c_row) {
    ESPALIER_UNROLL
    for (int j = 0; j < Vectors; ++j) {
      float* to = c + j * Vector::kWidth;
      if (Whole || j < Vectors - 1) {
        (accumulate ? Vector::add(Vector::load(to), sum[i][j]) : sum[i][j]).store(to);
      } else {
        (accumulate ? Vector::add(Vector::load(to, mask), sum[i][j]) : sum[i][j]).store(to, mask);
      }
    }
  }
}

template <int Vectors, int... Rows>
void multiply_rows(const TileProduct& p) {
  using Function = void (*)(const TileProduct&);
  static constexpr Function kTiles[2][2][sizeof...(Rows)] = {
      {{tile<Rows, Vectors, false, false>...}, {tile<Rows, Vectors, false, true>...}},
      {{tile<Rows, Vectors, true, false>...}, {tile<Rows, Vectors, true, true>...}}};
  kTiles[p.a_row == 1][p.columns == Vectors * Vector::kWidth][p.rows - 1](p);
}

// The tiles of up to `Vectors` vectors of columns; no more are used than there are columns.
template <int Vectors, int... Rows>
void multiply(const TileProduct& p) {
  if constexpr (Vectors > 1) {
    if (p.columns <= (Vectors - 1) * Vector::kWidth) return multiply<Vectors - 1, Rows...>(p);
  }
  multiply_rows<Vectors, Rows...>(p);
}

}  // namespace
}  // namespace espalier
