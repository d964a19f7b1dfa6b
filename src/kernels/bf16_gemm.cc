#include "kernels/bf16_gemm.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace espalier {
namespace {

// Below this many multiplications a product is done before a helper could begin.
constexpr int64_t kParallelWork = int64_t{1} << 19;
constexpr int64_t kBlockFloats = kBf16Block * kBf16Block;
// Strips of one task: packed together, they meet each panel while it is in the first cache.
constexpr int64_t kMostStrips = 4;
// Rows of one task that adds the halves of sums; a divisor of kBf16Block.
constexpr int64_t kStoredRows = 8;

alignas(64) thread_local uint16_t packed_strips[kMostStrips * kBf16Block * kBf16Pitch];
alignas(64) thread_local uint16_t packed_panel[kLongestBf16Part * kBf16Block];

}  // namespace

void Bf16Gemm::choose() {
  const auto together = [](const IndexMap& map, int64_t group) {
    const Runs runs = runs_of(map);
    return map.count == 1 || (runs.stride == 1 && (!map.table || runs.length % group == 0));
  };
  const auto order = [&](const IndexMap& terms, const IndexMap& others, int64_t group) {
    if (together(others, group)) return Bf16Order::kOthers;
    return together(terms, kBf16Terms) ? Bf16Order::kTerms : Bf16Order::kNone;
  };
  a_order = order(a_depth, a_row, kBf16Block / 2);
  b_order = order(b_depth, b_column, kBf16Block);
}

bool Bf16Gemm::pays() const {
  return a_order != Bf16Order::kNone && b_order != Bf16Order::kNone && rows() >= kBf16Block / 2 &&
         columns() >= kBf16Block / 2 && depth() >= kBf16Terms;
}

int64_t Bf16Gemm::parts() const { return std::max<int64_t>(pieces(depth(), kLongestBf16Part), 1); }
int64_t Bf16Gemm::part() const { return pieces(pieces(depth(), parts()), kBf16Terms) * kBf16Terms; }
int64_t Bf16Gemm::strip_tasks() const { return pieces(strips(), kMostStrips); }
bool Bf16Gemm::split(int64_t batches) const { return batches * strip_tasks() == 1 && parts() > 1; }

size_t Bf16Gemm::workspace_bytes(int64_t batches) const {
  const int64_t packed = strip_tasks() > 1 ? batches * panels() * panel_elements() : 0;
  const int64_t sums = parts() > 1 ? batches * halves() * block_floats() : 0;
  return static_cast<size_t>(packed) * sizeof(uint16_t) + static_cast<size_t>(sums) * sizeof(float);
}

// Some strips and panels of one product, from one half of the sum to another.
struct Bf16Gemm::Task {
  Bf16Operand a, b;
  const uint16_t* packed;  // all panels of B, one after the other; null: the task packs what it reads
  float* sums;             // for each half all blocks, strip by strip; null when one visit of each is enough
  int64_t first_half, last_half, first_strip, last_strip, first_panel, last_panel;
};

// Its halves of the sums; with `c`, which takes both, the blocks of C too.
void Bf16Gemm::run_task(const Task& task, void* c) const {
  const Bf16Tiles& tiles = bf16_tiles_amx;
  const int64_t length = part();
  alignas(64) float block[kBlockFloats];
  const auto strip_at = [&](int64_t strip) {
    return packed_strips + (strip - task.first_strip) * kBf16Block * kBf16Pitch;
  };
  tiles.begin();
  for (int64_t half = task.first_half; half < task.last_half; ++half) {
    for (int64_t part = first_part(half); part < first_part(half + 1); ++part) {
      const int64_t from = part * length;
      for (int64_t strip = task.first_strip; strip < task.last_strip; ++strip)
        tiles.pack_a(task.a, a_order, a_row, a_depth, strip * kBf16Block, from, length, strip_at(strip));
      for (int64_t panel = task.first_panel; panel < task.last_panel; ++panel) {
        const uint16_t* packed = packed_panel;
        if (task.packed) {
          packed = task.packed + panel * panel_elements() + from * kBf16Block;
        } else {
          tiles.pack_b(task.b, b_order, b_depth, b_column, panel * kBf16Block, from, length, packed_panel);
        }
        for (int64_t strip = task.first_strip; strip < task.last_strip; ++strip) {
          const int64_t i = strip * panels() + panel;
          float* const sums = task.sums ? task.sums + half * block_floats() + i * kBlockFloats : block;
          const bool first = part == first_part(half);
          tiles.multiply(strip_at(strip), packed, length, first ? sums : block);
          if (!first) tiles.add(block, kBf16Block, sums);
          if (c && part + 1 == parts()) {
            const int64_t row = strip * kBf16Block;
            store_rows(row, std::min(row + kBf16Block, rows()), panel, half ? sums - block_floats() : sums,
                       c);
          }
        }
      }
    }
  }
  tiles.end();
}

