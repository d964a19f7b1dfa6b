#include "text/c_function.h"

namespace espalier::c_text {
namespace {

// Polynomials are the minimax ones (Remez) of sin r / r, cos r and atan t / t in r^2 or t^2, rounded to f32;
// bits of 2 / pi and pi / 2 are cut, parts of pi / 4 rounded.
const Function kAngles[] = {
    {"quarter_turns_f32",
     {"bits_f32"},
     R"(/* x = n pi / 2 + r + rest for x >= 0: n modulo 4 is returned, |r| <= pi / 4. Integers hold the product of the
   24 bits of x and 96 bits of 2 / pi; bits before these 96 give multiples of 4. */
static uint32_t quarter_turns_f32(float x, float *r, float *rest) {
  static const uint32_t two_over_pi[] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                         0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  const uint32_t bits = bits_f32(x), m = (bits & 0x7fffffu) | 0x800000u;
  uint32_t first, shift, high, middle, low, n, up;
  uint64_t product;
  float h, l, unit = 1.08420217e-19f;
  if (x <= 0.785398126f) {
    *r = x;
    *rest = 0.0f;
    return 0u;
  }
  first = (bits >> 23) - 120u;
  shift = first & 31u;
  first >>= 5;
  high = two_over_pi[first];
  middle = two_over_pi[first + 1u];
  low = two_over_pi[first + 2u];
  if (shift) {
    high = high << shift | middle >> (32u - shift);
    middle = middle << shift | low >> (32u - shift);
    low = low << shift | two_over_pi[first + 3u] >> (32u - shift);
  }
  product = (uint64_t)m * middle + ((uint64_t)m * low >> 32);
  high = m * high + (uint32_t)(product >> 32);
  middle = (uint32_t)product;
  /* Two bits of whole quarter turns and 62 of the fraction, which becomes the distance to the nearest whole. */
  up = high >> 29 & 1u;
  n = (high >> 30) + up;
  high = high << 2 | middle >> 30;
  middle <<= 2;
  if (up) {
    middle = 0u - middle;
    high = ~high + (middle == 0u);
    unit = -unit;
  }
  /* Times pi / 2, in units of 2^-63; h and l are exact. */
  product = (uint64_t)high * 0xc90fdaa2u + ((uint64_t)middle * 0xc90fdaa2u >> 32);
  h = (float)(uint32_t)(product >> 40) * 1099511627776.0f;
  l = (float)(uint32_t)(product >> 32 & 255u) * 4294967296.0f + (float)(uint32_t)product;
  *r = (h + l) * unit;
  *rest = (h - (h + l) + l) * unit;
  return n;
}
)"},
    {"near_sine_f32",
     {},
     R"(/* sin(r + rest), |r| <= pi / 4. */
static float near_sine_f32(float r, float rest) {
  const float square = r * r;
  float p = -1.9517267e-4f;
  p = p * square + 8.332178e-3f;
  p = p * square - 0.16666655f;
  return r + (r * square * p + rest);
}
)"},
    {"near_cosine_f32",
     {},
     R"(/* cos(r + rest), |r| <= pi / 4. */
static float near_cosine_f32(float r, float rest) {
  const float square = r * r, half = 0.5f * square, most = 1.0f - half;
  float p = 2.4438415e-5f;
  p = p * square - 1.3887368e-3f;
  p = p * square + 4.1666646e-2f;
  return most + (1.0f - most - half + (square * square * p - r * rest));
}
)"},
    {"sine_f32",
     {"quarter_turns_f32", "near_sine_f32", "near_cosine_f32"},
     R"(/* sin x within 1 unit of the last place, for every x. */
static float sine_f32(float x) {
  float r, rest, y;
  uint32_t n;
  if (!(x - x == 0.0f)) return x - x;
  n = quarter_turns_f32(x < 0.0f ? -x : x, &r, &rest);
  y = n & 1u ? near_cosine_f32(r, rest) : near_sine_f32(r, rest);
  n ^= bits_f32(x) >> 30 & 2u;
  return n & 2u ? -y : y;
}
)"},
    {"cosine_f32",
     {"quarter_turns_f32", "near_sine_f32", "near_cosine_f32"},
     R"(/* cos x within 1 unit of the last place, for every x. */
static float cosine_f32(float x) {
  float r, rest, y;
  uint32_t n;
  if (!(x - x == 0.0f)) return x - x;
  n = quarter_turns_f32(x < 0.0f ? -x : x, &r, &rest);
  y = n & 1u ? near_sine_f32(r, rest) : near_cosine_f32(r, rest);
  return (n + 1u) & 2u ? -y : y;
}
)"},
    {"tan_f32",
     {"quarter_turns_f32", "near_sine_f32", "near_cosine_f32"},
     R"(/* tan x within 3 units of the last place, for every x. */
static float tan_f32(float x) {
  float r, rest, sine, cosine, y;
  uint32_t n;
  if (!(x - x == 0.0f)) return x - x;
  n = quarter_turns_f32(x < 0.0f ? -x : x, &r, &rest);
  sine = near_sine_f32(r, rest);
  cosine = near_cosine_f32(r, rest);
  y = n & 1u ? -cosine / sine : sine / cosine;
  return bits_f32(x) >> 31 ? -y : y;
}
)"},
    {"atan2_f32",
     {"bits_f32"},
     R"(/* The angle of the point (x, y) within 3 units of the last place: k pi / 4 and atan t, |t| <= tan(pi / 8). */
static float atan2_f32(float y, float x) {
  static const float whole[] = {0.0f, 0.785398185f, 1.57079637f, 2.3561945f, 3.14159274f};
  static const float rest[] = {0.0f, -2.18556941e-8f, -4.37113883e-8f, -5.96244032e-9f, -8.74227766e-8f};
  const float up = y < 0.0f ? -y : y, along = x < 0.0f ? -x : x;
  float t, square, p;
  int32_t k = 0;
  if (x != x || y != y) return x + y;
  /* Equal ones may be both zero or infinite. */
  t = up == along ? (up > 0.0f ? 1.0f : 0.0f) : up < along ? up / along : along / up;
  if (t > 0.414213562f) {
    t = (t - 1.0f) / (t + 1.0f);
    k = 1;
  }
  square = t * t;
  p = -6.0832247e-2f;
  p = p * square + 0.10595916f;
  p = p * square - 0.14243838f;
  p = p * square + 0.1999849f;
  p = p * square - 0.33333316f;
  p = p * square * t;
  if (up > along) {
    k = 2 - k;
    t = -t;
    p = -p;
  }
  if (bits_f32(x) >> 31) {
    k = 4 - k;
    t = -t;
    p = -p;
  }
  t = whole[k] + (t + (p + rest[k]));
  return bits_f32(y) >> 31 ? -t : t;
}
)"},
};

}  // namespace

std::span<const Function> angle_functions() { return kAngles; }

}  // namespace espalier::c_text
