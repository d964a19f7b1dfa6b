// What the kernels of gather, scatter and dynamic_update_slice share: index vectors, and the windows of an
// operand that they address. Places and steps are in bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "ir/dispatch.h"
#include "ops/indexed.h"

namespace espalier {

// Elements of a box that stands in two arrays: runs that lie together in both, and the axes around them.
struct IndexedBox {
  struct Axis {
    int64_t size, array, operand;  // steps
  };
  std::vector<Axis> axes;  // outermost first
  int64_t run = 0;         // bytes
  int64_t bytes = 0;       // of all runs

  // `all`: the axes of a box of elements of `element` bytes.
  IndexedBox(std::span<const Axis> all, int64_t element) : run(element), bytes(element) {
    for (size_t i = all.size(); i-- > 0;) {
      Axis axis = all[i];
      bytes *= axis.size;
      if (axis.size == 1) continue;
      if (axes.empty() && axis.array == run && axis.operand == run) {
        run *= axis.size;
      } else if (!axes.empty() && axis.array == axes[0].array * axes[0].size &&
                 axis.operand == axes[0].operand * axes[0].size) {
        axes[0].size *= axis.size;
      } else {
        axes.insert(axes.begin(), axis);
      }
    }
  }
  IndexedBox() = default;
};

// Calls f(place in the array, place in the operand) for each run of a box.
template <class F>
void each_run(std::span<const IndexedBox::Axis> axes, int64_t array, int64_t operand, const F& f) {
  if (axes.empty()) return f(array, operand);
  const IndexedBox::Axis axis = axes[0];
  if (axes.size() == 1) {
    for (int64_t i = 0; i < axis.size; ++i) f(array + i * axis.array, operand + i * axis.operand);
  } else {
    for (int64_t i = 0; i < axis.size; ++i)
      each_run(axes.subspan(1), array + i * axis.array, operand + i * axis.operand, f);
  }
}

inline void copy_run(const std::byte* from, std::byte* to, int64_t bytes) {
  switch (bytes) {
    case 1:
      *to = *from;
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

// Elements of an integer array as read_indices gives them.
struct IndexReader {
  const void* data;
  DType dtype;

  int64_t operator[](int64_t i) const {
    if (dtype == DType::kI32) return static_cast<const int32_t*>(data)[i];
    return visit_integral(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      constexpr int64_t kFar = int64_t{1} << 61;
      const T x = static_cast<const T*>(data)[i];
      if constexpr (std::is_same_v<T, uint64_t>) {
        return static_cast<int64_t>(std::min<uint64_t>(x, kFar));
      } else {
        return std::clamp(static_cast<int64_t>(x), -kFar, kFar);
      }
    });
  }
};

// The index vectors of a call in row-major order.
struct IndexVectors {
  // `array` holds the windows: gather's result, or scatter's updates; `sizes` are those of a window.
  IndexVectors(const IndexAxes& axes, const TensorType& operand, const TensorType& indices,
               const Shape& array, const Shape& sizes);
  IndexVectors() = default;

  struct Axis {
    int64_t size, index, array, operand;  // `index`: in elements
  };
  struct Component {
    int64_t index;    // of its element, behind the vector's first
    int64_t operand;  // step
    int64_t last;     // start at which the window ends with the operand
    int64_t axis;     // of the operand
  };
  std::vector<Axis> axes;
  std::vector<Component> components;
  int64_t count = 1;
  DType dtype = DType::kI64;

  // Calls f(first element of the vector, place in the array, place in the operand without its components) for
  // vectors [first, last).
  template <class F>
  void each(int64_t first, int64_t last, const F& f) const {
    if (first >= last) return;
    if (axes.empty()) return f(0, 0, 0);
    const Axis& inner = axes.back();
    while (first < last) {
      int64_t rest = first, index = 0, array = 0, operand = 0;
      for (size_t i = axes.size(); i-- > 0; rest /= axes[i].size) {
        const int64_t at = rest % axes[i].size;
        index += at * axes[i].index;
        array += at * axes[i].array;
        operand += at * axes[i].operand;
      }
      const int64_t end = std::min(last, first - first % inner.size + inner.size);
      for (; first < end; ++first, index += inner.index, array += inner.array, operand += inner.operand)
        f(index, array, operand);
    }
  }
};

inline constexpr int64_t kIndexedParallelBytes = 1 << 18, kIndexedChunkBytes = 1 << 16;

// Of one result, before its updates: the operand, or `splat` in all elements where that is given.
void begin_result(ThreadPool& pool, const void* operand, const void* splat, int64_t element, int64_t bytes,
                  void* result);

}  // namespace espalier
