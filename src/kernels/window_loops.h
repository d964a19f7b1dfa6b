// Loops over windows whose elements are rows of channels, for pooling: included by loop_bodies.h alone.
#pragma once

#include "base/elementary.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

// What a block of channels is held in: a register, and one float for those that do not fill any.
struct OneLane {
  static constexpr int64_t kWidth = 1;
  using Float = float;
  using Bits = uint32_t;
  static Bits widened(uint16_t x) { return x; }
  static uint16_t narrowed(Bits x) { return static_cast<uint16_t>(x); }
  using Half = uint16_t;
};
struct AllLanes {
  static constexpr int64_t kWidth = kVectorBytes / 4;
  typedef float Float __attribute__((vector_size(kVectorBytes)));
  typedef uint32_t Bits __attribute__((vector_size(kVectorBytes)));
  typedef uint16_t Half __attribute__((vector_size(kVectorBytes / 2)));
  static Bits widened(Half x) { return __builtin_convertvector(x, Bits); }
  static Half narrowed(Bits x) { return __builtin_convertvector(x, Half); }
};

// Between the bits of f32 and elements in memory; to bf16 it is exact or rounds to nearest even.
template <class L>
typename L::Bits load_bits(const float* p) {
  typename L::Bits out;
  __builtin_memcpy(&out, p, sizeof out);
  return out;
}
template <class L>
typename L::Bits load_bits(const uint16_t* p) {
  typename L::Half half;
  __builtin_memcpy(&half, p, sizeof half);
  return L::widened(half) << 16;
}
template <class L>
void store_bits(typename L::Bits x, float* p) {
  __builtin_memcpy(p, &x, sizeof x);
}
template <class L>
void store_bits(typename L::Bits x, uint16_t* p) {
  const typename L::Half half = L::narrowed(x >> 16);
  __builtin_memcpy(p, &half, sizeof half);
}
template <class L>
typename L::Bits repeat(float x) {
  return typename L::Bits{} + __builtin_bit_cast(uint32_t, x);
}
inline float rounded(float x, const float*) { return x; }
inline float rounded(float x, const uint16_t*) { return from_bf16(to_bf16(x)); }

// larger() or smaller() from the initial value over all taps. Zeros are told apart at the end: where the result
// is one, its sign is minus if all have it (or any, for the least).
template <class L, bool kLargest, class T>
void reduce_taps(const T* x, const WindowRun& run, float initial, T* out) {
  using Float = typename L::Float;
  using Bits = typename L::Bits;
  Bits signs = repeat<L>(initial);
  Float best = __builtin_bit_cast(Float, signs);
  for (int64_t tap = 0; tap < run.taps; ++tap) {
    const Bits bits = load_bits<L>(x + run.offsets[tap]);
    const Float value = __builtin_bit_cast(Float, bits);
    const auto passes = kLargest ? best < value : best > value;
    best = passes ? value : best;
    best = value == value ? best : value;
    signs = kLargest ? signs & bits : signs | bits;
  }
  const Bits bits = __builtin_bit_cast(Bits, best);
  store_bits<L>((bits & 0x7f800000u) != 0 ? bits : signs & 0x80000000u, out);
}

// The first tap stays chosen until one passes it; where a tap is chosen it gets initial + source.
template <class L, bool kLargest, class T>
void scatter_taps(const T* x, const T* source, const WindowRun& run, float initial, T* out) {
  using Float = typename L::Float;
  using Bits = typename L::Bits;
  if (run.taps == 0) return;
  Float best = __builtin_bit_cast(Float, load_bits<L>(x + run.offsets[0]));
  Bits chosen = {};
  for (int64_t tap = 1; tap < run.taps; ++tap) {
    const Float value = __builtin_bit_cast(Float, load_bits<L>(x + run.offsets[tap]));
    const auto stays = kLargest ? best >= value : best <= value;
    best = stays ? best : value;
    chosen = stays ? chosen : Bits{} + static_cast<uint32_t>(tap);
  }
  float sums[L::kWidth];
  const Bits given = load_bits<L>(source);
  __builtin_memcpy(sums, &given, sizeof given);
  for (float& sum : sums) sum = rounded(initial + sum, source);
  const Bits sum = load_bits<L>(sums), rest = repeat<L>(initial);
  for (int64_t tap = 0; tap < run.taps; ++tap)
    store_bits<L>(chosen == static_cast<uint32_t>(tap) ? sum : rest, out + run.offsets[tap]);
}

// Calls one(lanes, window, channel) for blocks that cover all channels of all windows: blocks may overlap.
template <class F>
void each_block(const WindowRun& run, F one) {
  constexpr int64_t kWidth = AllLanes::kWidth;
  for (int64_t window = 0; window < run.count; ++window) {
    if (run.channels < kWidth) {
      for (int64_t c = 0; c < run.channels; ++c) one(OneLane{}, window, c);
      continue;
    }
    for (int64_t c = 0; c + kWidth <= run.channels; c += kWidth) one(AllLanes{}, window, c);
    if (run.channels % kWidth) one(AllLanes{}, window, run.channels - kWidth);
  }
}

template <bool kLargest, class T>
void reduce_windows(const T* x, const WindowRun& run, float initial, T* out) {
  each_block(run, [&](auto lanes, int64_t window, int64_t c) {
    reduce_taps<decltype(lanes), kLargest>(x + window * run.step + c, run, initial,
                                           out + window * run.channels + c);
  });
}

template <bool kLargest, class T>
void scatter_windows(const T* x, const T* source, const WindowRun& run, float initial, T* out) {
  each_block(run, [&](auto lanes, int64_t window, int64_t c) {
    const int64_t at = window * run.step + c;
    scatter_taps<decltype(lanes), kLargest>(x + at, source + window * run.channels + c, run, initial,
                                            out + at);
  });
}

template <class T>
constexpr WindowLoops<T> kWindowLoops = {reduce_windows<true, T>, reduce_windows<false, T>,
                                         scatter_windows<true, T>, scatter_windows<false, T>};

}  // namespace
}  // namespace espalier
