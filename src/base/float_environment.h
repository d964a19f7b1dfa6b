// The one floating-point mode of all arithmetic: round to nearest even, subnormals are zero on input and
// output.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace espalier {

#if defined(__SSE__)
// Exceptions masked, round to nearest, flush to zero, subnormal operands are zero.
inline constexpr unsigned kFloatMode = 0x1f80u | 0x8000u | 0x0040u;

// Sets the mode on this thread, and puts the caller's back.
class FloatEnvironment {
 public:
  FloatEnvironment() : previous_(_mm_getcsr()) {
    if ((previous_ & kMask) != kFloatMode) _mm_setcsr(kFloatMode);
  }
  ~FloatEnvironment() {
    if ((previous_ & kMask) != kFloatMode) _mm_setcsr(previous_);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  static constexpr unsigned kMask = 0xffc0u;  // without the sticky exception flags
  unsigned previous_;
};
#else
class FloatEnvironment {
 public:
  FloatEnvironment() {}
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
};
#endif

}  // namespace espalier
