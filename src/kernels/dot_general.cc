#include "ops/dot_general.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

// Below this many multiplications a product is done before a helper could begin.
constexpr int64_t kParallelWork = int64_t{1} << 20;
// Multiplications of one chunk, about.
constexpr int64_t kChunkWork = int64_t{1} << 18;

struct DotParams {
  Gemm gemm;
  int64_t batches = 1;
  IndexMap a_batch, b_batch;
  std::vector<std::vector<int64_t>> tables;
  // Rows and panels of one chunk.
  int64_t chunk_rows = 0, chunk_panels = 0, row_chunks = 0, panel_chunks = 0;

  int64_t work() const { return batches * gemm.rows() * gemm.columns() * gemm.depth(); }
};

// Offsets of all index tuples over `axes`, row-major; a stride when they are evenly spaced.
IndexMap index_map(DotParams& params, const Shape& shape, const Dims& axes) {
  const Dims strides = row_major_strides(shape);
  std::vector<int64_t> table{0};
  for (const int64_t axis : axes) {
    std::vector<int64_t> next;
    next.reserve(table.size() * static_cast<size_t>(shape[axis]));
    for (const int64_t base : table) {
      for (int64_t i = 0; i < shape[axis]; ++i) next.push_back(base + i * strides[axis]);
    }
    table = std::move(next);
  }
  IndexMap map;
  map.count = static_cast<int64_t>(table.size());
  map.stride = map.count > 1 ? table[1] : 0;
  for (int64_t i = 0; i < map.count; ++i) {
    if (table[i] == i * map.stride) continue;
    params.tables.push_back(std::move(table));
    map.table = params.tables.back().data();
    break;
  }
  return map;
}

void run_dot(const KernelCall& call) {
  const auto& params = *static_cast<const DotParams*>(call.params);
  const Gemm& gemm = params.gemm;
  const auto *a = static_cast<const float*>(call.in[0]), *b = static_cast<const float*>(call.in[1]);
  auto* c = static_cast<float*>(call.out[0]);
  auto* packed = reinterpret_cast<float*>(call.workspace);
  const auto for_each = [&](int64_t chunks, auto body) {
    if (params.work() >= chunk_work(kParallelWork)) return thread_pool().parallel_for(chunks, body);
    for (int64_t i = 0; i < chunks; ++i) body(i);
  };
  if (gemm.pack_b) {
    for_each(params.batches * gemm.panels(), [&](int64_t i) {
      const int64_t batch = i / gemm.panels(), panel = i % gemm.panels();
      gemm.pack(b + params.b_batch[batch], packed + batch * gemm.packed_floats(), panel, panel + 1);
    });
  }
  const int64_t per_batch = params.row_chunks * params.panel_chunks;
  for_each(params.batches * per_batch, [&](int64_t i) {
    const int64_t batch = i / per_batch;
    const int64_t row = i % per_batch / params.panel_chunks * params.chunk_rows;
    const int64_t panel = i % params.panel_chunks * params.chunk_panels;
    gemm.multiply(a + params.a_batch[batch], b + params.b_batch[batch], packed + batch * gemm.packed_floats(),
                  c + batch * gemm.rows() * gemm.columns(), row,
                  std::min(row + params.chunk_rows, gemm.rows()), panel,
                  std::min(panel + params.chunk_panels, gemm.panels()));
  });
}

}  // namespace

PreparedKernel prepare_dot_general(const KernelSite& site) {
  if (site.outputs[0]->dtype != DType::kF32) return {};
  const DotAxes& axes = static_cast<const DotAttributes*>(site.attributes)->axes;
  const Shape &lhs = site.inputs[0]->shape, &rhs = site.inputs[1]->shape;
  auto params = std::make_shared<DotParams>();
  params->tables.reserve(6);
  Gemm& gemm = params->gemm;
  params->a_batch = index_map(*params, lhs, axes.lhs_batching);
  params->b_batch = index_map(*params, rhs, axes.rhs_batching);
  gemm.a_row = index_map(*params, lhs, free_axes(lhs.size(), axes.lhs_batching, axes.lhs_contracting));
  gemm.a_depth = index_map(*params, lhs, axes.lhs_contracting);
  gemm.b_column = index_map(*params, rhs, free_axes(rhs.size(), axes.rhs_batching, axes.rhs_contracting));
  gemm.b_depth = index_map(*params, rhs, axes.rhs_contracting);
  params->batches = params->a_batch.count;
  gemm.choose(gemm_tiles(current_isa()));

  const int64_t height = gemm.tiles->rows, width = gemm.tiles->columns;
  const int64_t tile_work = std::max<int64_t>(height * width * gemm.depth(), 1);
  const int64_t tiles = std::max<int64_t>(chunk_work(kChunkWork) / tile_work, 1);
  params->chunk_panels = std::min(gemm.panels(), std::max<int64_t>(256 / width, 1));
  params->chunk_rows = height * std::max<int64_t>(tiles / params->chunk_panels, 1);
  params->row_chunks = (gemm.rows() + params->chunk_rows - 1) / params->chunk_rows;
  params->panel_chunks = (gemm.panels() + params->chunk_panels - 1) / params->chunk_panels;

  PreparedKernel kernel;
  kernel.run = run_dot;
  kernel.workspace = static_cast<size_t>(params->batches * gemm.packed_floats()) * sizeof(float);
  kernel.params = std::move(params);
  return kernel;
}

}  // namespace espalier
