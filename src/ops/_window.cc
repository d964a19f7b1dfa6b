#include <algorithm>

#include "ops/window.h"

namespace espalier {
namespace {

// Sizes, paddings and dilations up to this one cannot overflow when they are multiplied and added.
constexpr int64_t kLargest = int64_t{1} << 30;

}  // namespace

int64_t Window::count(size_t i, int64_t size) const {
  const int64_t padded = dilated(size, base_dilation(i)) + pad_low(i) + pad_high(i);
  return padded <= 0 || span(i) > padded ? 0 : (padded - span(i)) / stride(i) + 1;
}

std::vector<int64_t> Window::positions(size_t i, int64_t size) const {
  std::vector<int64_t> out;
  for (int64_t at = 0, n = count(i, size); at < n; ++at) {
    for (int64_t k = 0; k < sizes[i]; ++k) out.push_back(position(i, size, at, k));
  }
  return out;
}

Window Window::transposed(const Shape& shape) const {
  Window out{sizes, base_dilations, strides, window_dilations, {}, {}};
  for (size_t i = 0; i < rank(); ++i) {
    const int64_t windows = dilated(count(i, shape[i]), stride(i));
    out.low.push_back(span(i) - 1 - pad_low(i));
    out.high.push_back(dilated(shape[i], base_dilation(i)) + pad_low(i) - windows);
  }
  return out;
}

void visit_padding(FieldVisitor& v, Dims& low, Dims& high) {
  const size_t rank = std::max(low.size(), high.size());
  Dims pairs;
  for (size_t i = 0; i < rank; ++i) {
    pairs.push_back(i < low.size() ? low[i] : 0);
    pairs.push_back(i < high.size() ? high[i] : 0);
  }
  const Dims before = pairs;
  v.field("padding", pairs);
  if (pairs == before) return;
  low = high = {};
  for (size_t i = 0; i < pairs.size(); ++i) (i % 2 ? high : low).push_back(pairs[i]);
}

void require_window(const InferContext& c, const Window& w, const Shape& base, const char* lengths,
                    const char* values) {
  const size_t rank = base.size();
  c.require(w.sizes.size() == rank, lengths, "the window needs one size for each of ", rank, " axes, got ",
            w.sizes);
  const auto optional = [&](const Dims& list, const char* what, int64_t least) {
    c.require(list.empty() || list.size() == rank, lengths, what, " must have one entry for each of ", rank,
              " axes, got ", list);
    for (const int64_t value : list)
      c.require(value >= least && value <= kLargest, values, what, " must lie in ", least, " to ", kLargest,
                ", got ", list);
  };
  optional(w.strides, "strides", 1);
  optional(w.base_dilations, "base dilations", 1);
  optional(w.window_dilations, "window dilations", 1);
  optional(w.low, "low padding", -kLargest);
  optional(w.high, "high padding", -kLargest);
  optional(w.sizes, "window sizes", 0);
  optional(base, "axes", 0);
}

Window with_leading_axis(Window window) {
  window.sizes.insert(0, 1);
  for (Dims* list : {&window.strides, &window.base_dilations, &window.window_dilations}) {
    if (!list->empty()) list->insert(0, 1);
  }
  for (Dims* list : {&window.low, &window.high}) {
    if (!list->empty()) list->insert(0, 0);
  }
  return window;
}

Shape window_counts(const Window& window, const Shape& base) {
  Shape out;
  for (size_t i = 0; i < base.size(); ++i) out.push_back(window.count(i, base[i]));
  return out;
}

}  // namespace espalier
