// The bodies of the loop table, compiled once for each instruction set: included by loops_<isa>.cc alone.
#pragma once

#include "base/elementary.h"
#include "kernels/loops.h"
#include "kernels/select_larger.h"
#include "kernels/unroll.h"
#include "kernels/window_loops.h"

namespace espalier {
namespace {

constexpr int64_t kLanes = 16, kColumns = 128;

// Lanes fold in halves: a tree that depends on kLanes alone.
template <class T, class F>
T fold(T (&lanes)[kLanes], F combine) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

template <class T, class F>
void rows_of(const float* x, float* out, int64_t rows, int64_t length, float init, T identity, F combine) {
  int64_t row = 0;
  // Rows shorter than the lanes: as many rows at once, each in its order.
  for (; length < kLanes && row + kLanes <= rows; row += kLanes, x += kLanes * length) {
    T totals[kLanes];
    for (T& total : totals) total = init;
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        totals[lane] = combine(totals[lane], static_cast<T>(x[lane * length + i]));
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) out[row + lane] = static_cast<float>(totals[lane]);
  }
  for (; row < rows; ++row, x += length) {
    T total = init;
    const int64_t whole = length / kLanes * kLanes;
    if (whole) {
      T lanes[kLanes];
      for (T& lane : lanes) lane = identity;
      for (int64_t i = 0; i < whole; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane)
          lanes[lane] = combine(lanes[lane], static_cast<T>(x[i + lane]));
      }
      total = combine(total, fold(lanes, combine));
    }
    for (int64_t i = whole; i < length; ++i) total = combine(total, static_cast<T>(x[i]));
    out[row] = static_cast<float>(total);
  }
}

template <class F>
void columns_of(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init,
                F combine) {
  float totals[kColumns];
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t count = columns - first < kColumns ? columns - first : kColumns;
    for (int64_t j = 0; j < count; ++j) totals[j] = init;
    for (int64_t i = 0; i < rows; ++i) {
      const float* row = x + i * stride + first;
      ESPALIER_VECTOR_LOOP
      for (int64_t j = 0; j < count; ++j) totals[j] = combine(totals[j], row[j]);
    }
    for (int64_t j = 0; j < count; ++j) out[first + j] = totals[j];
  }
}

// `Vectors` vectors of columns, so that as many sums are in flight.
template <class L, int Vectors, class T>
void add_vectors(const T* x, int64_t rows, int64_t stride, double* totals) {
  typename L::Double sums[Vectors];
  ESPALIER_UNROLL
  for (int v = 0; v < Vectors; ++v) sums[v] = load_as<typename L::Double>(totals + v * L::kWidth);
  for (int64_t i = 0; i < rows; ++i, x += stride) {
    ESPALIER_UNROLL
    for (int v = 0; v < Vectors; ++v)
      sums[v] += convert<typename L::Double>(load_floats<L>(x + v * L::kWidth));
  }
  ESPALIER_UNROLL
  for (int v = 0; v < Vectors; ++v) store_as(sums[v], totals + v * L::kWidth);
}

template <class T>
void add_columns(const T* x, int64_t rows, int64_t columns, int64_t stride, double* totals) {
  const auto add = [&]<class L, int Vectors>() {
    constexpr int64_t kStep = L::kWidth * Vectors;
    for (; columns >= kStep; columns -= kStep, x += kStep, totals += kStep)
      add_vectors<L, Vectors>(x, rows, stride, totals);
  };
  add.template operator()<Lanes<kDoubles>, 8>();
  add.template operator()<Lanes<kDoubles>, 4>();
  add.template operator()<Lanes<kDoubles>, 1>();
  add.template operator()<Lanes<1>, 1>();
}

constexpr auto kAdd = [](double a, double b) { return a + b; };
constexpr auto kLarger = [](float a, float b) { return larger(a, b); };
constexpr auto kSmaller = [](float a, float b) { return smaller(a, b); };

