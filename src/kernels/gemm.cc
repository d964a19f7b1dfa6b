#include "kernels/gemm.h"

#include <algorithm>

namespace espalier {
namespace {

constexpr int64_t kMaxTileRows = 16;

}  // namespace

const GemmTiles& gemm_tiles(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return gemm_tiles_avx512;
  if (isa == Isa::kAvx2) return gemm_tiles_avx2;
#endif
  (void)isa;
  return gemm_tiles_portable;
}

void Gemm::choose(const GemmTiles& with) {
  tiles = &with;
  // Rows far apart in memory fall into few sets of a cache; packing pays when they are read often.
  const bool b_rows = !b_depth.table && !b_column.table && (b_column.stride == 1 || b_column.count == 1);
  pack_b = !b_rows || (b_depth.stride > 256 && rows() > 2 * tiles->rows);
  const bool a_strided = !a_row.table && !a_depth.table;
  const bool a_near = a_row.stride == 1 || a_depth.stride == 1 || rows() == 1 || depth() == 1;
  pack_a = !a_strided || !a_near || (a_row.stride % 256 == 0 && a_row.stride && columns() > tiles->columns);
}

void Gemm::pack(const float* b, float* packed, int64_t first, int64_t last) const {
  const int64_t width = tiles->columns;
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t column = panel * width, used = std::min(width, columns() - column);
    float* out = packed + panel * width * depth();
    if (b_column.stride == 1 && !b_column.table) {
      for (int64_t k = 0; k < depth(); ++k) {
        const float* row = b + b_depth[k] + column;
        for (int64_t j = 0; j < used; ++j) out[k * width + j] = row[j];
      }
      continue;
    }
    // Columns are far apart: walk some rows of each so that a cache line is used up.
    constexpr int64_t kStrip = 16;
    for (int64_t strip = 0; strip < depth(); strip += kStrip) {
      const int64_t end = std::min(strip + kStrip, depth());
      for (int64_t j = 0; j < used; ++j) {
        const float* from = b + b_column[column + j];
        for (int64_t k = strip; k < end; ++k) out[k * width + j] = from[b_depth[k]];
      }
    }
  }
}

void Gemm::multiply(const float* a, const float* b, const float* packed, float* c, int64_t first_row,
                    int64_t last_row, int64_t first_panel, int64_t last_panel) const {
  alignas(64) float a_tile[kMaxTileRows * kDepthBlock];
  const int64_t width = tiles->columns, height = tiles->rows;
  int64_t from = 0;
  do {
    const int64_t length = std::min(kDepthBlock, depth() - from);
    for (int64_t row = first_row; row < last_row; row += height) {
      TileProduct product;
      product.rows = std::min(height, last_row - row);
      product.depth = length;
      product.accumulate = from > 0;
      product.c_row = columns();
      if (pack_a) {
        for (int64_t i = 0; i < product.rows; ++i) {
          const float* source = a + a_row[row + i];
          for (int64_t k = 0; k < length; ++k) a_tile[k * product.rows + i] = source[a_depth[from + k]];
        }
        product.a = a_tile;
        product.a_row = 1;
        product.a_depth = product.rows;
      } else {
        product.a = a + a_row[row] + a_depth[from];
        product.a_row = a_row.stride;
        product.a_depth = a_depth.stride;
      }
      for (int64_t panel = first_panel; panel < last_panel; ++panel) {
        const int64_t column = panel * width;
        product.columns = std::min(width, columns() - column);
        product.b = pack_b ? packed + panel * width * depth() + from * width : b + b_depth[from] + column;
        product.b_row = pack_b ? width : b_depth.stride;
        product.c = c + row * columns() + column;
        tiles->multiply(product);
      }
    }
    from += kDepthBlock;
  } while (from < depth());
}

}  // namespace espalier
