// Walking arrays by index, for reference bodies that only move elements.
#pragma once

#include <algorithm>

#include "ir/dispatch.h"
#include "ir/op.h"

namespace espalier {

// Calls f(linear index of the result, source offset in elements) for each element of `shape` in row-major
// order, where the source offset is the dot product of the index with `strides`, plus `base`.
template <class F>
void walk(const Shape& shape, const Dims& strides, int64_t base, F f) {
  const int64_t n = num_elements(shape);
  if (n == 0) return;
  Dims index = Dims::filled(shape.size(), 0);
  int64_t source = base;
  for (int64_t i = 0; i < n; ++i) {
    f(i, source);
    for (size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

// Calls f with a pointer type of the width of `dtype`: movement does not care what the bytes mean.
template <class F>
void visit_width(DType dtype, F f) {
  switch (size_of(dtype)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

// out[i] = in[strided walk].
inline void gather_strided(const ArrayView& in, const MutableArrayView& out, const Dims& strides,
                           int64_t base) {
  visit_width(out.type->dtype, [&](auto word) {
    using Word = decltype(word);
    const Word* source = in.as<Word>();
    Word* destination = out.as<Word>();
    walk(out.type->shape, strides, base, [&](int64_t i, int64_t offset) { destination[i] = source[offset]; });
  });
}

// Calls f(offset in a, offset in b) for each index of `shape` in row-major order; an offset is its base plus
// the dot product of the index with its strides.
template <class F>
void walk_pair(const Shape& shape, const Dims& a_strides, int64_t a, const Dims& b_strides, int64_t b, F f) {
  const int64_t n = num_elements(shape);
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(a, b);
    for (size_t axis = shape.size(); axis-- > 0;) {
      a += a_strides[axis];
      b += b_strides[axis];
      if (++index[axis] < shape[axis]) break;
      a -= a_strides[axis] * shape[axis];
      b -= b_strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

// out[out_base + index * out_strides] = in[in_base + index * in_strides] for each index of the box.
inline void copy_box(const ArrayView& in, const Dims& in_strides, int64_t in_base,
                     const MutableArrayView& out, const Dims& out_strides, int64_t out_base,
                     const Shape& box) {
  visit_width(out.type->dtype, [&](auto word) {
    using Word = decltype(word);
    const Word* source = in.as<Word>();
    Word* destination = out.as<Word>();
    walk_pair(box, in_strides, in_base, out_strides, out_base,
              [&](int64_t from, int64_t to) { destination[to] = source[from]; });
  });
}

// The dot product of an index with strides.
inline int64_t offset_of(const Dims& index, const Dims& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

// Index values as i64, saturated to +-2^61: outside of every array, and sums of a few do not overflow.
// REQUIRES: integers.
inline std::vector<int64_t> read_indices(const ArrayView& view) {
  constexpr int64_t kFar = int64_t{1} << 61;
  std::vector<int64_t> out(static_cast<size_t>(view.type->elements()));
  visit_integral(view.type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = view.as<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, uint64_t>) {
        out[i] = x[i] > static_cast<uint64_t>(kFar) ? kFar : static_cast<int64_t>(x[i]);
      } else {
        out[i] = std::clamp(static_cast<int64_t>(x[i]), -kFar, kFar);
      }
    }
  });
  return out;
}

}  // namespace espalier
