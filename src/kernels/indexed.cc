#include "kernels/indexed.h"

#include "ir/literal.h"

namespace espalier {

IndexVectors::IndexVectors(const IndexAxes& numbers, const TensorType& operand, const TensorType& indices,
                           const Shape& array, const Shape& sizes)
    : dtype(indices.dtype) {
  const auto element = static_cast<int64_t>(size_of(operand.dtype));
  const Dims strides = row_major_strides(operand.shape), index_strides = row_major_strides(indices.shape),
             array_strides = row_major_strides(array);
  const auto vector_axis = static_cast<size_t>(numbers.index_vector);
  const int64_t step = vector_axis < index_strides.size() ? index_strides[vector_axis] : 0;
  for (size_t i = 0; i < numbers.index_map.size(); ++i) {
    const int64_t axis = numbers.index_map[i];
    components.push_back(
        {static_cast<int64_t>(i) * step, strides[axis] * element, operand.shape[axis] - sizes[axis], axis});
  }
  size_t array_axis = array.size();
  for (size_t i = indices.rank(); i-- > 0;) {
    if (i == vector_axis) continue;
    while (numbers.window.contains(static_cast<int64_t>(--array_axis))) {
    }
    Axis axis{indices.shape[i], index_strides[i], array_strides[array_axis] * element, 0};
    for (size_t k = 0; k < numbers.indices_batching.size(); ++k) {
      if (numbers.indices_batching[k] == static_cast<int64_t>(i))
        axis.operand = strides[numbers.operand_batching[k]] * element;
    }
    count *= axis.size;
    if (axis.size == 1) continue;
    if (!axes.empty()) {
      Axis& next = axes.front();
      if (axis.index == next.index * next.size && axis.array == next.array * next.size &&
          axis.operand == next.operand * next.size) {
        next.size *= axis.size;
        continue;
      }
    }
    axes.insert(axes.begin(), axis);
  }
}

void begin_result(ThreadPool& pool, const void* operand, const void* splat, int64_t element, int64_t bytes,
                  void* result) {
  if (!splat && operand == result) return;
  const bool parallel = bytes >= chunk_work(kIndexedParallelBytes);
  // A multiple of every element's size.
  const int64_t chunk = parallel ? std::max<int64_t>(chunk_work(kIndexedChunkBytes), 8) : bytes;
  uint64_t bits = 0;
  if (splat) std::memcpy(&bits, splat, static_cast<size_t>(element));
  for_each_chunk(pool, bytes ? (bytes + chunk - 1) / chunk : 0, parallel, [&](int64_t i) {
    std::byte* const to = static_cast<std::byte*>(result) + i * chunk;
    const int64_t size = std::min(chunk, bytes - i * chunk);
    if (!splat) {
      std::memcpy(to, static_cast<const std::byte*>(operand) + i * chunk, static_cast<size_t>(size));
    } else if (bits == 0) {
      std::memset(to, 0, static_cast<size_t>(size));
    } else {
      fill_elements(to, &bits, static_cast<size_t>(element), size / element);
    }
  });
}

}  // namespace espalier
