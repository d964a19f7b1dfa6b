// Walking arrays by index, for reference bodies that only move elements.
#pragma once

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

}  // namespace espalier
