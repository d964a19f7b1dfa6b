#include "kernels/bf16_gemm.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"

namespace espalier {
namespace {

// Below this many multiplications a product is done before a helper could begin.
constexpr int64_t kParallelWork = int64_t{1} << 19;
constexpr int64_t kBlockFloats = kBf16Block * kBf16Block;
// Strips of one task: packed together, they meet each panel while it is in the first cache.
constexpr int64_t kMostStrips = 4;

int64_t parts(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

alignas(64) thread_local uint16_t packed_strips[kMostStrips * kBf16Block * kBf16Pitch];

}  // namespace

// Strips [first_strip, last_strip) and panels [first_panel, last_panel) of one product.
struct Bf16Gemm::Task {
  const uint16_t *a, *b;
  uint16_t* packed;  // all panels of B, one after the other
  bool pack;         // B's panels first
  float* sums;       // whole blocks, strip by strip; nullptr when one visit of each is enough
  void* c;
  int64_t first_element;  // of c, in what the follower sees
  int64_t first_strip, last_strip, first_panel, last_panel;
  const Follower* follower;
};

size_t Bf16Gemm::workspace_bytes(int64_t batches) const {
  const auto panel_elements = static_cast<size_t>(panels() * padded_depth() * kBf16Block);
  const bool visits = padded_depth() > kBf16Depth;
  return static_cast<size_t>(batches) *
         (panel_elements * sizeof(uint16_t) +
          (visits ? static_cast<size_t>(strips() * panels() * kBlockFloats) * sizeof(float) : 0));
}

void Bf16Gemm::run_task(const Task& task) const {
  const Bf16Tiles& tiles = bf16_tiles_amx;
  const int64_t panel_size = padded_depth() * kBf16Block;
  const auto panel_at = [&](int64_t panel, int64_t from) {
    return task.packed + panel * panel_size + from * kBf16Block;
  };
  tiles.begin();
  if (task.pack) {
    for (int64_t panel = task.first_panel; panel < task.last_panel; ++panel)
      tiles.pack_b(task.b, b_depth, b_column, panel * kBf16Block, 0, padded_depth(), panel_at(panel, 0));
  }
  alignas(64) float block[kBlockFloats];
  for (int64_t from = 0; from < std::max<int64_t>(padded_depth(), 1); from += kBf16Depth) {
    const int64_t length = std::min(kBf16Depth, padded_depth() - from);
    const bool last = from + kBf16Depth >= padded_depth();
    for (int64_t strip = task.first_strip; strip < task.last_strip; ++strip) {
      tiles.pack_a(task.a, a_row, a_depth, strip * kBf16Block, from, length,
                   packed_strips + (strip - task.first_strip) * kBf16Block * kBf16Pitch);
    }
    for (int64_t panel = task.first_panel; panel < task.last_panel; ++panel) {
      for (int64_t strip = task.first_strip; strip < task.last_strip; ++strip) {
        float* sums = task.sums ? task.sums + (strip * panels() + panel) * kBlockFloats : block;
        tiles.multiply(packed_strips + (strip - task.first_strip) * kBf16Block * kBf16Pitch,
                       panel_at(panel, from), length, sums, kBf16Block, from > 0);
        if (!last) continue;
        const int64_t row = strip * kBf16Block, column = panel * kBf16Block;
        const int64_t height = std::min(kBf16Block, rows() - row),
                      width = std::min(kBf16Block, columns() - column);
        for (int64_t i = 0; i < height; ++i) {
          const int64_t to = (row + i) * columns() + column;
          const float* line = sums + i * kBf16Block;
          if (round) {
            tiles.round(line, static_cast<uint16_t*>(task.c) + to, width);
          } else {
            std::memcpy(static_cast<float*>(task.c) + to, line, static_cast<size_t>(width) * sizeof(float));
          }
        }
      }
    }
  }
  tiles.end();
  const int64_t row = task.first_strip * kBf16Block,
                last_row = std::min(task.last_strip * kBf16Block, rows());
  follow_block(*task.follower, task.first_element, columns(), row, last_row, task.first_panel * kBf16Block,
               std::min(task.last_panel * kBf16Block, columns()));
}

void Bf16Gemm::run(const uint16_t* a, const IndexMap& a_batch, const uint16_t* b, const IndexMap& b_batch,
                   std::byte* workspace, void* c, int64_t batches, const Follower& follower) const {
  if (batches * rows() * columns() == 0) return;
  const bool parallel = batches * rows() * columns() * depth() >= chunk_work(kParallelWork);
  const int64_t threads = parallel ? thread_pool().threads() : 1;
  // Few strips are shared out by panels, each packed by the thread that reads it.
  const int64_t strip_tasks = parts(strips(), kMostStrips);
  const bool by_panels = batches * strip_tasks < 2 * threads;
  const int64_t panel_tasks = by_panels ? std::min(panels(), parts(threads, batches * strip_tasks)) : 1;
  const int64_t task_panels = parts(panels(), panel_tasks);
  const int64_t per_product = strip_tasks * parts(panels(), task_panels);
  const bool pack_first = strip_tasks > 1;

  const int64_t packed_size = panels() * padded_depth() * kBf16Block, size = rows() * columns();
  auto* const packed = reinterpret_cast<uint16_t*>(workspace);
  float* const sums =
      padded_depth() > kBf16Depth ? reinterpret_cast<float*>(packed + batches * packed_size) : nullptr;
  if (pack_first) {
    for_each_chunk(batches * panels(), parallel, [&](int64_t i) {
      const int64_t batch = i / panels(), panel = i % panels();
      bf16_tiles_amx.pack_b(b + b_batch[batch], b_depth, b_column, panel * kBf16Block, 0, padded_depth(),
                            packed + batch * packed_size + panel * padded_depth() * kBf16Block);
    });
  }
  for_each_chunk(batches * per_product, parallel, [&](int64_t i) {
    const int64_t batch = i / per_product, strip = i % strip_tasks * kMostStrips;
    const int64_t panel = i % per_product / strip_tasks * task_panels;
    const size_t element = round ? sizeof(uint16_t) : sizeof(float);
    run_task({a + a_batch[batch], b + b_batch[batch], packed + batch * packed_size, !pack_first,
              sums ? sums + batch * strips() * panels() * kBlockFloats : nullptr,
              static_cast<std::byte*>(c) + static_cast<size_t>(batch * size) * element, batch * size, strip,
              std::min(strip + kMostStrips, strips()), panel, std::min(panel + task_panels, panels()),
              &follower});
  });
}

}  // namespace espalier
