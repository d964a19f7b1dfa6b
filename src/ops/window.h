// Sliding windows over axes: convolution, reduce_window and select_and_scatter share one arithmetic of sizes
// and positions.
#pragma once

#include "ops/call.h"

namespace espalier {

// The attributes of a window, one entry an axis. An empty list stands for its default: strides and dilations
// 1, padding 0.
struct Window {
  Dims sizes, strides, base_dilations, window_dilations, low, high;

  size_t rank() const { return sizes.size(); }
  int64_t stride(size_t i) const { return strides.empty() ? 1 : strides[i]; }
  int64_t base_dilation(size_t i) const { return base_dilations.empty() ? 1 : base_dilations[i]; }
  int64_t window_dilation(size_t i) const { return window_dilations.empty() ? 1 : window_dilations[i]; }
  int64_t pad_low(size_t i) const { return low.empty() ? 0 : low[i]; }
  int64_t pad_high(size_t i) const { return high.empty() ? 0 : high[i]; }
  // The extent of the window on axis i: its elements and the gaps between them.
  int64_t span(size_t i) const { return dilated(sizes[i], window_dilation(i)); }
  // How many windows fit on axis i of a base of `size`.
  int64_t count(size_t i, int64_t size) const;
  // The element of the base under element `k` of window `at` on axis i; -1 for padding or a gap.
  int64_t position(size_t i, int64_t size, int64_t at, int64_t k) const {
    const int64_t place = at * stride(i) + k * window_dilation(i) - pad_low(i), gap = base_dilation(i);
    return place < 0 || place % gap != 0 || place / gap >= size ? -1 : place / gap;
  }
  // Positions of all pairs (window, element) of axis i, windows outermost.
  std::vector<int64_t> positions(size_t i, int64_t size) const;
  // The windows whose sum of contributions is the gradient of a sum over windows of this kind, for a base of
  // `shape`: strides and base dilations change places, and padding follows.
  Window transposed(const Shape& shape) const;

  static int64_t dilated(int64_t size, int64_t dilation) { return size == 0 ? 0 : (size - 1) * dilation + 1; }
};

// The field `padding`: low and high of each axis in turn.
void visit_padding(FieldVisitor& v, Dims& low, Dims& high);
// Requires of `window` over a base of `rank` axes: `lengths`: every list is empty or has one entry an axis;
// `values`: strides and dilations are positive, sizes are not negative, and padding takes away no more than
// there is.
void require_window(const InferContext& c, const Window& window, const Shape& base, const char* lengths,
                    const char* values);
// The window with a new first axis of size 1.
Window with_leading_axis(Window window);
// The number of windows on each axis.
Shape window_counts(const Window& window, const Shape& base);

}  // namespace espalier
