// reduce_window's attributes, which kernels and passes read too.
#pragma once

#include "ops/reducer.h"
#include "ops/window.h"

namespace espalier {

struct ReduceWindowAttributes final : Attributes {
  Reducer reducer = Reducer::kSum;
  Window window;
  void fields(FieldVisitor& v) override {
    v.word("reducer", reducer, kReducerWords);
    v.field("window_dimensions", window.sizes);
    v.field("window_strides", window.strides);
    v.field("base_dilations", window.base_dilations);
    v.field("window_dilations", window.window_dilations);
    visit_padding(v, window.low, window.high);
  }
};

// reduce_window with a named reducer from `initial`, a scalar of x's dtype.
Tensor reduce_window(const Tensor& x, const Tensor& initial, const Window& window, Reducer reducer);
// The same from the reducer's identity.
Tensor reduce_window(const Tensor& x, const Window& window, Reducer reducer);

}  // namespace espalier
