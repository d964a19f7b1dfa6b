// Matrix products of f32: the register tiles of each instruction set, and the blocking around them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/isa.h"
#include "kernels/kernel.h"

namespace espalier {

// The partition of a sum over k depends on nothing but k: as few blocks as have at most this length, all of
// one length but the last. Each is summed from its first term, then they are added up in order. So every way
// through the blocking gives the same bits.
inline constexpr int64_t kLongestDepthBlock = 256;
inline int64_t depth_block(int64_t depth) {
  const int64_t blocks = (depth + kLongestDepthBlock - 1) / kLongestDepthBlock;
  return blocks ? (depth + blocks - 1) / blocks : 1;
}

// Terms of A that follow each other at one distance, the first of them at `offset`.
struct Segment {
  int64_t offset, length;
};
// One register tile: for i < rows, j < columns
//   c[i * c_row + j] = (accumulate ? c[...] : 0) + sum over the terms of all segments in turn, counted by k,
//   of a[offset + i * a_row + (term of its segment) * a_depth] * b[k * b_row + j].
// REQUIRES: a_row or a_depth is 1.
struct TileProduct {
  int64_t rows, columns;
  const Segment* segments;
  int64_t segment_count;
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
// By rising rows: fewer rows leave registers for more columns.
inline constexpr int kTileShapes = 3;
extern const GemmTiles gemm_tiles_portable[kTileShapes], gemm_tiles_avx2[kTileShapes],
    gemm_tiles_avx512[kTileShapes];
// The tiles for a product with this many rows.
const GemmTiles& gemm_tiles(Isa isa, int64_t rows);
inline constexpr int64_t kMaxTileRows = 16;

// How many pieces a whole is cut into; the last may be shorter.
inline int64_t pieces(int64_t whole, int64_t piece) { return (whole + piece - 1) / piece; }

// How the indices of one axis group map to elements: i * stride, or table[i].
struct IndexMap {
  int64_t count = 0, stride = 0;
  const int64_t* table = nullptr;
  int64_t operator[](int64_t i) const { return table ? table[i] : i * stride; }
};
// All sums of one offset of each list, the last list's running fastest.
std::vector<int64_t> sums_of(const std::vector<std::vector<int64_t>>& lists);
// 0, step, 2 step, up to `count` offsets.
std::vector<int64_t> multiples(int64_t count, int64_t step);
// The map of offsets that begin with 0; it points to them unless they are evenly spaced.
IndexMap map_of(const std::vector<int64_t>& offsets);
// The map as runs of one length, whose elements follow each other at one distance.
struct Runs {
  int64_t length, stride;
};
Runs runs_of(const IndexMap& map);

// From row to row of a copied tile of A. A multiple of 4096 bytes would put them into few sets of the cache.
inline constexpr int64_t kTilePitch = kLongestDepthBlock + 16;

// The epilogue of a row-major C of `columns`, whose element 0 is `first_element`: over rows [row, last_row),
// columns [column, last_column).
void run_epilogue(const Epilogue& epilogue, int64_t first_element, int64_t columns, int64_t row,
                  int64_t last_row, int64_t column, int64_t last_column);

// One product C = A B with row-major C; `packed` holds packed_floats() floats when pack_b is set.
struct Gemm {
  IndexMap a_row, a_depth, b_depth, b_column;
  // Rows (terms) of A that follow each other at one distance: all of them, or of a table runs of this length.
  int64_t row_run = 1, depth_run = 1, a_row_stride = 1, a_depth_stride = 1;

  const GemmTiles* tiles = nullptr;
  bool pack_a = false, pack_b = false;
  const float* packed_ahead = nullptr;  // all of B, packed before; null: run() packs
  // Parts of the depth are tasks of their own, into partial products that are added in order: for few rows of
  // much depth. A thread then meets the rows of B that it wrote when their gradient, by rows, updated them.
  bool split_depth = false;
  // All rows go through these blocks of the depth before the next ones: B's part stays in a cache.
  int64_t blocks_at_once = 1;
  int64_t tile_rows = 1;                   // rows are shared out evenly over tiles
  int64_t task_rows = 1, task_panels = 1;  // of one task

  // Decides what is packed, from shapes and strides alone, and what a task is: one of `batches` products.
  // `b_known`: B can be packed once for all runs.
  void choose(Isa isa, int64_t batches = 1, bool b_known = false);
  int64_t rows() const { return a_row.count; }
  int64_t columns() const { return b_column.count; }
  int64_t depth() const { return a_depth.count; }
  int64_t panels() const { return (columns() + tiles->columns - 1) / tiles->columns; }
  int64_t depth_blocks() const {
    return std::max<int64_t>(1, (depth() + depth_block(depth()) - 1) / depth_block(depth()));
  }
  // Of a split depth: the first part has half of the blocks, which add up in place; every other block is a
  // part.
  int64_t first_part() const { return std::max<int64_t>(depth_blocks() / 2, 1); }
  int64_t depth_parts() const { return split_depth ? depth_blocks() - first_part() + 1 : 1; }
  int64_t packed_floats() const { return pack_b ? panels() * tiles->columns * depth() : 0; }
  int64_t workspace_floats(int64_t batches) const {
    return (packed_ahead ? 0 : batches * packed_floats()) + (depth_parts() - 1) * rows() * columns();
  }
  int64_t row_tasks() const { return (rows() + task_rows - 1) / task_rows; }
  int64_t panel_tasks() const { return (panels() + task_panels - 1) / task_panels; }

  // Packs B for all runs, into `packed`: packed_floats() for each batch.
  void pack_ahead(const void* b, const IndexMap& b_batch, float* packed);
  // Panels [first, last) of B.
  void pack(const float* b, float* packed, int64_t first, int64_t last) const;
  // Terms [from, from + length) of rows [first, last) of A, kTilePitch apart.
  void copy_rows(const float* a, int64_t first, int64_t last, int64_t from, int64_t length,
                 float* copy) const;
  // Rows [first_row, last_row) of C, columns of panels [first_panel, last_panel), terms of `blocks` blocks of
  // the depth from `first_block` on; added to what C has, with `add`.
  void multiply(const float* a, const float* b, const float* packed, float* c, int64_t first_row,
                int64_t last_row, int64_t first_panel, int64_t last_panel, int64_t first_block,
                int64_t blocks, bool add) const;
  // All of `batches` products, C after C, on all threads of the pool where that pays; `epilogue` goes over C
  // as its parts are done.
  void run(ThreadPool& pool, const float* a, const IndexMap& a_batch, const float* b, const IndexMap& b_batch,
           float* workspace, float* c, int64_t batches, const Epilogue& epilogue) const;
};

}  // namespace espalier
