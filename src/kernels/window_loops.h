// Loops over windows whose elements are rows of channels, for pooling: included by loop_bodies.h alone.
#pragma once

#include "kernels/lanes.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

template <class T>
inline float rounded(float x) {
  T element;
  store_number(x, &element);
  return number_of(element);
}

// larger() or smaller() from the initial value over all taps. Zeros are told apart at the end: where the
// result is one, its sign is minus if all have it (or any, for the least).
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
  using Elements = std::conditional_t<sizeof(T) == 2, typename L::Half, Bits>;
  const int64_t taps = run.taps;
  const int64_t* const offsets = run.offsets;
  if (taps == 0) return;
  Float best = load_floats<L>(x + offsets[0]);
  Bits chosen = {};
  for (int64_t tap = 1; tap < taps; ++tap) {
    const Float value = load_floats<L>(x + offsets[tap]);
    const auto stays = kLargest ? best >= value : best <= value;
    best = stays ? best : value;
    chosen = stays ? chosen : Bits{} + static_cast<uint32_t>(tap);
  }
  float sums[L::kWidth];
  const Bits given = load_bits<L>(source);
  __builtin_memcpy(sums, &given, sizeof given);
  for (float& sum : sums) sum = rounded<T>(initial + sum);
  const auto in_memory = [](Bits bits) {
    T elements[L::kWidth];
    store_bits<L>(bits, elements);
    return load_as<Elements>(elements);
  };
  const Elements sum = in_memory(load_bits<L>(sums)), rest = in_memory(repeat<L>(initial)),
                 place = convert<Elements>(chosen);
  for (int64_t tap = 0; tap < taps; ++tap) {
    const auto here = static_cast<std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>(tap);
    store_as<Elements>(place == here ? sum : rest, out + offsets[tap]);
  }
}

// Calls one(lanes, window, channel) for blocks that cover all channels of all windows: blocks may overlap.
template <class F>
void each_block(const WindowRun& run, F one) {
  for (int64_t window = 0; window < run.count; ++window) {
    if (run.channels < kFloats) {
      for (int64_t c = 0; c < run.channels; ++c) one(Lanes<1>{}, window, c);
      continue;
    }
    for (int64_t c = 0; c + kFloats <= run.channels; c += kFloats) one(Lanes<kFloats>{}, window, c);
    if (run.channels % kFloats) one(Lanes<kFloats>{}, window, run.channels - kFloats);
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

}  // namespace
}  // namespace espalier
