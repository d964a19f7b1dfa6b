#include "kernels/indexed.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

struct UpdateSliceParams {
  struct Start {
    int64_t last, operand;  // the largest, and its step
  };
  std::vector<Start> starts;
  DType start_dtype = DType::kI64;
  IndexedBox box;
  int64_t element = 1, bytes = 0;
  bool filled = false;
  std::byte splat[8] = {};
};

void run_dynamic_update_slice(const KernelCall& call) {
  const auto& p = *static_cast<const UpdateSliceParams*>(call.params);
  begin_result(call.pool(), call.in[0], p.filled ? p.splat : nullptr, p.element, p.bytes, call.out[0]);
  int64_t first = 0;
  for (size_t i = 0; i < p.starts.size(); ++i) {
    const IndexReader start{call.in[2 + i], p.start_dtype};
    first += std::clamp<int64_t>(start[0], 0, p.starts[i].last) * p.starts[i].operand;
  }
  const auto* from = static_cast<const std::byte*>(call.in[1]);
  std::byte* const to = static_cast<std::byte*>(call.out[0]) + first;
  const auto move = [&](std::span<const IndexedBox::Axis> axes, int64_t array, int64_t operand, int64_t run) {
    each_run(axes, array, operand, [&](int64_t in, int64_t out) { copy_run(from + in, to + out, run); });
  };
  const std::span<const IndexedBox::Axis> axes(p.box.axes);
  if (p.box.bytes < chunk_work(kIndexedParallelBytes)) {
    if (p.box.bytes) move(axes, 0, 0, p.box.run);
  } else if (axes.empty()) {
    const int64_t step = chunk_work(kIndexedChunkBytes);
    call.pool().parallel_for((p.box.run + step - 1) / step, [&](int64_t i) {
      move(axes, i * step, i * step, std::min(step, p.box.run - i * step));
    });
  } else {
    call.pool().parallel_for(axes[0].size, [&](int64_t i) {
      move(axes.subspan(1), i * axes[0].array, i * axes[0].operand, p.box.run);
    });
  }
}

}  // namespace

PreparedKernel prepare_dynamic_update_slice(const KernelSite& site) {
  const TensorType &operand = *site.inputs[0], &update = *site.inputs[1];
  auto params = std::make_shared<UpdateSliceParams>();
  params->element = static_cast<int64_t>(size_of(operand.dtype));
  params->bytes = static_cast<int64_t>(operand.bytes());
  if (const void* splat = site.splat(0)) {
    params->filled = true;
    std::memcpy(params->splat, splat, size_of(operand.dtype));
  }
  const Dims strides = row_major_strides(operand.shape), update_strides = row_major_strides(update.shape);
  std::vector<IndexedBox::Axis> box;
  for (size_t i = 0; i < operand.rank(); ++i) {
    box.push_back({update.shape[i], update_strides[i] * params->element, strides[i] * params->element});
    params->starts.push_back({operand.shape[i] - update.shape[i], strides[i] * params->element});
    params->start_dtype = site.inputs[2 + i]->dtype;
  }
  params->box = IndexedBox(box, params->element);
  return {run_dynamic_update_slice, std::move(params), 0, 1};
}

}  // namespace espalier
