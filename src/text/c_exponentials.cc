#include "text/c_function.h"

namespace espalier::c_text {
namespace {

const Function kExponentials[] = {
    {"bits_f32",
     {},
     R"(static uint32_t bits_f32(float x) {
  union { float f; uint32_t u; } v;
  v.f = x;
  return v.u;
}
)"},
    {"from_bits_f32",
     {},
     R"(static float from_bits_f32(uint32_t x) {
  union { float f; uint32_t u; } v;
  v.u = x;
  return v.f;
}
)"},
    {"exp_f32",
     {"bits_f32", "from_bits_f32"},
     R"(/* e^x within 1.5 units of the last place: 2^n e^r with |r| <= ln 2 / 2, e^r by its Taylor polynomial. */
static float exp_f32(float x) {
  const float above = x > 89.0f ? 89.0f : x, y = above < -104.0f ? -104.0f : above;
  const float shifted = y * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
  const float r = (y - whole * 0.693359375f) - whole * -2.12194440e-4f;
  const int32_t n = x == x ? (int32_t)bits_f32(shifted) - (int32_t)bits_f32(12582912.0f) : 0, half = n / 2;
  float tail = 1.0f / 5040;
  tail = tail * r + 1.0f / 720;
  tail = tail * r + 1.0f / 120;
  tail = tail * r + 1.0f / 24;
  tail = tail * r + 1.0f / 6;
  tail = tail * r + 0.5f;
  return (tail * r * r + r + 1.0f) * from_bits_f32((uint32_t)(half + 127) << 23) *
         from_bits_f32((uint32_t)(n - half + 127) << 23);
}
)"},
    {"expm1_f32",
     {"exp_f32"},
     R"(/* e^x - 1 within 3 units of the last place. */
static float expm1_f32(float x) {
  float tail = 1.0f / 40320;
  if (!(x > -0.5f && x < 0.5f)) return exp_f32(x) - 1.0f;
  tail = tail * x + 1.0f / 5040;
  tail = tail * x + 1.0f / 720;
  tail = tail * x + 1.0f / 120;
  tail = tail * x + 1.0f / 24;
  tail = tail * x + 1.0f / 6;
  tail = tail * x + 0.5f;
  return x == 0.0f ? x : x + x * x * tail;
}
)"},
    {"log_f32",
     {"bits_f32", "from_bits_f32"},
     R"(/* log x within 2 units of the last place: n log 2 + 2 atanh s, where x = 2^n m and s = (m - 1) / (m + 1). */
static float log_f32(float x) {
  const int small = x < 1.17549435e-38f;
  uint32_t bits;
  int32_t n;
  float m, s, t, tail;
  if (!(x > 0.0f)) return x == 0.0f ? -1.0f / 0.0f : 0.0f / 0.0f;
  if (x > 3.40282347e+38f) return x;
  bits = bits_f32(small ? x * 8388608.0f : x);
  n = (int32_t)((bits - 0x3f3504f3u) >> 23);
  n = n > 255 ? n - 512 : n;
  m = from_bits_f32(bits - ((uint32_t)n << 23));
  n = small ? n - 23 : n;
  s = (m - 1.0f) / (m + 1.0f);
  t = s * s;
  tail = t * (2.0f / 3 + t * (2.0f / 5 + t * (2.0f / 7 + t * (2.0f / 9))));
  /* m - 1 is exact, and 2 s = (m - 1) - s (m - 1). */
  return (float)n * 0.693359375f + ((float)n * -2.12194440e-4f + (s * tail - s * (m - 1.0f))) + (m - 1.0f);
}
)"},
    {"log1p_f32",
     {"log_f32"},
     R"(/* log(1 + x) within 3 units of the last place. */
static float log1p_f32(float x) {
  const float u = 1.0f + x;
  if (!(u > 0.0f && u < 1e30f)) return log_f32(u);
  if (u == 1.0f) return x;
  return log_f32(u) + (x - (u - 1.0f)) / u;
}
)"},
    {"tanh_f32",
     {"exp_f32"},
     R"(/* tanh x within 3 units of the last place: 1 - 2 / (e^2x + 1), and x + x^3 p(x^2) near zero. */
static float tanh_f32(float x) {
  const float size = x < 0.0f ? -x : x, square = x * x;
  float p = -5.70498872745e-3f, far;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  if (size < 0.625f) return x == 0.0f ? x : x + x * square * p;
  far = 1.0f - 2.0f / (exp_f32(2.0f * size) + 1.0f);
  return x < 0.0f ? -far : far;
}
)"},
    {"logistic_f32",
     {"exp_f32"},
     R"(/* 1 / (1 + e^-x) within 3 units of the last place. */
static float logistic_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }
)"},
    {"series_f32",
     {},
     R"(/* The sum of c[k] T_k(t), by Clenshaw's recurrence. */
static float series_f32(const float *c, int32_t count, float t) {
  float b1 = 0.0f, b2 = 0.0f;
  for (int32_t k = count - 1; k > 0; --k) {
    const float next = 2.0f * t * b1 - b2 + c[k];
    b2 = b1;
    b1 = next;
  }
  return t * b1 - b2 + c[0];
}
)"},
    {"erfc_f32",
     {"series_f32", "exp_f32"},
     R"(/* 1 - erf x within 5e-7, and within 5e-6 of itself above 0: e^-(x^2) g(t) / (x + 4), t = 1 - 8 / (x + 4). */
static float erfc_f32(float x) {
  static const float g[] = {1.63209788f,    -1.50543294f,    0.590321408f,    -0.198285272f,  0.0569084302f,
                            -0.0137739731f, 0.00272901673f,  -0.000413618079f, 3.89141838e-5f, 4.79548550e-7f,
                            -8.69910708e-7f, 1.21167071e-7f, 3.79196703e-9f};
  const float size = x < 0.0f ? -x : x, a = size > 11.0f ? 11.0f : size, shifted = a + 4.0f;
  const float above = exp_f32(-a * a) * (series_f32(g, 13, 1.0f - 8.0f / shifted) / shifted);
  return x < 0.0f ? 2.0f - above : x == x ? above : x;
}
)"},
    {"erf_f32",
     {"erfc_f32", "series_f32"},
     R"(/* The error function within 4 units of the last place: x times a series in x^2 below 1, above 1 - erfc x. */
static float erf_f32(float x) {
  static const float c[] = {0.975476939f, -0.142261205f, 0.0100355822f, -0.000576876470f, 2.74199312e-5f,
                            -1.10431755e-6f, 3.84887554e-8f, -1.18085825e-9f};
  if (x > -1.0f && x < 1.0f) return x * series_f32(c, 8, 2.0f * x * x - 1.0f);
  return x < 0.0f ? erfc_f32(-x) - 1.0f : 1.0f - erfc_f32(x);
}
)"},
    {"sqrt_f32",
     {"bits_f32", "from_bits_f32"},
     R"(/* The square root within 1.5 units of the last place, by Newton's method. */
static float sqrt_f32(float x) {
  const int small = x < 1e-30f;
  const float y = small ? x * 18446744073709551616.0f : x;
  float r, s;
  if (!(x > 0.0f)) return x == 0.0f ? x : 0.0f / 0.0f;
  if (x > 3.40282347e+38f) return x;
  r = from_bits_f32(0x5f375a86u - (bits_f32(y) >> 1));
  r = r * (1.5f - 0.5f * y * r * r);
  r = r * (1.5f - 0.5f * y * r * r);
  r = r * (1.5f - 0.5f * y * r * r);
  s = y * r;
  s = s + 0.5f * r * (y - s * s);
  return small ? s * 2.32830644e-10f : s;
}
)"},
    {"floor_f32",
     {},
     R"(static float floor_f32(float x) {
  float whole;
  if (!(x > -8388608.0f && x < 8388608.0f)) return x;
  whole = (float)(int32_t)x;
  return whole > x ? whole - 1.0f : whole == x ? x : whole;
}
)"},
    {"ceil_f32",
     {"floor_f32"},
     R"(static float ceil_f32(float x) { return -floor_f32(-x); }
)"},
    {"rint_f32",
     {},
     R"(/* The nearest whole number, halves to the even one. */
static float rint_f32(float x) {
  float whole;
  if (!(x > -8388608.0f && x < 8388608.0f)) return x;
  whole = x < 0.0f ? -((8388608.0f - x) - 8388608.0f) : (x + 8388608.0f) - 8388608.0f;
  return whole == x ? x : whole;
}
)"},
    {"round_f32",
     {"floor_f32"},
     R"(/* The nearest whole number, halves away from zero. */
static float round_f32(float x) {
  const float size = x < 0.0f ? -x : x, whole = floor_f32(size);
  const float nearest = size - whole >= 0.5f ? whole + 1.0f : whole;
  return nearest == size ? x : x < 0.0f ? -nearest : nearest;
}
)"},
    {"pow_f32",
     {"exp_f32", "log_f32", "floor_f32", "bits_f32"},
     R"(/* x^y as e^(y log x): within 2 |y log x| + 2 units of the last place. */
static float pow_f32(float x, float y) {
  const float size = x < 0.0f ? -x : x, half = 0.5f * y;
  float power;
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x < 0.0f && x >= -3.40282347e+38f && floor_f32(y) != y) return 0.0f / 0.0f;
  power = size == 1.0f ? 1.0f : exp_f32(y * log_f32(size));
  return bits_f32(x) >> 31 && floor_f32(y) == y && floor_f32(half) != half ? -power : power;
}
)"},
};

}  // namespace

std::span<const Function> exponential_functions() { return kExponentials; }

}  // namespace espalier::c_text
