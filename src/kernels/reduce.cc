#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/attribute_reader.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"
#include "ops/reducer.h"

namespace espalier {
namespace {

constexpr int64_t kParallelElements = 1 << 16;
constexpr int64_t kChunkElements = 1 << 14;
constexpr int64_t kChunkColumns = 128;

// The operand as [outer, length, inner], reduced along `length`.
struct ReduceParams {
  int64_t outer = 1, length = 1, inner = 1;
  decltype(LoopTable::sum_rows) rows = nullptr;
  decltype(LoopTable::sum_columns) columns = nullptr;
};

void run_reduce(const KernelCall& call) {
  const auto& p = *static_cast<const ReduceParams*>(call.params);
  const auto* x = static_cast<const float*>(call.in[0]);
  const float init = *static_cast<const float*>(call.in[1]);
  auto* out = static_cast<float*>(call.out[0]);
  const int64_t elements = p.outer * p.length * p.inner;
  if (p.inner == 1) {
    if (elements < chunk_work(kParallelElements)) return p.rows(x, out, p.outer, p.length, init);
    const int64_t step = std::max<int64_t>(chunk_work(kChunkElements) / std::max<int64_t>(p.length, 1), 1);
    return thread_pool().parallel_for((p.outer + step - 1) / step, [&](int64_t chunk) {
      const int64_t first = chunk * step, count = std::min(step, p.outer - first);
      p.rows(x + first * p.length, out + first, count, p.length, init);
    });
  }
  const auto one = [&](int64_t i, int64_t first, int64_t count) {
    p.columns(x + i * p.length * p.inner + first, out + i * p.inner + first, p.length, count, p.inner, init);
  };
  if (elements < chunk_work(kParallelElements)) {
    for (int64_t i = 0; i < p.outer; ++i) one(i, 0, p.inner);
    return;
  }
  const int64_t width = chunk_work(kChunkColumns), blocks = (p.inner + width - 1) / width;
  thread_pool().parallel_for(p.outer * blocks, [&](int64_t chunk) {
    const int64_t first = chunk % blocks * width;
    one(chunk / blocks, first, std::min(width, p.inner - first));
  });
}

}  // namespace

PreparedKernel prepare_reduce(const KernelSite& site) {
  const auto reducer = static_cast<Reducer>(read_integer(site.attributes, "reducer"));
  auto params = std::make_shared<ReduceParams>();
  const LoopTable& table = loop_table();
  switch (reducer) {
    case Reducer::kSum:
      params->rows = table.sum_rows;
      params->columns = table.sum_columns;
      break;
    case Reducer::kMax:
      params->rows = table.max_rows;
      params->columns = table.max_columns;
      break;
    case Reducer::kMin:
      params->rows = table.min_rows;
      params->columns = table.min_columns;
      break;
    default:
      return {};
  }
  const Shape& shape = site.inputs[0]->shape;
  const Dims axes = read_dims(site.attributes, "dimensions");
  int stage = 0;  // before, along, behind the reduced axes
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const bool reduced = axes.contains(static_cast<int64_t>(i));
    if (reduced && stage == 2) return {};
    if (reduced) stage = 1;
    if (!reduced && stage == 1) stage = 2;
    (stage == 0 ? params->outer : stage == 1 ? params->length : params->inner) *= shape[i];
  }
  return {run_reduce, std::move(params), 0, 0};
}

}  // namespace espalier
