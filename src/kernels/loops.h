// Loops of kernels that the compiler vectorises, one table for each instruction set.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace espalier {

struct AdamStep {
  float alpha, decay, epsilon, keep_1, keep_2, scale;  // decay 0: none
};
// One step on n elements, of a gradient in f32 or bf16; outputs may be their inputs.
template <class T>
using AdamLoop = void (*)(const AdamStep& step, const float* p, const float* m, const float* v,
                          const T* gradient, float* p_out, float* m_out, float* v_out, int64_t n);

// `count` windows of rows of `channels` elements: the taps of window i lie at x + i * step + offsets[tap].
struct WindowRun {
  int64_t count, step, channels, taps;
  const int64_t* offsets;
};

// For elements of type T, f32 or bf16 (its bits).
template <class T>
struct WindowLoops {
  // out[i * channels + c] = the largest (least) of `initial` and channel c of the taps of window i: NaN wins,
  // -0 is below +0, subnormal numbers are zeros.
  void (*largest)(const T* x, const WindowRun& run, float initial, T* out);
  void (*least)(const T* x, const WindowRun& run, float initial, T* out);
  // Channel c of window i gives initial + source[i * channels + c], rounded once, to the place in `out` of
  // its tap that is chosen, `initial` to its others: the first tap stays chosen while it is >= (<=) the next.
  void (*scatter_largest)(const T* x, const T* source, const WindowRun& run, float initial, T* out);
  void (*scatter_least)(const T* x, const T* source, const WindowRun& run, float initial, T* out);
};

struct LoopTable {
  // out[i] = init + sum of x[i * length] to x[i * length + length - 1], in double, by 16 interleaved lanes.
  void (*sum_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  // totals[j] += x[i * stride + j] for i from 0 to rows - 1, in order; for j < columns.
  void (*add_columns)(const float* x, int64_t rows, int64_t columns, int64_t stride, double* totals);
  void (*add_bf16_columns)(const uint16_t* x, int64_t rows, int64_t columns, int64_t stride, double* totals);
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
  WindowLoops<float> windows;
  WindowLoops<uint16_t> bf16_windows;
  // out[i] += x[i], then x[stride + i], up to `arrays` arrays; for i < n.
  void (*add_arrays)(const float* x, int64_t stride, int64_t arrays, float* out, int64_t n);
  // Between bf16 and f32; rounding is to nearest even.
  void (*widen)(const uint16_t* x, float* out, int64_t n);
  void (*round)(const float* x, uint16_t* out, int64_t n);
  AdamLoop<float> adam;
  AdamLoop<uint16_t> bf16_adam;
};
extern const LoopTable loop_table_portable, loop_table_avx2, loop_table_avx512;
const LoopTable& loop_table();

}  // namespace espalier