// Rows of C in one strip, from their place in the first half of the sums; the second lies block_floats()
// behind.
void Bf16Gemm::store_rows(int64_t row, int64_t last_row, int64_t panel, float* sums, void* c) const {
  const int64_t column = panel * kBf16Block;
  if (halves() == 2) bf16_tiles_amx.add(sums + block_floats(), last_row - row, sums);
  bf16_tiles_amx.store(sums, last_row - row, std::min(kBf16Block, columns() - column),
                       static_cast<std::byte*>(c) + (row * columns() + column) * (round ? 2 : 4), columns(),
                       round);
}

void Bf16Gemm::run(const void* a, const IndexMap& a_batch, const void* b, const IndexMap& b_batch,
                   std::byte* workspace, void* c, int64_t batches, const Follower& follower) const {
  if (batches * rows() * columns() == 0) return;
  const bool parallel = batches * rows() * columns() * depth() >= chunk_work(kParallelWork);
  const int64_t threads = parallel ? thread_pool().threads() : 1;
  const bool pack_first = strip_tasks() > 1;
  const int64_t packed_size = panels() * panel_elements(), size = rows() * columns();
  auto* const packed = reinterpret_cast<uint16_t*>(workspace);
  float* const sums = reinterpret_cast<float*>(packed + (pack_first ? batches * packed_size : 0));
  const Bf16Operand whole_a{a, a_f32}, whole_b{b, b_f32};

  if (split(batches)) {
    const int64_t panel_tasks = std::clamp<int64_t>(threads / 2, 1, panels());
    const int64_t task_panels = pieces(panels(), panel_tasks), per_half = pieces(panels(), task_panels);
    for_each_chunk(2 * per_half, parallel, [&](int64_t i) {
      const int64_t half = i / per_half, panel = i % per_half * task_panels;
      run_task({whole_a, whole_b, nullptr, sums, half, half + 1, 0, strips(), panel,
                std::min(panel + task_panels, panels())},
               nullptr);
    });
    for_each_chunk(pieces(rows(), kStoredRows), parallel, [&](int64_t i) {
      const int64_t row = i * kStoredRows, last_row = std::min(row + kStoredRows, rows());
      float* const first = sums + row / kBf16Block * panels() * kBlockFloats + row % kBf16Block * kBf16Block;
      for (int64_t panel = 0; panel < panels(); ++panel)
        store_rows(row, last_row, panel, first + panel * kBlockFloats, c);
      follower(row * columns(), last_row * columns());
    });
    return;
  }

  if (pack_first) {
    for_each_chunk(batches * panels(), parallel, [&](int64_t i) {
      const int64_t batch = i / panels(), panel = i % panels();
      for (int64_t from = 0; from < parts() * part(); from += part()) {
        bf16_tiles_amx.pack_b({whole_b.at(b_batch[batch]), b_f32}, b_order, b_depth, b_column,
                              panel * kBf16Block, from, part(),
                              packed + batch * packed_size + panel * panel_elements() + from * kBf16Block);
      }
    });
  }
  // Few strips are shared out by panels, each packed by the thread that reads it.
  const int64_t panel_tasks = batches * strip_tasks() < 2 * threads
                                  ? std::min(panels(), pieces(threads, batches * strip_tasks()))
                                  : 1;
  const int64_t task_panels = pieces(panels(), panel_tasks);
  const int64_t per_product = strip_tasks() * pieces(panels(), task_panels);
  for_each_chunk(batches * per_product, parallel, [&](int64_t i) {
    const int64_t batch = i / per_product, strip = i % strip_tasks() * kMostStrips;
    const int64_t panel = i % per_product / strip_tasks() * task_panels;
    const int64_t last_strip = std::min(strip + kMostStrips, strips()),
                  last_panel = std::min(panel + task_panels, panels());
    run_task({{whole_a.at(a_batch[batch]), a_f32},
              {whole_b.at(b_batch[batch]), b_f32},
              pack_first ? packed + batch * packed_size : nullptr,
              parts() > 1 ? sums + batch * halves() * block_floats() : nullptr,
              0,
              halves(),
              strip,
              last_strip,
              panel,
              last_panel},
             static_cast<std::byte*>(c) + batch * size * (round ? 2 : 4));
    follow_block(follower, batch * size, columns(), strip * kBf16Block,
                 std::min(last_strip * kBf16Block, rows()), panel * kBf16Block,
                 std::min(last_panel * kBf16Block, columns()));
  });
}

}  // namespace espalier
