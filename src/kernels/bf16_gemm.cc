#include "kernels/bf16_gemm.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "ir/literal.h"

namespace espalier {
namespace {

// Below this many multiplications a product is done before a helper could begin.
constexpr int64_t kTileParallelWork = int64_t{1} << 19;
constexpr int64_t kBlockFloats = kBf16Block * kBf16Block;
// Strips of one task of many rows, the panels that should meet their copy, and those whose sums stay beside
// it in the second cache.
constexpr int64_t kTaskStrips = 8, kFewPanels = 8, kMostPanels = 16;

// What a thread packs and sums in, from its first task on: too much for the storage that every thread begins
// with.
struct alignas(64) Scratch {
  uint16_t strips[kBf16FewStrips * kBf16Block * kBf16Pitch];
  uint16_t panel[kBf16Steps * kBf16Terms * kBf16Block];
  float sums[kTaskStrips * kMostPanels * kBlockFloats];
};
Scratch& scratch() {
  thread_local const Buffer memory = allocate_buffer(sizeof(Scratch));
  return *reinterpret_cast<Scratch*>(memory.get());
}

// Whether `slots` that hold `wanted` things are worth it.
bool mostly(int64_t wanted, int64_t slots) { return 2 * slots <= 3 * wanted; }

// Tiles of rows `stride` apart that have all rows of the map, and others between them and behind.
std::vector<Bf16Rows> cover(const IndexMap& rows, int64_t stride) {
  std::vector<Bf16Rows> out;
  for (int64_t row = 0; row < rows.count;) {
    Bf16Rows tile{rows[row], row, 1};
    int64_t distance = 0;
    while (++row < rows.count) {
      const int64_t next = rows[row] - tile.offset;
      if (next <= distance || next >= kBf16TileRows * stride || next % stride) break;
      distance = next;
      tile.wanted |= 1u << distance / stride;
    }
    out.push_back(tile);
  }
  return out;
}

}  // namespace

void Bf16Gemm::choose() {
  const Runs row_runs = runs_of(a_row), a_terms = runs_of(a_depth), b_terms = runs_of(b_depth),
             column_runs = runs_of(b_column);
  const auto padded = [](int64_t run) { return pieces(run, kBf16Terms) * kBf16Terms; };
  // Terms of a step lie in one run: of A's, or else of B's.
  const auto in_steps = [&](const IndexMap& map, const Runs& runs, int64_t run) {
    return map.count == 1 || (runs.stride == 1 && (!map.table || runs.length % run == 0));
  };
  const auto run_length = [&](const IndexMap& map, const Runs& runs) {
    return !map.table || runs.length % kBf16Terms == 0 || !mostly(runs.length, padded(runs.length))
               ? kBf16Terms
               : runs.length;
  };

  a_order = b_order = Bf16Order::kNone;
  tiles.clear();
  row_stride = rows() == 1 ? 1 : row_runs.stride;
  if (row_stride > 0) tiles = cover(a_row, row_stride);
  const bool covered =
      !tiles.empty() && mostly(pieces(rows(), kBf16TileRows), static_cast<int64_t>(tiles.size()));
  int64_t run = kBf16Terms;
  if (covered && row_stride == 1) {
    a_order = Bf16Order::kOthers;
  } else if (in_steps(a_depth, a_terms, run_length(a_depth, a_terms))) {
    a_order = Bf16Order::kTerms;
    run = run_length(a_depth, a_terms);
  }
  if (columns() == 1 ||
      (column_runs.stride == 1 && (!b_column.table || column_runs.length % kBf16Block == 0))) {
    b_order = Bf16Order::kOthers;
  } else {
    if (a_order == Bf16Order::kOthers) run = run_length(b_depth, b_terms);
    if (in_steps(b_depth, b_terms, run)) b_order = Bf16Order::kTerms;
  }
  choose_steps(run);
  choose_tiles(covered);
  for (int64_t i = 0; i < step_count(); ++i) {
    Bf16Step& step = steps[static_cast<size_t>(i)];
    step.place = in_place ? a_depth[step.term] : i % segment_steps() % packed_steps() * kBf16Terms;
  }
}

// `covered`: the tiles hold all rows, at one distance.
void Bf16Gemm::choose_tiles(bool covered) {
  const bool whole =
      std::all_of(steps.begin(), steps.end(), [](const Bf16Step& step) { return step.count == kBf16Terms; });
  const bool few_sets = row_stride * 2 % 2048 == 0 && panels() > 1;
  // What lies behind a tile's wanted rows must lie before the last row; the last tile ends with it.
  const int64_t last_tile = rows() ? a_row[rows() - 1] - (kBf16TileRows - 1) * row_stride : 0;
  const auto inside = [&](const Bf16Rows& tile) {
    return tile.offset <= last_tile || tile.row == tiles.back().row;
  };
  in_place = a_order == Bf16Order::kTerms && !a_f32 && covered && whole && !few_sets &&
             last_tile >= a_row[0] && std::all_of(tiles.begin(), tiles.end(), inside);
  if (in_place) {
    Bf16Rows& last = tiles.back();
    const int64_t behind = __builtin_clz(last.wanted) - kBf16TileRows;
    last.offset -= behind * row_stride;
    last.wanted <<= behind;
  } else if (a_order != Bf16Order::kOthers) {
    tiles.clear();
    for (int64_t row = 0; row < rows(); row += kBf16TileRows)
      tiles.push_back({0, row, (1u << std::min(kBf16TileRows, rows() - row)) - 1});
  }
}

void Bf16Gemm::choose_steps(int64_t run) {
  steps.clear();
  for (int64_t first = 0; first < depth();) {
    const int64_t left = run % kBf16Terms ? run - first % run : depth() - first;
    steps.push_back({first, std::min(kBf16Terms, left), 0});
    first += steps.back().count;
  }
  if (steps.empty()) steps.push_back({});
}

bool Bf16Gemm::pays() const {
  constexpr int64_t kFewRows = 8, kFewTerms = 8;
  return a_order != Bf16Order::kNone && b_order != Bf16Order::kNone && rows() >= kFewRows &&
         columns() >= kBf16Block / 2 && depth() >= kFewTerms;
}

int64_t Bf16Gemm::segments() const {
  if (!few_rows() || step_count() <= kBf16OneSegment) return 1;
  int64_t segments = 2;
  while (segments < kBf16MostSegments && pieces(step_count(), segments) > kBf16LongestSegment) segments *= 2;
  return segments;
}
int64_t Bf16Gemm::packed_steps() const {
  return pieces(segment_steps(), pieces(segment_steps(), kBf16PackedSteps));
}
int64_t Bf16Gemm::block_steps() const { return pieces(packed_steps(), pieces(packed_steps(), kBf16Steps)); }
bool Bf16Gemm::few_rows() const { return strips() <= kBf16FewStrips; }

size_t Bf16Gemm::workspace_bytes(int64_t batches) const {
  if (!few_rows())
    return packed_ahead ? 0 : static_cast<size_t>(batches * packed_elements()) * sizeof(uint16_t);
  if (step_count() <= block_steps()) return 0;
  return static_cast<size_t>(batches * segments() * block_floats()) * sizeof(float);
}

// One panel of one product's B.
void Bf16Gemm::pack(const void* b, int64_t panel, uint16_t* packed) const {
  bf16_tiles_amx.pack_b({b, b_f32}, b_order, b_depth, b_column, panel * kBf16Block, steps.data(),
                        step_count(), packed + panel * panel_elements());
}

void Bf16Gemm::pack_ahead(const void* b, const IndexMap& b_batch, uint16_t* packed) {
  for (int64_t i = 0; i < b_batch.count * panels(); ++i) {
    const int64_t batch = i / panels();
    pack(Bf16Operand{b, b_f32}.at(b_batch[batch]), i % panels(), packed + batch * packed_elements());
  }
  packed_ahead = packed;
}

struct Bf16Gemm::Call {
  ThreadPool& pool;
  const void* a;
  const IndexMap& a_batch;
  const void* b;
  const IndexMap& b_batch;
  std::byte* workspace;
  void* c;
  int64_t batches;
  const Epilogue& epilogue;
  bool parallel;
};

// Some strips and panels of one product, one segment of its sum.
struct Bf16Gemm::Task {
  Bf16Operand a, b;
  const uint16_t* packed;          // all panels of B, one after the other; null: the task packs what it reads
  float* sums;                     // of its first strip and panel; null: in the thread's scratch
  int64_t sums_strip, sums_panel;  // blocks to the next one's sums; none where they are not kept
  void* c;                         // null: the sums are what is wanted
  int64_t segment, first_strip, last_strip, first_panel, last_panel;
};

// One tile's rows of C.
void Bf16Gemm::store(const float* block, int64_t tile, int64_t panel, void* c) const {
  const Bf16Rows& rows = tiles[static_cast<size_t>(tile)];
  const int64_t column = panel * kBf16Block;
  bf16_tiles_amx.store(
      block + tile % 2 * kBf16TileRows * kBf16Block, rows.wanted, std::min(kBf16Block, columns() - column),
      static_cast<std::byte*>(c) + (rows.row * columns() + column) * (round ? 2 : 4), columns(), round);
}

void Bf16Gemm::run_task(const Task& task) const {
  const Bf16Tiles& amx = bf16_tiles_amx;
  const auto tile_count = static_cast<int64_t>(tiles.size());
  Scratch& own = scratch();
  float* const first_sums = task.sums ? task.sums : own.sums;
  Bf16Strip strips[kBf16FewStrips];
  const auto prepare = [&](int64_t strip, int64_t from, int64_t count) {
    const uint16_t* halves[2] = {};
    for (int64_t half = 0; half < 2 && 2 * strip + half < tile_count; ++half) {
      const Bf16Rows& tile = tiles[static_cast<size_t>(2 * strip + half)];
      if (in_place) {
        halves[half] = static_cast<const uint16_t*>(task.a.data) + tile.offset;
      } else {
        uint16_t* const packed =
            own.strips + (2 * (strip - task.first_strip) + half) * kBf16TileRows * kBf16Pitch;
        amx.pack_a(task.a, a_order, a_row, a_depth, tile, &steps[static_cast<size_t>(from)], count, packed);
        halves[half] = packed;
      }
    }
    strips[strip - task.first_strip] = {halves[0], halves[1], in_place ? row_stride : kBf16Pitch};
  };
  const auto packed_at = [&](int64_t panel, int64_t step) {
    return task.packed + panel * panel_elements() + step * kBf16Terms * kBf16Block;
  };

  const int64_t begin = task.segment * segment_steps(), end = std::min(begin + segment_steps(), step_count());
  for (int64_t first = begin; first < end; first += packed_steps()) {
    const int64_t last = std::min(first + packed_steps(), end);
    for (int64_t strip = task.first_strip; strip < task.last_strip; ++strip)
      prepare(strip, first, last - first);
    for (int64_t panel = task.first_panel; panel < task.last_panel; ++panel) {
      for (int64_t from = first; from < last; from += block_steps()) {
        const Bf16Step* const block = &steps[static_cast<size_t>(from)];
        const int64_t count = std::min(block_steps(), last - from);
        const uint16_t *b = own.panel, *next = nullptr;
        if (task.packed) {
          b = packed_at(panel, from);
          if (!in_place)
            next = from + count < last ? packed_at(panel, from + count) : packed_at(panel + 1, first);
        } else {
          amx.pack_b(task.b, b_order, b_depth, b_column, panel * kBf16Block, block, count, own.panel);
        }
        for (int64_t strip = task.first_strip; strip < task.last_strip; ++strip) {
          const int64_t i = strip - task.first_strip;
          float* const sums =
              first_sums +
              (i * task.sums_strip + (panel - task.first_panel) * task.sums_panel) * kBlockFloats;
          amx.multiply(strips[i], block, count, b, sums, from > begin,
                       next ? next + i * count * kBf16Ahead : nullptr);
          if (!task.c || from + count < end) continue;
          for (int64_t tile = 2 * strip; tile < std::min(2 * strip + 2, tile_count); ++tile)
            store(sums, tile, panel, task.c);
        }
      }
    }
  }
}

// Tasks are segments of the sum, so that a thread meets the rows of B that it wrote when their gradient, by
// rows, updated them; then panels or strips where threads are left.
void Bf16Gemm::run_few_rows(const Call& call) const {
  const int64_t threads = call.parallel ? call.pool.threads() : 1, size = rows() * columns();
  const bool whole = segments() == 1;
  float* const sums = step_count() > block_steps() ? reinterpret_cast<float*>(call.workspace) : nullptr;
  const int64_t wanted = pieces(threads, call.batches * segments());
  const bool by_panels = panels() >= strips();
  const int64_t task_panels = by_panels ? pieces(panels(), std::min(panels(), wanted)) : panels(),
                task_strips = by_panels ? strips() : pieces(strips(), std::min(strips(), wanted));
  const int64_t panel_tasks = pieces(panels(), task_panels), strip_tasks = pieces(strips(), task_strips);
  const auto row_of = [&](int64_t tile) {
    return tile < static_cast<int64_t>(tiles.size()) ? tiles[static_cast<size_t>(tile)].row : rows();
  };
  for_each_chunk(
      call.pool, call.batches * segments() * panel_tasks * strip_tasks, call.parallel, [&](int64_t i) {
        const int64_t panel = i % panel_tasks * task_panels,
                      strip = i / panel_tasks % strip_tasks * task_strips;
        const int64_t segment = i / panel_tasks / strip_tasks % segments(),
                      batch = i / panel_tasks / strip_tasks / segments();
        const int64_t last_strip = std::min(strip + task_strips, strips()),
                      last_panel = std::min(panel + task_panels, panels());
        const int64_t first_block =
            (batch * segments() + segment) * strips() * panels() + strip * panels() + panel;
        void* const c = static_cast<std::byte*>(call.c) + batch * size * (round ? 2 : 4);
        bf16_tiles_amx.begin();
        run_task({{Bf16Operand{call.a, a_f32}.at(call.a_batch[batch]), a_f32},
                  {Bf16Operand{call.b, b_f32}.at(call.b_batch[batch]), b_f32},
                  packed_ahead ? packed_ahead + batch * packed_elements() : nullptr,
                  sums ? sums + first_block * kBlockFloats : nullptr,
                  sums ? panels() : 0,
                  sums ? 1 : 0,
                  whole ? c : nullptr,
                  segment,
                  strip,
                  last_strip,
                  panel,
                  last_panel});
        bf16_tiles_amx.end();
        if (whole) {
          run_epilogue(call.epilogue, batch * size, columns(), row_of(2 * strip), row_of(2 * last_strip),
                       panel * kBf16Block, std::min(last_panel * kBf16Block, columns()));
        }
      });
  if (whole) return;
  const auto tile_count = static_cast<int64_t>(tiles.size());
  for_each_chunk(call.pool, call.batches * tile_count, call.parallel, [&](int64_t i) {
    const int64_t batch = i / tile_count, tile = i % tile_count;
    void* const c = static_cast<std::byte*>(call.c) + batch * size * (round ? 2 : 4);
    float* const first = sums + batch * segments() * block_floats() + tile / 2 * panels() * kBlockFloats;
    const int64_t half = tile % 2 * kBf16TileRows * kBf16Block;
    for (int64_t panel = 0; panel < panels(); ++panel) {
      float* const block = first + panel * kBlockFloats;
      for (int64_t segment = 1; segment < segments(); ++segment)
        bf16_tiles_amx.add(block + segment * block_floats() + half, kBf16TileRows, block + half);
      store(block, tile, panel, c);
    }
    call.epilogue(batch * size + row_of(tile) * columns(), batch * size + row_of(tile + 1) * columns());
  });
}

// All of B is packed; then its panels pass strips that stay in the second cache. Their sums wait for the next
// steps of A, if there are any.
void Bf16Gemm::run_many_rows(const Call& call) const {
  const int64_t threads = call.parallel ? call.pool.threads() : 1, size = rows() * columns();
  const uint16_t* packed = packed_ahead;
  if (!packed) {
    auto* const to = reinterpret_cast<uint16_t*>(call.workspace);
    packed = to;
    for_each_chunk(call.pool, call.batches * panels(), call.parallel, [&](int64_t i) {
      const int64_t batch = i / panels();
      pack(Bf16Operand{call.b, b_f32}.at(call.b_batch[batch]), i % panels(), to + batch * packed_elements());
    });
  }
  const bool packed_once = step_count() <= packed_steps();
  const int64_t tasks = 2 * threads;
  const int64_t task_panels = pieces(
      panels(), std::clamp(pieces(tasks, call.batches * pieces(strips(), kTaskStrips)),
                           packed_once ? 1 : pieces(panels(), kMostPanels), pieces(panels(), kFewPanels)));
  const int64_t panel_tasks = pieces(panels(), task_panels);
  const int64_t task_strips =
      std::clamp<int64_t>(call.batches * panel_tasks * strips() / tasks, 1, kTaskStrips);
  const int64_t strip_tasks = pieces(strips(), task_strips);
  for_each_chunk(call.pool, call.batches * panel_tasks * strip_tasks, call.parallel, [&](int64_t i) {
    const int64_t batch = i / strip_tasks / panel_tasks, panel = i / strip_tasks % panel_tasks * task_panels;
    const int64_t strip = i % strip_tasks * task_strips, last_strip = std::min(strip + task_strips, strips()),
                  last_panel = std::min(panel + task_panels, panels());
    bf16_tiles_amx.begin();
    run_task({{Bf16Operand{call.a, a_f32}.at(call.a_batch[batch]), a_f32},
              {},
              packed + batch * packed_elements(),
              nullptr,
              step_count() <= block_steps() ? 0 : 1,
              packed_once ? 0 : kTaskStrips,
              static_cast<std::byte*>(call.c) + batch * size * (round ? 2 : 4),
              0,
              strip,
              last_strip,
              panel,
              last_panel});
    bf16_tiles_amx.end();
    const int64_t last_row = last_strip < strips() ? tiles[static_cast<size_t>(2 * last_strip)].row : rows();
    run_epilogue(call.epilogue, batch * size, columns(), tiles[static_cast<size_t>(2 * strip)].row, last_row,
                 panel * kBf16Block, std::min(last_panel * kBf16Block, columns()));
  });
}

void Bf16Gemm::run(ThreadPool& pool, const void* a, const IndexMap& a_batch, const void* b,
                   const IndexMap& b_batch, std::byte* workspace, void* c, int64_t batches,
                   const Epilogue& epilogue) const {
  if (batches * rows() * columns() == 0) return;
  const bool parallel = batches * rows() * columns() * depth() >= chunk_work(kTileParallelWork);
  const Call call{pool, a, a_batch, b, b_batch, workspace, c, batches, epilogue, parallel};
  if (few_rows()) return run_few_rows(call);
  run_many_rows(call);
}

}  // namespace espalier
