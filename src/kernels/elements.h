// Types of elements in memory whose arithmetic is f32, and their numbers. Bf16 and F16 have no functions of
// their own: files of all instruction sets would share them.
#pragma once

#include <cstdint>

#include "base/elementary.h"

namespace espalier {

enum class Bf16 : uint16_t {};  // its bits
enum class F16 : uint16_t {};

namespace {

inline float number_of(float x) { return x; }
inline float number_of(Bf16 x) { return from_bf16(static_cast<uint16_t>(x)); }
inline float number_of(F16 x) { return from_f16(static_cast<uint16_t>(x)); }

inline void store_number(float x, float* out) { *out = x; }
inline void store_number(float x, Bf16* out) { *out = static_cast<Bf16>(to_bf16(x)); }
inline void store_number(float x, F16* out) { *out = static_cast<F16>(to_f16(x)); }

}  // namespace
}  // namespace espalier
