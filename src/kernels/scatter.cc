#include "ops/scatter.h"

#include "kernels/indexed.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

// Combines a run of updates into as many elements.
using CombineRun = void (*)(const std::byte* update, std::byte* result, int64_t bytes);

template <Reducer R, class T>
void combine_run(const std::byte* update, std::byte* result, int64_t bytes) {
  using F = Compute<T>;
  const auto* u = reinterpret_cast<const T*>(update);
  auto* out = reinterpret_cast<T*>(result);
  for (int64_t i = 0; i < bytes / static_cast<int64_t>(sizeof(T)); ++i)
    out[i] = static_cast<T>(combine<R, F>(static_cast<F>(out[i]), static_cast<F>(u[i])));
}

// A call of the vector loops takes longer than so few elements.
constexpr int64_t kFewElements = 16;

void add_run_f32(const std::byte* update, std::byte* result, int64_t bytes) {
  if (bytes < kFewElements * 4) return combine_run<Reducer::kSum, float>(update, result, bytes);
  loop_table().add_arrays(reinterpret_cast<const float*>(update), 0, 1, reinterpret_cast<float*>(result),
                          bytes / 4);
}

// Of 16-bit floats: one addition in f32, rounded once.
template <class T, class Scalar>
void add_run_half(const std::byte* update, std::byte* result, int64_t bytes) {
  if (bytes < kFewElements * 2) return combine_run<Reducer::kSum, Scalar>(update, result, bytes);
  constexpr int64_t kBlock = 256;
  alignas(64) float a[kBlock], b[kBlock];
  const LoopTable& table = loop_table();
  const auto* u = reinterpret_cast<const T*>(update);
  auto* out = reinterpret_cast<T*>(result);
  for (int64_t i = 0, n = bytes / 2; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    table.of<T>().widen(out + i, a, count);
    table.of<T>().widen(u + i, b, count);
    table.add_arrays(b, 0, 1, a, count);
    table.of<T>().round(a, out + i, count);
  }
}

CombineRun run_of_scatter(Reducer reducer, DType dtype) {
  if (reducer == Reducer::kUpdate) return copy_run;
  if (reducer == Reducer::kSum && dtype == DType::kF32) return add_run_f32;
  if (reducer == Reducer::kSum && dtype == DType::kBF16) return add_run_half<Bf16, BFloat16>;
  if (reducer == Reducer::kSum && dtype == DType::kF16) return add_run_half<F16, Float16>;
  CombineRun run = nullptr;
  visit_reducer(reducer, [&](auto r) {
    visit_dtype(dtype, [&](auto tag) { run = combine_run<r.value, typename decltype(tag)::type>; });
  });
  return run;
}

struct IndexedScatterParams {
  bool apart = true;  // two windows are one, or share no element
  // One axis of the operand that a window at its edge is cut along.
  struct Edge {
    int64_t size, limit, component;  // of the window, of the operand; -1: none
  };
  std::vector<Edge> edges;
  struct Operand {
    CombineRun run = nullptr;
    int64_t element = 1, bytes = 0;
    bool filled = false;
    std::byte splat[8] = {};
    IndexVectors vectors;
    IndexedBox window;
    std::vector<IndexedBox::Axis> axes;  // of `edges`
  };
  std::vector<Operand> operands;
};

// What of a window that does not fit lies inside of the operand.
struct CutWindow {
  const IndexedScatterParams& p;
  const IndexedScatterParams::Operand& o;
  const IndexReader& indices;
  int64_t index;
  const std::byte* from;
  std::byte* to;

  void combine(size_t axis, int64_t array, int64_t operand) const {
    if (axis == p.edges.size()) return o.run(from + array, to + operand, o.element);
    const IndexedScatterParams::Edge& edge = p.edges[axis];
    const IndexedBox::Axis& steps = o.axes[axis];
    const int64_t start =
        edge.component < 0 ? 0
                           : indices[index + o.vectors.components[static_cast<size_t>(edge.component)].index];
    const int64_t first = std::max<int64_t>(0, -start), last = std::min(edge.size, edge.limit - start);
    if (first >= last) return;
    array += first * steps.array;
    operand += (start + first) * steps.operand;
    if (axis + 1 == p.edges.size() && steps.array == o.element && steps.operand == o.element)
      return o.run(from + array, to + operand, (last - first) * o.element);
    for (int64_t i = first; i < last; ++i, array += steps.array, operand += steps.operand)
      combine(axis + 1, array, operand);
  }
};

