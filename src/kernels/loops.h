// Loops of kernels that the compiler vectorises, one table for each instruction set.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace espalier {

struct AdamStep {
  float alpha, decay, epsilon, keep_1, keep_2, scale;  // decay 0: none
};

struct LoopTable {
  // out[i] = init + sum of x[i * length] to x[i * length + length - 1], in double, by 16 interleaved lanes.
  void (*sum_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  // out[j] = init + sum over i of x[i * stride + j], in double, in order; for j < columns.
  void (*sum_columns)(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init);
  // The same for the largest and least elements: NaN wins, -0 is below +0.
  void (*max_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  void (*max_columns)(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init);
  void (*min_rows)(const float* x, float* out, int64_t rows, int64_t length, float init);
  void (*min_columns)(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init);
  // out[i * length + k] = e^(x[i * length + k] - top[i]).
  void (*exp_below)(const float* x, const float* top, float* out, int64_t rows, int64_t length);
  // x[i * length + k] is divided by, or multiplied with, factor[i].
  void (*divide_rows)(float* x, const float* factor, int64_t rows, int64_t length);
  void (*multiply_rows)(float* x, const float* factor, int64_t rows, int64_t length);
  // out[i] becomes the larger (smaller) of itself and x[i].
  void (*fold_larger)(const float* x, float* out, int64_t n);
  void (*fold_smaller)(const float* x, float* out, int64_t n);
  // Where nothing is chosen yet, or best[i] >= x[i] (<=) does not hold, x[i] of `tap` is chosen.
  void (*choose_largest)(const float* x, int32_t tap, float* best, int32_t* chosen, int64_t n);
  void (*choose_least)(const float* x, int32_t tap, float* best, int32_t* chosen, int64_t n);
  // out[i] = initial + x[i], summed in double and rounded once, where `tap` is chosen; initial elsewhere.
  void (*give_chosen)(const float* x, const int32_t* chosen, int32_t tap, float initial, float* out,
                      int64_t n);
  // out[i] += x[i], then x[stride + i], up to `arrays` arrays; for i < n.
  void (*add_arrays)(const float* x, int64_t stride, int64_t arrays, float* out, int64_t n);
  // Between bf16 and f32; rounding is to nearest even.
  void (*widen)(const uint16_t* x, float* out, int64_t n);
  void (*round)(const float* x, uint16_t* out, int64_t n);
  // One step on n elements; outputs may be their inputs.
  void (*adam)(const AdamStep& step, const float* p, const float* m, const float* v, const float* gradient,
               float* p_out, float* m_out, float* v_out, int64_t n);
};
extern const LoopTable loop_table_portable, loop_table_avx2, loop_table_avx512;
const LoopTable& loop_table();

}  // namespace espalier
