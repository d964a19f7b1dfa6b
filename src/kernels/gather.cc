#include "ir/attribute_reader.h"
#include "kernels/indexed.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

struct GatherParams {
  IndexVectors vectors;
  IndexedBox window;
  size_t result_bytes = 0;
};

// Nothing can be read of an operand without elements.
void run_gather_of_nothing(const KernelCall& call) {
  std::memset(call.out[0], 0, static_cast<const GatherParams*>(call.params)->result_bytes);
}

void run_gather(const KernelCall& call) {
  const auto& p = *static_cast<const GatherParams*>(call.params);
  const auto* from = static_cast<const std::byte*>(call.in[0]);
  auto* to = static_cast<std::byte*>(call.out[0]);
  const IndexReader indices{call.in[1], p.vectors.dtype};
  const auto each_window = [&](int64_t first, int64_t last) {
    p.vectors.each(first, last, [&](int64_t index, int64_t array, int64_t operand) {
      for (const IndexVectors::Component& c : p.vectors.components)
        operand += std::clamp<int64_t>(indices[index + c.index], 0, c.last) * c.operand;
      each_run(p.window.axes, array, operand,
               [&](int64_t out, int64_t in) { copy_run(from + in, to + out, p.window.run); });
    });
  };
  if (p.vectors.count * p.window.bytes < chunk_work(kIndexedParallelBytes))
    return each_window(0, p.vectors.count);
  const int64_t step = std::max<int64_t>(chunk_work(kIndexedChunkBytes) / p.window.bytes, 1);
  call.pool().parallel_for((p.vectors.count + step - 1) / step, [&](int64_t i) {
    each_window(i * step, std::min((i + 1) * step, p.vectors.count));
  });
}

IndexAxes axes_of_gather(const Attributes* attributes) {
  const auto dims = [&](const char* name) { return read_dims(attributes, name); };
  return {.window = dims("dimension_numbers.offset_dims"),
          .collapsed = dims("dimension_numbers.collapsed_slice_dims"),
          .operand_batching = dims("dimension_numbers.operand_batching_dims"),
          .indices_batching = dims("dimension_numbers.start_indices_batching_dims"),
          .index_map = dims("dimension_numbers.start_index_map"),
          .index_vector = read_integer(attributes, "dimension_numbers.index_vector_dim")};
}

}  // namespace

PreparedKernel prepare_gather(const KernelSite& site) {
  const TensorType &operand = *site.inputs[0], &out = *site.outputs[0];
  auto params = std::make_shared<GatherParams>();
  params->result_bytes = out.bytes();
  if (operand.elements() == 0) return {run_gather_of_nothing, std::move(params), 0, 0};
  const IndexAxes axes = axes_of_gather(site.attributes);
  // A window of no elements along an axis that the result has not starts inside of the operand, too.
  Shape sizes = read_dims(site.attributes, "slice_sizes");
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 1);
  const auto element = static_cast<int64_t>(size_of(operand.dtype));
  const Dims strides = row_major_strides(operand.shape), out_strides = row_major_strides(out.shape),
             kept = kept_axes(axes, operand.rank());
  std::vector<IndexedBox::Axis> box;
  for (size_t i = 0; i < kept.size(); ++i)
    box.push_back({sizes[kept[i]], out_strides[axes.window[i]] * element, strides[kept[i]] * element});
  params->window = IndexedBox(box, element);
  params->vectors = IndexVectors(axes, operand, *site.inputs[1], out.shape, sizes);
  return {run_gather, std::move(params), 0, 0};
}

}  // namespace espalier
