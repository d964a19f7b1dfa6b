#include "ops/dot_general.h"

#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

struct DotParams {
  Gemm gemm;
  int64_t batches = 1;
  IndexMap a_batch, b_batch;
  std::vector<std::vector<int64_t>> tables;
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
  params.gemm.run(static_cast<const float*>(call.in[0]), params.a_batch,
                  static_cast<const float*>(call.in[1]), params.b_batch,
                  reinterpret_cast<float*>(call.workspace), static_cast<float*>(call.out[0]), params.batches,
                  call.follower);
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
  gemm.choose(current_isa(), params->batches);

  PreparedKernel kernel;
  kernel.run = run_dot;
  kernel.takes_follower = true;
  kernel.workspace = static_cast<size_t>(gemm.workspace_floats(params->batches)) * sizeof(float);
  kernel.params = std::move(params);
  return kernel;
}

}  // namespace espalier
