#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

// Below this many multiplications a product is done before a helper could begin.
constexpr int64_t kParallelWork = int64_t{1} << 17;
// Multiplications of one task, about, and the tasks that are enough for any number of threads.
constexpr int64_t kTaskWork = int64_t{1} << 18, kMostTasks = 64;
// Tiles of a task that use what the first of them brought into the cache.
constexpr int64_t kTaskTiles = 4;
// Floats of B under one block of the depth that stay in a second cache beside the rest.
constexpr int64_t kCachedB = int64_t{1} << 18;
// Tiles of A that are copied together, so that a panel of B comes into the first cache once for all of them.
constexpr int64_t kCopiedTiles = 5;
// Floats of B that stay in the first cache beside a tile of A and one of C.
constexpr int64_t kFirstCache = int64_t{1} << 13;
constexpr int64_t kCacheLine = 16;

// Floats of one task that adds partial products, and of all partial products.
constexpr int64_t kSumChunk = int64_t{1} << 11;
constexpr int64_t kMostPartial = int64_t{1} << 17;

}  // namespace

const GemmTiles& gemm_tiles(Isa isa, int64_t rows) {
  const GemmTiles* shapes = ESPALIER_BY_ISA(gemm_tiles, isa);
  int shape = 0;
  while (shape + 1 < kTileShapes && rows > shapes[shape].rows) ++shape;
  return shapes[shape];
}

void run_epilogue(const Epilogue& epilogue, int64_t first_element, int64_t columns, int64_t row,
                  int64_t last_row, int64_t column, int64_t last_column) {
  if (!epilogue.run) return;
  const int64_t first = first_element + row * columns, last = first_element + last_row * columns;
  if (last_column - column == columns) return epilogue(first, last);
  for (int64_t line = first; line < last; line += columns) epilogue(line + column, line + last_column);
}

IndexMap map_of(const std::vector<int64_t>& offsets) {
  IndexMap map{static_cast<int64_t>(offsets.size()), offsets.size() > 1 ? offsets[1] - offsets[0] : 0,
               nullptr};
  for (int64_t i = 0; i < map.count; ++i) {
    if (offsets[static_cast<size_t>(i)] != i * map.stride) map.table = offsets.data();
  }
  return map;
}

std::vector<int64_t> sums_of(const std::vector<std::vector<int64_t>>& lists) {
  std::vector<int64_t> out{0};
  for (const std::vector<int64_t>& list : lists) {
    std::vector<int64_t> next;
    next.reserve(out.size() * list.size());
    for (const int64_t base : out) {
      for (const int64_t offset : list) next.push_back(base + offset);
    }
    out = std::move(next);
  }
  return out;
}
std::vector<int64_t> multiples(int64_t count, int64_t step) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(i * step);
  return out;
}

Runs runs_of(const IndexMap& map) {
  if (!map.table || map.count < 2) return {std::max<int64_t>(map.count, 1), map.stride};
  const int64_t stride = map.table[1] - map.table[0];
  int64_t length = 2;
  while (length < map.count && map.table[length] - map.table[length - 1] == stride) ++length;
  for (int64_t i = 1; i < map.count; ++i) {
    if (i % length && map.table[i] - map.table[i - 1] != stride) return {1, 1};
  }
  return {length, stride};
}

