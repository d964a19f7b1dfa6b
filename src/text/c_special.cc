#include "text/c_function.h"

namespace espalier::c_text {
namespace {

const Function kSpecial[] = {
    {"cbrt_f32",
     {"bits_f32", "from_bits_f32"},
     R"(/* The cube root within 1 unit of the last place, by Newton's method from a third of the exponent. */
static float cbrt_f32(float x) {
  const float size = x < 0.0f ? -x : x;
  const int small = size < 1.17549435e-38f;
  const float y = small ? size * 16777216.0f : size;
  float root;
  if (x == 0.0f || !(x - x == 0.0f)) return x;
  root = from_bits_f32(bits_f32(y) / 3u + 0x2a512ce3u);
  root = root - (root - y / (root * root)) * (1.0f / 3);
  root = root - (root - y / (root * root)) * (1.0f / 3);
  root = root - (root - y / (root * root)) * (1.0f / 3);
  root = small ? root * 0.00390625f : root;
  return x < 0.0f ? -root : root;
}
)"},
    {"remainder_f32",
     {"bits_f32", "from_bits_f32"},
     R"(/* x - y trunc(x / y), exactly, with the sign of x: long division of integers, 8 bits at a time. */
static float remainder_f32(float x, float y) {
  const uint32_t sign = bits_f32(x) & 0x80000000u, a = bits_f32(x) ^ sign, b = bits_f32(y) & 0x7fffffffu;
  const uint32_t last = b >> 23 ? b >> 23 : 1u, by = b >> 23 ? (b & 0x7fffffu) | 0x800000u : b;
  uint32_t e = a >> 23 ? a >> 23 : 1u, m = a >> 23 ? (a & 0x7fffffu) | 0x800000u : a;
  if (b == 0u || b > 0x7f800000u || a >= 0x7f800000u) return 0.0f / 0.0f;
  if (a < b) return x;
  for (m %= by; e > last; m %= by) {
    const uint32_t step = e - last < 8u ? e - last : 8u;
    m <<= step;
    e -= step;
  }
  for (; m != 0u && m < 0x800000u && e > 1u; --e) m <<= 1;
  return from_bits_f32(sign | (m < 0x800000u ? m : (e << 23) + (m - 0x800000u)));
}
)"},
    {"lgamma_f32",
     {"series_f32", "log_f32", "rint_f32", "sine_f32"},
     R"(/* log |gamma(x)| within 4 units of the last place, below 0 within 6 of those of the larger of 1 and it.
   Stirling's series from 8 on; else (z - 1) (z - 2) times a Chebyshev series in z - 2 on [1, 3], where the
   recurrence leads from -16 on; reflection below. */
static float lgamma_f32(float x) {
  static const float g[] = {0.441489025f,    -0.111195803f,  0.0195104483f,   -0.00392246146f, 8.4789899e-4f,
                            -1.91538554e-4f, 4.45447018e-5f, -1.05728744e-5f, 2.54743369e-6f,  -6.20853588e-7f,
                            1.52676774e-7f,  -3.78263766e-8f, 9.42810082e-9f, -2.3619997e-9f};
  const float size = x < 0.0f ? -x : x;
  float z = x <= -16.0f ? 1.0f - x : x, product = 1.0f, value, s;
  if (!(size <= 3.40282347e+38f)) return size;
  if (size < 1e-9f) return -log_f32(size);
  if (x < 0.0f && rint_f32(x) == x) return 1.0f / 0.0f;
  if (z >= 8.0f) {
    s = 1.0f / z;
    value = s * (1.0f / 12 - s * s * (1.0f / 360 - s * s * (1.0f / 1260)));
    value = (z - 0.5f) * (log_f32(z) - 1.0f) + (0.918938533f - 0.5f + value);
  } else if (z > 0.0f && z < 1.0f) {
    value = z * (z - 1.0f) * series_f32(g, 14, z - 1.0f) - log_f32(z);
  } else {
    for (; z >= 3.0f; z -= 1.0f) product *= z - 1.0f;
    for (; z < 1.0f; z += 1.0f) product *= z;
    /* Added to zero, so that no zero has a sign. */
    value = 0.0f + (z - 1.0f) * (z - 2.0f) * series_f32(g, 14, z - 2.0f);
    if (x < 0.0f) return value - log_f32(product < 0.0f ? -product : product);
    if (product > 1.0f) value += log_f32(product);
  }
  if (!(x < 0.0f)) return value;
  s = sine_f32(3.14159265f * (x - rint_f32(x)));
  return log_f32(3.14159265f / (s < 0.0f ? -s : s)) - value;
}
)"},
    {"reduced_f32",
     {"bits_f32", "from_bits_f32"},
     R"(/* x with fewer bits of exponent and mantissa: to nearest even, infinite beyond their range, 0 below it. */
static float reduced_f32(float x, int32_t exponent, int32_t mantissa) {
  const uint32_t sign = bits_f32(x) & 0x80000000u;
  uint32_t size = bits_f32(x) ^ sign;
  if (size > 0x7f800000u) return x;
  if (mantissa < 23) {
    const int32_t drop = 23 - mantissa;
    size += (1u << (drop - 1)) - 1u + (size >> drop & 1u);
    size = size >> drop << drop;
  }
  if (exponent < 8 && size < 0x7f800000u) {
    const int32_t range = (1 << (exponent - 1)) - 1, e = (int32_t)(size >> 23) - 127;
    size = e > range ? 0x7f800000u : e < 1 - range ? 0u : size;
  }
  return from_bits_f32(sign | size);
}
)"},
    {"ones_u64",
     {},
     R"(/* How many bits are set. */
static uint32_t ones_u64(uint64_t x) {
  uint32_t count = 0u;
  for (; x; x &= x - 1u) ++count;
  return count;
}
)"},
    {"width_u64",
     {},
     R"(/* How many bits x takes without leading zeros. */
static uint32_t width_u64(uint64_t x) {
  uint32_t count = 0u;
  for (; x; x >>= 1) ++count;
  return count;
}
)"},
};

}  // namespace

std::span<const Function> special_functions() { return kSpecial; }

}  // namespace espalier::c_text
