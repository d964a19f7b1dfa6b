#include <algorithm>

#include "kernels/attribute_reader.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

// A transposition as [outer, rows, columns, run] -> [outer, columns, rows, run] of 4-byte words.
struct TransposeParams {
  int64_t outer = 1, rows = 1, columns = 1, run = 1;
};

void run_transpose(const KernelCall& call) {
  const auto& p = *static_cast<const TransposeParams*>(call.params);
  const auto* x = static_cast<const uint32_t*>(call.in[0]);
  auto* out = static_cast<uint32_t*>(call.out[0]);
  const int64_t size = p.rows * p.columns * p.run;
  constexpr int64_t kBlock = 16;
  for (int64_t o = 0; o < p.outer; ++o, x += size, out += size) {
    for (int64_t i0 = 0; i0 < p.rows; i0 += kBlock) {
      for (int64_t j0 = 0; j0 < p.columns; j0 += kBlock) {
        const int64_t i1 = std::min(i0 + kBlock, p.rows), j1 = std::min(j0 + kBlock, p.columns);
        for (int64_t j = j0; j < j1; ++j) {
          for (int64_t i = i0; i < i1; ++i) {
            if (p.run == 1) {
              out[j * p.rows + i] = x[i * p.columns + j];
            } else {
              std::copy_n(x + (i * p.columns + j) * p.run, p.run, out + (j * p.rows + i) * p.run);
            }
          }
        }
      }
    }
  }
}

// Element i of the result is element (i / inner) % period of the operand.
struct BroadcastParams {
  int64_t elements = 0, inner = 1, period = 1;
};

void run_broadcast(const KernelCall& call) {
  const auto& p = *static_cast<const BroadcastParams*>(call.params);
  const auto* x = static_cast<const uint32_t*>(call.in[0]);
  auto* out = static_cast<uint32_t*>(call.out[0]);
  const int64_t block = p.inner * p.period;
  for (int64_t i = 0; i < p.period; ++i) std::fill_n(out + i * p.inner, p.inner, x[i]);
  for (int64_t done = block; done < p.elements; done += block) std::copy_n(out, block, out + done);
}

}  // namespace

PreparedKernel prepare_transpose(const KernelSite& site) {
  const Shape& shape = site.inputs[0]->shape;
  const Dims all = read_dims(site.attributes, "permutation");
  Dims order;
  for (const int64_t axis : all) {
    if (shape[axis] != 1) order.push_back(axis);
  }
  // Equal ends stay; between them one swap of two groups of axes is taken.
  auto params = std::make_shared<TransposeParams>();
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  size_t first = 0, last = order.size();
  while (first < last && order[first] == sorted[first]) params->outer *= shape[order[first++]];
  while (last > first && order[last - 1] == sorted[last - 1]) params->run *= shape[order[--last]];
  size_t split = first;
  while (split < last && order[split] != sorted[first]) ++split;
  for (size_t i = first; i < last; ++i) {
    const size_t from = i < last - (split - first) ? split + (i - first) : i - (last - split);
    if (order[from] != sorted[i]) return {};
  }
  for (size_t i = first; i < split; ++i) params->columns *= shape[order[i]];
  for (size_t i = split; i < last; ++i) params->rows *= shape[order[i]];
  return {run_transpose, std::move(params), 0, 0};
}

PreparedKernel prepare_broadcast(const KernelSite& site) {
  const TensorType &in = *site.inputs[0], &out = *site.outputs[0];
  const auto repeat = repetition(in, out, read_dims(site.attributes, "broadcast_dimensions"));
  if (!repeat) return {};
  auto params = std::make_shared<BroadcastParams>();
  params->elements = out.elements();
  params->inner = repeat->inner;
  params->period = repeat->period;
  return {run_broadcast, std::move(params), 0, 0};
}

std::optional<Repetition> repetition(const TensorType& in, const TensorType& out, const Dims& axes) {
  const int64_t elements = in.elements();
  if (elements == 1) return Repetition{out.elements(), 1};
  int64_t last = -1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (in.shape[i] == 1) continue;
    if (axes[i] <= last) return std::nullopt;
    for (int64_t between = last + 1; last >= 0 && between < axes[i]; ++between) {
      if (out.shape[between] != 1) return std::nullopt;
    }
    last = axes[i];
  }
  int64_t inner = 1;
  for (size_t axis = last + 1; axis < out.rank(); ++axis) inner *= out.shape[axis];
  return Repetition{inner, elements};
}

}  // namespace espalier