void Gemm::choose(Isa isa, int64_t batches, bool b_known) {
  const Runs row_runs = runs_of(a_row), depth_runs = runs_of(a_depth);
  const bool by_depth = row_runs.stride == 1 || rows() == 1;
  const bool near = by_depth || depth_runs.stride == 1 || depth() == 1;
  const int64_t far = by_depth ? depth_runs.stride : row_runs.stride;
  // Rows of many tiles that lie in few sets of a cache are copied, and what follows no pattern.
  constexpr int64_t kShortRun = 3;
  const bool short_runs = row_runs.length < std::min(rows(), kShortRun);
  const bool few_sets = !a_row.table && !a_depth.table && far % 256 == 0 && far;
  tiles = &gemm_tiles(isa, rows());
  pack_a = !near || short_runs || (few_sets && columns() > tiles->columns);
  row_run = pack_a ? std::max<int64_t>(rows(), 1) : row_runs.length;
  depth_run = pack_a ? std::max<int64_t>(depth(), 1) : depth_runs.length;
  a_row_stride = by_depth ? 1 : row_runs.stride;
  a_depth_stride = by_depth ? depth_runs.stride : 1;
  tiles = &gemm_tiles(isa, row_run);
  tile_rows = pieces(row_run, pieces(row_run, tiles->rows));
  if (row_run < rows()) {
    // Tiles end where runs end, so that tasks of some tiles do too.
    int64_t even = tiles->rows;
    while (row_run % even) --even;
    if (2 * even >= tile_rows) tile_rows = even;
  }
  const int64_t tile_count = std::max<int64_t>(pieces(rows(), tile_rows), 1);
  // Rows far apart in memory fall into few sets of a cache; packing pays when they are read often.
  const bool b_rows = !b_depth.table && !b_column.table && (b_column.stride == 1 || b_column.count == 1);
  pack_b = !b_rows || (b_known ? panels() > 1 : b_depth.stride > 256 && tile_count > 2);
  const int64_t work = batches * rows() * columns() * depth();
  const int64_t partial = depth_blocks() * rows() * columns();
  split_depth = batches == 1 && depth_blocks() > 1 && 4 * rows() <= depth() && partial <= kMostPartial &&
                work >= chunk_work(kParallelWork);
  // Parts of a split depth are tasks enough, and whole rows of B are read in order.
  const int64_t tasks = split_depth ? 2 : std::clamp<int64_t>(work / chunk_work(kTaskWork), 1, kMostTasks);
  const int64_t wanted = pieces(tasks, split_depth ? 2 : std::max<int64_t>(batches, 1));
  int64_t row_tasks = std::clamp<int64_t>(tile_count / kTaskTiles, 1, wanted);
  // A tile of A that was brought should serve all panels, if they stay in the cache meanwhile.
  const int64_t brought = panels() * tiles->columns * depth_block(depth());
  const int64_t panel_tasks = row_tasks >= 4 ? std::min(panels(), pieces(brought, kCachedB))
                                             : std::clamp<int64_t>(panels(), 1, pieces(wanted, row_tasks));
  blocks_at_once = split_depth || row_tasks < 4 || brought * depth_blocks() <= kCachedB
                       ? depth_blocks()
                       : std::max<int64_t>(kCachedB / 2 / brought, 1);
  if (row_tasks * panel_tasks < std::min<int64_t>(wanted, 4))
    row_tasks = std::min(tile_count, pieces(wanted, panel_tasks));
  task_rows = tile_rows * pieces(tile_count, row_tasks);
  if (row_tasks > 1 && row_run == rows()) {
    // An even number of tasks, each of whole tiles: two threads end together.
    const int64_t share = pieces(rows(), pieces(rows(), 2 * task_rows) * 2);
    tile_rows = pieces(share, pieces(share, tiles->rows));
    task_rows = tile_rows * pieces(share, tile_rows);
  }
  task_panels = std::max<int64_t>(pieces(panels(), panel_tasks), 1);
}

