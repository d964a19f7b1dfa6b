#include <algorithm>

#include "base/thread_pool.h"
#include "ir/attribute_reader.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"
#include "ops/reducer.h"

namespace espalier {
namespace {

constexpr int64_t kReduceParallelElements = 1 << 16;
constexpr int64_t kReduceChunkElements = 1 << 14;
constexpr int64_t kChunkColumns = 128;

// The operand as [outer, length, inner], reduced along `length`.
struct Extents {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t elements() const { return outer * length * inner; }
};

// Nothing when reduced axes do not stand together.
std::optional<Extents> extents_of(const KernelSite& site) {
  const Shape& shape = site.inputs[0]->shape;
  const Dims axes = read_dims(site.attributes, "dimensions");
  Extents out;
  int stage = 0;  // before, along, behind the reduced axes
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const bool reduced = axes.contains(static_cast<int64_t>(i));
    if (reduced && stage == 2) return {};
    if (reduced) stage = 1;
    if (!reduced && stage == 1) stage = 2;
    (stage == 0 ? out.outer : stage == 1 ? out.length : out.inner) *= shape[i];
  }
  return out;
}

// Sums along rows of a few columns are shared out by blocks of rows: `blocks` of them, by the shape alone.
template <class T>
struct ColumnSums {
  static constexpr int64_t kBlockElements = 1 << 15, kFewColumns = 1024;
  explicit ColumnSums(const Extents& e) : extents(e) {
    if (e.inner > kFewColumns) return;
    block = std::max<int64_t>(kBlockElements / std::clamp<int64_t>(e.inner, 1, kChunkColumns), 1);
    blocks = std::max<int64_t>((e.length + block - 1) / block, 1);
  }
  size_t workspace() const {
    return blocks == 1 ? 0 : static_cast<size_t>(extents.outer * blocks * extents.inner) * sizeof(double);
  }
  Extents extents;
  int64_t block = extents.length, blocks = 1;
  void (*add)(const T* x, int64_t rows, int64_t columns, int64_t stride, double* totals) = nullptr;
};

template <class T>
void run_column_sums(const KernelCall& call) {
  const auto& p = *static_cast<const ColumnSums<T>*>(call.params);
  const int64_t outer = p.extents.outer, length = p.extents.length, inner = p.extents.inner;
  const auto* x = static_cast<const T*>(call.in[0]);
  const double init = number_of(*static_cast<const T*>(call.in[1]));
  auto* out = static_cast<T*>(call.out[0]);
  auto* partial = reinterpret_cast<double*>(call.workspace);
  const int64_t width = chunk_work(kChunkColumns), pieces = (inner + width - 1) / width;
  const auto one = [&](int64_t chunk) {
    const int64_t column = chunk % pieces * width, count = std::min(width, inner - column);
    const int64_t row = chunk / pieces % p.blocks * p.block, i = chunk / pieces / p.blocks;
    double totals[kChunkColumns];
    std::fill(totals, totals + count, row == 0 ? init : 0.0);
    p.add(x + (i * length + row) * inner + column, std::min(p.block, length - row), count, inner, totals);
    if (p.blocks == 1) {
      for (int64_t j = 0; j < count; ++j)
        store_number(static_cast<float>(totals[j]), out + i * inner + column + j);
    } else {
      std::copy(totals, totals + count, partial + chunk / pieces * inner + column);
    }
  };
  for_each_chunk(call.pool(), outer * p.blocks * pieces,
                 p.extents.elements() >= chunk_work(kReduceParallelElements), one);
  if (p.blocks == 1) return;
  for (int64_t i = 0; i < outer; ++i, partial += p.blocks * inner, out += inner) {
    for (int64_t k = 1; k < p.blocks; ++k) {
      for (int64_t j = 0; j < inner; ++j) partial[j] += partial[k * inner + j];
    }
    for (int64_t j = 0; j < inner; ++j) store_number(static_cast<float>(partial[j]), out + j);
  }
}

template <class T>
PreparedKernel prepare_column_sums(const Extents& extents) {
  auto params = std::make_shared<ColumnSums<T>>(extents);
  params->add = loop_table().of<T>().add_columns;
  const size_t workspace = params->workspace();
  return {run_column_sums<T>, std::move(params), workspace};
}

struct ReduceParams {
  Extents extents;
  decltype(LoopTable::sum_rows) rows = nullptr;
  decltype(LoopTable::max_columns) columns = nullptr;
};

void run_reduce(const KernelCall& call) {
  const auto& p = *static_cast<const ReduceParams*>(call.params);
  const auto* x = static_cast<const float*>(call.in[0]);
  const float init = *static_cast<const float*>(call.in[1]);
  auto* out = static_cast<float*>(call.out[0]);
  const int64_t outer = p.extents.outer, length = p.extents.length, inner = p.extents.inner;
  const int64_t elements = p.extents.elements();
  if (inner == 1) {
    if (elements < chunk_work(kReduceParallelElements)) return p.rows(x, out, outer, length, init);
    const int64_t step =
        std::max<int64_t>(chunk_work(kReduceChunkElements) / std::max<int64_t>(length, 1), 1);
    return call.pool().parallel_for((outer + step - 1) / step, [&](int64_t chunk) {
      const int64_t first = chunk * step, count = std::min(step, outer - first);
      p.rows(x + first * length, out + first, count, length, init);
    });
  }
  const auto one = [&](int64_t i, int64_t first, int64_t count) {
    p.columns(x + i * length * inner + first, out + i * inner + first, length, count, inner, init);
  };
  if (elements < chunk_work(kReduceParallelElements)) {
    for (int64_t i = 0; i < outer; ++i) one(i, 0, inner);
    return;
  }
  const int64_t width = chunk_work(kChunkColumns), blocks = (inner + width - 1) / width;
  call.pool().parallel_for(outer * blocks, [&](int64_t chunk) {
    const int64_t first = chunk % blocks * width;
    one(chunk / blocks, first, std::min(width, inner - first));
  });
}

}  // namespace

PreparedKernel prepare_reduce(const KernelSite& site) {
  const auto reducer = static_cast<Reducer>(read_integer(site.attributes, "reducer"));
  const auto extents = extents_of(site);
  if (!extents) return {};
  auto params = std::make_shared<ReduceParams>();
  params->extents = *extents;
  const LoopTable& table = loop_table();
  switch (reducer) {
    case Reducer::kSum:
      if (extents->inner != 1) return prepare_column_sums<float>(*extents);
      params->rows = table.sum_rows;
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
  return {run_reduce, std::move(params), 0, 0};
}

PreparedKernel prepare_reduce_half(const KernelSite& site) {
  const auto reducer = static_cast<Reducer>(read_integer(site.attributes, "reducer"));
  const auto extents = extents_of(site);
  if (extents && extents->inner != 1 && reducer == Reducer::kSum) {
    return site.dtype == DType::kBF16 ? prepare_column_sums<Bf16>(*extents)
                                      : prepare_column_sums<F16>(*extents);
  }
  return prepare_widened(site, prepare_reduce);
}

}  // namespace espalier
