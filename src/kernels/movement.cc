#include <algorithm>
#include <vector>

#include "ir/attribute_reader.h"
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

// Moves a box of elements between two arrays, and fills the rest of the result where there is a second
// operand.
struct BoxParams {
  struct Axis {
    int64_t size, from, to;  // steps in elements
  };
  std::vector<Axis> axes;  // outermost first; the last one is a row
  int64_t from = 0, to = 0, elements = 0;

  // Prepends an axis; runs it together with the next one where the steps allow it.
  void add(Axis axis) {
    if (axis.size == 1) return;
    if (!axes.empty()) {
      Axis& next = axes.front();
      if (axis.from == next.from * next.size && axis.to == next.to * next.size) {
        next.size *= axis.size;
        return;
      }
    }
    axes.insert(axes.begin(), axis);
  }
};

template <class Word>
void move_box(std::span<const BoxParams::Axis> axes, const Word* from, Word* to) {
  const BoxParams::Axis& axis = axes[0];
  if (axes.size() > 1) {
    for (int64_t i = 0; i < axis.size; ++i) move_box(axes.subspan(1), from + i * axis.from, to + i * axis.to);
  } else if (axis.from == 1 && axis.to == 1) {
    std::copy_n(from, axis.size, to);
  } else {
    for (int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

template <class Word>
void run_slice(const KernelCall& call) {
  const auto& p = *static_cast<const BoxParams*>(call.params);
  move_box<Word>(p.axes, static_cast<const Word*>(call.in[0]) + p.from,
                 static_cast<Word*>(call.out[0]) + p.to);
}

template <class Word>
void run_pad(const KernelCall& call) {
  const auto& p = *static_cast<const BoxParams*>(call.params);
  std::fill_n(static_cast<Word*>(call.out[0]), p.elements, *static_cast<const Word*>(call.in[1]));
  run_slice<Word>(call);
}

PreparedKernel prepared_box(const KernelSite& site, BoxParams box, void (*run_32)(const KernelCall&),
                            void (*run_16)(const KernelCall&)) {
  // Without axes it is one element.
  if (box.axes.empty()) box.axes.push_back({1, 1, 1});
  return {size_of(site.dtype) == 4 ? run_32 : run_16, std::make_shared<BoxParams>(std::move(box)), 0, 0};
}

}  // namespace

PreparedKernel prepare_slice(const KernelSite& site) {
  const Shape &in = site.inputs[0]->shape, &out = site.outputs[0]->shape;
  const Dims start = read_dims(site.attributes, "start_indices"),
             steps = read_dims(site.attributes, "strides");
  const Dims in_strides = row_major_strides(in), out_strides = row_major_strides(out);
  BoxParams box;
  for (size_t i = in.size(); i-- > 0;) {
    box.from += start[i] * in_strides[i];
    box.add({out[i], in_strides[i] * steps[i], out_strides[i]});
  }
  return prepared_box(site, std::move(box), run_slice<uint32_t>, run_slice<uint16_t>);
}

PreparedKernel prepare_pad(const KernelSite& site) {
  const Shape &in = site.inputs[0]->shape, &out = site.outputs[0]->shape;
  const Dims low = read_dims(site.attributes, "edge_padding_low"),
             interior = read_dims(site.attributes, "interior_padding");
  const Dims in_strides = row_major_strides(in), out_strides = row_major_strides(out);
  BoxParams box;
  box.elements = site.outputs[0]->elements();
  for (size_t i = in.size(); i-- > 0;) {
    // Elements [first, end) of the operand land inside of the result: 0 <= low + element * step < out.
    const int64_t step = interior[i] + 1, room = out[i] - low[i];
    const int64_t first = low[i] < 0 ? (-low[i] + step - 1) / step : 0;
    const int64_t end = std::min(in[i], room > 0 ? (room + step - 1) / step : 0);
    box.from += first * in_strides[i];
    box.to += (low[i] + first * step) * out_strides[i];
    box.add({std::max<int64_t>(end - first, 0), in_strides[i], out_strides[i] * step});
  }
  return prepared_box(site, std::move(box), run_pad<uint32_t>, run_pad<uint16_t>);
}

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
