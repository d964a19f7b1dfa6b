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

// This thread's, without the sticky exception flags.
inline unsigned float_mode() { return _mm_getcsr() & 0xffc0u; }
inline void set_float_mode(unsigned mode) {
  if (float_mode() != mode) _mm_setcsr(mode);
}

// Sets the mode on this thread, and puts the caller's back.
class FloatEnvironment {
 public:
  FloatEnvironment() : previous_(float_mode()) { set_float_mode(kFloatMode); }
  ~FloatEnvironment() { set_float_mode(previous_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  unsigned previous_;
};
#else
inline unsigned float_mode() { return 0; }
inline void set_float_mode(unsigned) {}

class FloatEnvironment {
 public:
  FloatEnvironment() {}
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
};
#endif

}  // namespace espalier