// Which of `parts` combines the windows that start at a place: each element has its updates in their order.
int64_t owner(int64_t operand, int64_t parts) {
  const uint64_t mixed = static_cast<uint64_t>(operand) * 0x9e3779b97f4a7c15u;
  return static_cast<int64_t>((mixed >> 32) * static_cast<uint64_t>(parts) >> 32);
}

void combine_windows(const IndexedScatterParams& p, const IndexedScatterParams::Operand& o,
                     const IndexReader& indices, const void* updates, void* result, int64_t part,
                     int64_t parts) {
  const auto* from = static_cast<const std::byte*>(updates);
  auto* to = static_cast<std::byte*>(result);
  o.vectors.each(0, o.vectors.count, [&](int64_t index, int64_t array, int64_t operand) {
    int64_t place = operand;
    for (const IndexVectors::Component& c : o.vectors.components) {
      const int64_t start = indices[index + c.index];
      if (start < 0 || start > c.last) {
        if (!p.apart) CutWindow{p, o, indices, index, from, to}.combine(0, array, operand);
        return;
      }
      place += start * c.operand;
    }
    if (parts > 1 && owner(place, parts) != part) return;
    each_run(o.window.axes, array, place,
             [&](int64_t in, int64_t out) { o.run(from + in, to + out, o.window.run); });
  });
}

void run_indexed_scatter(const KernelCall& call) {
  const auto& p = *static_cast<const IndexedScatterParams*>(call.params);
  const size_t count = p.operands.size();
  const IndexReader indices{call.in[count], p.operands[0].vectors.dtype};
  for (size_t k = 0; k < count; ++k) {
    const IndexedScatterParams::Operand& o = p.operands[k];
    begin_result(call.pool(), call.in[k], o.filled ? o.splat : nullptr, o.element, o.bytes, call.out[k]);
    if (o.window.bytes == 0) continue;
    const void* const updates = call.in[count + 1 + k];
    // Every part reads all indices.
    const bool parallel = p.apart && o.window.bytes >= chunk_work(64) &&
                          o.vectors.count * o.window.bytes >= chunk_work(kIndexedParallelBytes);
    const int64_t parts = parallel ? std::min<int64_t>(call.pool().threads(), o.vectors.count) : 1;
    for_each_chunk(call.pool(), parts, parallel,
                   [&](int64_t part) { combine_windows(p, o, indices, updates, call.out[k], part, parts); });
  }
}

}  // namespace

PreparedKernel prepare_indexed_scatter(const KernelSite& site) {
  const auto& a = static_cast<const ScatterAttributes&>(*site.attributes);
  if (a.reducer == Reducer::kRegion) return {};
  const size_t count = site.outputs.size();
  const TensorType &first = *site.inputs[0], &updates = *site.inputs[count + 1];
  const Shape sizes = window_sizes(a.axes, first.rank(), updates.shape);
  auto params = std::make_shared<IndexedScatterParams>();
  const Dims kept = kept_axes(a.axes, first.rank());
  Dims edges;
  for (size_t axis = 0; axis < first.rank(); ++axis) {
    const auto number = static_cast<int64_t>(axis);
    if (a.axes.operand_batching.contains(number)) continue;
    edges.push_back(number);
    params->edges.push_back({sizes[axis], first.shape[axis], -1});
    for (size_t i = 0; i < a.axes.index_map.size(); ++i) {
      if (a.axes.index_map[i] != number) continue;
      params->edges.back().component = static_cast<int64_t>(i);
      params->apart = params->apart && sizes[axis] == 1;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    const TensorType& type = *site.inputs[k];
    const auto element = static_cast<int64_t>(size_of(type.dtype));
    IndexedScatterParams::Operand& o = params->operands.emplace_back();
    o.run = run_of_scatter(a.reducer, type.dtype);
    o.element = element;
    o.bytes = static_cast<int64_t>(type.bytes());
    if (const void* splat = site.splat(k)) {
      o.filled = true;
      std::memcpy(o.splat, splat, size_of(type.dtype));
    }
    const Dims strides = row_major_strides(type.shape), update_strides = row_major_strides(updates.shape);
    for (const int64_t axis : edges) {
      const auto* const place = std::find(kept.begin(), kept.end(), axis);
      const int64_t step =
          place == kept.end() ? 0 : update_strides[a.axes.window[static_cast<size_t>(place - kept.begin())]];
      o.axes.push_back({sizes[axis], step * element, strides[axis] * element});
    }
    o.window = IndexedBox(o.axes, element);
    o.vectors = IndexVectors(a.axes, type, *site.inputs[count], updates.shape, sizes);
  }
  return {run_indexed_scatter, std::move(params), 0, count};
}

}  // namespace espalier
