// Loops of kernels that the compiler vectorises, one table for each instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/isa.h"
#include "kernels/elements.h"

namespace espalier {

struct AdamStep {
  float alpha, decay, epsilon, keep_1, keep_2, scale;  // decay 0: none
};
// `count` windows of rows of `channels` elements: the taps of window i lie at x + i * step + offsets[tap].
struct WindowRun {
  int64_t count, step, channels, taps;
  const int64_t* offsets;
};

// For elements of type T: float, Bf16 or F16.
template <class T>
struct ElementLoops {
  // totals[j] += x[i * stride + j] for i from 0 to rows - 1, in order; for j < columns.
  void (*add_columns)(const T* x, int64_t rows, int64_t columns, int64_t stride, double* totals);
  // out[i * channels + c] = the largest (least) of `initial` and channel c of the taps of window i: NaN wins,
  // -0 is below +0, subnormal numbers are zeros.
  void (*largest)(const T* x, const WindowRun& run, float initial, T* out);
  void (*least)(const T* x, const WindowRun& run, float initial, T* out);
  // Channel c of window i gives initial + source[i * channels + c], rounded once, to the place in `out` of
  // its tap that is chosen, `initial` to its others: the first tap stays chosen while it is >= (<=) the next.
  void (*scatter_largest)(const T* x, const T* source, const WindowRun& run, float initial, T* out);
  void (*scatter_least)(const T* x, const T* source, const WindowRun& run, float initial, T* out);
  // One step on n elements of a gradient; outputs may be their inputs.
  void (*adam)(const AdamStep& step, const float* p, const float* m, const float* v, const T* gradient,
               float* p_out, float* m_out, float* v_out, int64_t n);
  // To f32, and to the nearest T, of two as near to the even one.
  void (*widen)(const T* x, float* out, int64_t n);
  void (*round)(const float* x, T* out, int64_t n);
};

struct LoopTable {
  // out[i] = init + sum of x[i * length] to x[i * length + length - 1], in double, by 16 interleaved lanes.
  void (*sum_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  // The largest and least elements of rows of `length`, and of columns: NaN wins, -0 is below +0.
  void (*max_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  void (*max_columns)(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init);
  void (*min_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  void (*min_columns)(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init);
  // out[i * length + k] = e^(x[i * length + k] - top[i]).
  void (*exp_below)(const float* x, const float* top, float* out, int64_t rows, int64_t length);
  // x[i * length + k] is divided by, or multiplied with, factor[i].
  void (*divide_rows)(float* x, const float* factor, int64_t rows, int64_t length);
  void (*multiply_rows)(float* x, const float* factor, int64_t rows, int64_t length);
  // out[i] += x[i], then x[stride + i], up to `arrays` arrays; for i < n.
  void (*add_arrays)(const float* x, int64_t stride, int64_t arrays, float* out, int64_t n);
  ElementLoops<float> f32;
  ElementLoops<Bf16> bf16;
  ElementLoops<F16> f16;

  template <class T>
  const ElementLoops<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else if constexpr (std::is_same_v<T, Bf16>) {
      return bf16;
    } else {
      return f16;
    }
  }
};
extern const LoopTable loop_table_portable, loop_table_avx2, loop_table_avx512;
const LoopTable& loop_table();

}  // namespace espalier
