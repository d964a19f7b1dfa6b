// Padding of windows by Keras' words.
#pragma once

#include <algorithm>
#include <string>

#include "base/format.h"
#include "espalier/layers.h"

namespace espalier {

struct Padding {
  int64_t low = 0, high = 0;
};
// "valid": none. "same": so that the output has ceil(size / stride) places, the odd one behind.
inline Padding window_padding(const std::string& word, int64_t size, int64_t window, int64_t stride) {
  if (word == "valid") return {};
  const int64_t total = std::max<int64_t>(0, ((size + stride - 1) / stride - 1) * stride + window - size);
  return {total / 2, total - total / 2};
}

// Raises ValueError[rule.padding] for another word.
inline void require_padding(const char* rule, const std::string& word) {
  if (word != "valid" && word != "same")
    throw_unknown(cat(rule, ".padding"), "padding", word, {"valid", "same"});
}

// Raises ShapeError[rule.rank] unless x is [batch, height, width, channels].
inline void require_image(const char* rule, const TensorType& x) {
  if (x.rank() != 4)
    throw ShapeError(cat(rule, ".rank"), cat("takes [batch, height, width, channels], got ", x));
}
// Raises ShapeError[rule.window] when a "valid" window is larger than the image x.
inline void require_fit(const char* rule, const std::string& padding, const Dims& window,
                        const TensorType& x) {
  if (padding == "valid" && (window[0] > x.shape[1] || window[1] > x.shape[2])) {
    throw ShapeError(cat(rule, ".window"), cat("a window of ", window, " does not fit into the image ", x),
                     "make the window smaller, or set .padding = \"same\"");
  }
}
// Raises ValueError[rule.window] unless both lists hold two positive numbers.
inline void require_window(const char* rule, const Dims& window, const Dims& strides) {
  for (const Dims* list : {&window, &strides}) {
    if (list->size() != 2 || (*list)[0] < 1 || (*list)[1] < 1) {
      throw ValueError(cat(rule, ".window"), cat("window and strides are two positive numbers each, got ",
                                                 window, " and ", strides));
    }
  }
}

}  // namespace espalier