void Gemm::pack(const float* b, float* packed, int64_t first, int64_t last) const {
  const int64_t width = tiles->columns;
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t column = panel * width, used = std::min(width, columns() - column);
    float* out = packed + panel * width * depth();
    if (b_column.stride == 1 && !b_column.table) {
      for (int64_t k = 0; k < depth(); ++k)
        std::memcpy(out + k * width, b + b_depth[k] + column, static_cast<size_t>(used) * sizeof(float));
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

void Gemm::pack_ahead(const void* b, const IndexMap& b_batch, float* packed) {
  for (int64_t batch = 0; batch < b_batch.count; ++batch)
    pack(static_cast<const float*>(b) + b_batch[batch], packed + batch * packed_floats(), 0, panels());
  packed_ahead = packed;
}

void Gemm::copy_rows(const float* a, int64_t first, int64_t last, int64_t from, int64_t length,
                     float* copy) const {
  for (int64_t row = first; row < last; ++row, copy += kTilePitch) {
    const float* source = a + a_row[row];
    if (a_depth.stride == 1 && !a_depth.table) {
      std::memcpy(copy, source + from, static_cast<size_t>(length) * sizeof(float));
    } else {
      for (int64_t k = 0; k < length; ++k) copy[k] = source[a_depth[from + k]];
    }
  }
}

void Gemm::multiply(const float* a, const float* b, const float* packed, float* c, int64_t first_row,
                    int64_t last_row, int64_t first_panel, int64_t last_panel, int64_t first_block,
                    int64_t blocks, bool add) const {
  alignas(64) float copy[kCopiedTiles * kMaxTileRows * kTilePitch];
  const int64_t width = tiles->columns, block = depth_block(depth());
  TileProduct product;
  product.a_row = pack_a ? kTilePitch : a_row_stride;
  product.a_depth = pack_a ? 1 : a_depth_stride;
  product.c_row = columns();
  product.b_row = pack_b ? width : b_depth.stride;
  Segment segments[kLongestDepthBlock];
  product.segments = segments;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t from = (first_block + i) * block, length = std::min(block, depth() - from);
    product.segment_count = 0;
    for (int64_t k = 0; k < length;) {
      const int64_t run = std::min(depth_run - (from + k) % depth_run, length - k);
      segments[product.segment_count++] = {pack_a ? k : a_depth[from + k], run};
      k += run;
    }
    product.accumulate = add || i > 0;
    // Copied rows are near: a panel of B serves them all. Else a row is fetched once for all panels.
    const bool rows_first = pack_a && (last_panel - first_panel) * width * length > kFirstCache;
    const int64_t group_rows = pack_a ? kCopiedTiles * tile_rows : last_row - first_row;
    for (int64_t group = first_row; group < last_row; group += group_rows) {
      const int64_t end = std::min(group + group_rows, last_row);
      if (pack_a) copy_rows(a, group, end, from, length, copy);
      const auto multiply_tile = [&](int64_t row, int64_t panel) {
        const int64_t column = panel * width;
        product.rows = std::min({tile_rows, end - row, row_run - row % row_run});
        product.columns = std::min(width, columns() - column);
        product.a = pack_a ? copy + (row - group) * kTilePitch : a + a_row[row];
        product.b = pack_b ? packed + panel * width * depth() + from * width : b + b_depth[from] + column;
        product.c = c + row * columns() + column;
        // Into the second cache, while the sums run. GCC drops calls of a function that does nothing else.
        for (int64_t i = 0; i < product.rows; ++i) {
          for (int64_t j = 0; j < product.columns; j += kCacheLine)
            __builtin_prefetch(product.c + i * product.c_row + j, 0, 2);
        }
        tiles->multiply(product);
      };
      if (rows_first) {
        for (int64_t panel = first_panel; panel < last_panel; ++panel) {
          for (int64_t row = group; row < end; row += product.rows) multiply_tile(row, panel);
        }
      } else {
        for (int64_t row = group; row < end; row += product.rows) {
          for (int64_t panel = first_panel; panel < last_panel; ++panel) multiply_tile(row, panel);
        }
      }
    }
  }
}

void Gemm::run(ThreadPool& pool, const float* a, const IndexMap& a_batch, const float* b,
               const IndexMap& b_batch, float* workspace, float* c, int64_t batches,
               const Epilogue& epilogue) const {
  const bool parallel = batches * rows() * columns() * depth() >= chunk_work(kParallelWork);
  const float* const packed = packed_ahead ? packed_ahead : workspace;
  float* const partial = workspace + (packed_ahead ? 0 : packed_floats());
  if (pack_b && !packed_ahead) {
    for_each_chunk(pool, batches * panels(), parallel, [&](int64_t i) {
      const int64_t batch = i / panels(), panel = i % panels();
      pack(b + b_batch[batch], workspace + batch * packed_floats(), panel, panel + 1);
    });
  }
  const int64_t size = rows() * columns(), blocks = depth_blocks();
  if (split_depth) {
    const int64_t per_part = row_tasks() * panel_tasks();
    for_each_chunk(pool, depth_parts() * per_part, parallel, [&](int64_t i) {
      const int64_t part = i / per_part, row = i % row_tasks() * task_rows;
      const int64_t panel = i % per_part / row_tasks() * task_panels;
      multiply(a, b, packed, part ? partial + (part - 1) * size : c, row, std::min(row + task_rows, rows()),
               panel, std::min(panel + task_panels, panels()), part ? first_part() + part - 1 : 0,
               part ? 1 : first_part(), false);
    });
    for_each_chunk(pool, pieces(size, kSumChunk), parallel, [&](int64_t chunk) {
      const int64_t first = chunk * kSumChunk, count = std::min(kSumChunk, size - first);
      loop_table().add_arrays(partial + first, size, depth_parts() - 1, c + first, count);
      epilogue(first, first + count);
    });
    return;
  }
  // Rows move on first, so that a thread keeps its panels of B in its cache.
  const int64_t per_batch = row_tasks() * panel_tasks();
  for (int64_t block = 0; block < blocks; block += blocks_at_once) {
    const int64_t step = std::min(blocks_at_once, blocks - block);
    for_each_chunk(pool, batches * per_batch, parallel, [&](int64_t i) {
      const int64_t batch = i / per_batch;
      const int64_t row = i % per_batch % row_tasks() * task_rows,
                    last_row = std::min(row + task_rows, rows());
      const int64_t panel = i % per_batch / row_tasks() * task_panels;
      const int64_t last_panel = std::min(panel + task_panels, panels());
      multiply(a + a_batch[batch], b + b_batch[batch], packed + batch * packed_floats(), c + batch * size,
               row, last_row, panel, last_panel, block, step, block > 0);
      if (block + step < blocks) return;
      run_epilogue(epilogue, batch * size, columns(), row, last_row, panel * tiles->columns,
                   std::min(last_panel * tiles->columns, columns()));
    });
  }
}

}  // namespace espalier