void sum_rows(const float* x, float* out, int64_t rows, int64_t length, float init) {
  rows_of<double>(x, out, rows, length, init, 0.0, kAdd);
}
void max_rows(const float* x, float* out, int64_t rows, int64_t length, float init) {
  rows_of<float>(x, out, rows, length, init, -__builtin_inff(), kLarger);
}
void min_rows(const float* x, float* out, int64_t rows, int64_t length, float init) {
  rows_of<float>(x, out, rows, length, init, __builtin_inff(), kSmaller);
}
void max_columns(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init) {
  columns_of(x, out, rows, columns, stride, init, kLarger);
}
void min_columns(const float* x, float* out, int64_t rows, int64_t columns, int64_t stride, float init) {
  columns_of(x, out, rows, columns, stride, init, kSmaller);
}

void exp_below(const float* x, const float* top, float* out, int64_t rows, int64_t length) {
  for (int64_t i = 0; i < rows; ++i) {
    const float t = top[i];
    ESPALIER_VECTOR_LOOP
    for (int64_t k = 0; k < length; ++k) out[i * length + k] = x[i * length + k] - t;
  }
  // All rows at once: short ones would leave most of a vector empty.
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < rows * length; ++i) out[i] = elementary_exp(out[i]);
}
void divide_rows(float* x, const float* factor, int64_t rows, int64_t length) {
  for (int64_t i = 0; i < rows; ++i) {
    const float f = factor[i];
    ESPALIER_VECTOR_LOOP
    for (int64_t k = 0; k < length; ++k) x[i * length + k] /= f;
  }
}
void multiply_rows(float* x, const float* factor, int64_t rows, int64_t length) {
  for (int64_t i = 0; i < rows; ++i) {
    const float f = factor[i];
    ESPALIER_VECTOR_LOOP
    for (int64_t k = 0; k < length; ++k) x[i * length + k] *= f;
  }
}

void add_arrays(const float* x, int64_t stride, int64_t arrays, float* out, int64_t n) {
  for (int64_t k = 0; k < arrays; ++k, x += stride) {
    ESPALIER_VECTOR_LOOP
    for (int64_t i = 0; i < n; ++i) out[i] += x[i];
  }
}

template <class T>
void widen(const T* x, float* out, int64_t n) {
  if constexpr (std::is_same_v<T, F16>) return widen_array(x, out, n);
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = number_of(x[i]);
}
template <class T>
void round(const float* x, T* out, int64_t n) {
  if constexpr (std::is_same_v<T, F16>) return round_array(x, out, n);
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i) store_number(x[i], out + i);
}

template <class T>
void adam(const AdamStep& step, const float* p, const float* m, const float* v, const T* gradient,
          float* p_out, float* m_out, float* v_out, int64_t n) {
  const AdamStep s = step;
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const float g = number_of(gradient[i]) * s.scale, m_old = m[i], v_old = v[i], x = p[i];
    const float m_new = m_old + (g - m_old) * s.keep_1;
    const float v_new = v_old + (g * g - v_old) * s.keep_2;
    const float shrunk = s.decay != 0 ? x - x * s.decay : x;
    p_out[i] = shrunk - m_new * s.alpha / (__builtin_sqrtf(v_new) + s.epsilon);
    m_out[i] = m_new;
    v_out[i] = v_new;
  }
}

template <class T>
constexpr ElementLoops<T> kElementLoops = {add_columns<T>,
                                           reduce_windows<true, T>,
                                           reduce_windows<false, T>,
                                           scatter_windows<true, T>,
                                           scatter_windows<false, T>,
                                           adam<T>,
                                           widen<T>,
                                           round<T>};

constexpr LoopTable kTable = {sum_rows,
                              max_rows,
                              max_columns,
                              min_rows,
                              min_columns,
                              exp_below,
                              divide_rows,
                              multiply_rows,
                              add_arrays,
                              kElementLoops<float>,
                              kElementLoops<Bf16>,
                              kElementLoops<F16>};

}  // namespace
}  // namespace espalier
