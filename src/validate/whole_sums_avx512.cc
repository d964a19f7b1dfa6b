#include <immintrin.h>

#include "validate/whole_sums.h"

namespace espalier {
namespace {

constexpr size_t kLanes = 8;

// Those of the lanes that are left.
__mmask8 lanes(size_t left) { return left >= kLanes ? 0xff : static_cast<__mmask8>((1u << left) - 1); }

uint64_t sum_of(__m512i values) { return static_cast<uint64_t>(_mm512_reduce_add_epi64(values)); }

}  // namespace

WholeSums add_whole_avx512(const double* values, size_t count, double unit, double units, double* others) {
  const __m512i low_bits = _mm512_set1_epi64((int64_t{1} << WholeSums::kHalf) - 1);
  __m512i sum = _mm512_setzero_si512(), highs = sum, crosses = sum, lows = sum;
  WholeSums out;
  for (size_t i = 0; i < count; i += kLanes) {
    const __mmask8 all = lanes(count - i);
    const __m512d value = _mm512_maskz_loadu_pd(all, values + i);
    const __m512i whole = _mm512_cvttpd_epi64(_mm512_mul_pd(value, _mm512_set1_pd(units)));
    const __m512d back = _mm512_mul_pd(_mm512_cvtepi64_pd(whole), _mm512_set1_pd(unit));
    const __mmask8 is = _mm512_mask_cmp_pd_mask(all, back, value, _CMP_EQ_OQ);
    const __m512i size = _mm512_maskz_abs_epi64(is, whole);
    const __m512i high = _mm512_srli_epi64(size, WholeSums::kHalf), low = _mm512_and_si512(size, low_bits);
    sum = _mm512_mask_add_epi64(sum, is, sum, whole);
    highs = _mm512_add_epi64(highs, _mm512_mul_epu32(high, high));
    crosses = _mm512_add_epi64(crosses, _mm512_mul_epu32(high, low));
    lows = _mm512_add_epi64(lows, _mm512_mul_epu32(low, low));
    // Rarely: such a store is slow on some processors, whatever it has to write.
    const auto rest = static_cast<__mmask8>(all & ~is);
    if (rest == 0) continue;
    _mm512_mask_compressstoreu_pd(others + out.others, rest, value);
    out.others += static_cast<size_t>(_mm_popcnt_u32(rest));
  }
  out.sum = static_cast<int64_t>(sum_of(sum));
  out.high = sum_of(highs);
  out.cross = sum_of(crosses);
  out.low = sum_of(lows);
  return out;
}

std::pair<double, double> range_of_avx512(const double* values, size_t count) {
  __m512d low = _mm512_set1_pd(values[0]), high = low, second_low = low, second_high = low;
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const __m512d first = _mm512_loadu_pd(values + i), second = _mm512_loadu_pd(values + i + kLanes);
    low = _mm512_min_pd(first, low);
    high = _mm512_max_pd(first, high);
    second_low = _mm512_min_pd(second, second_low);
    second_high = _mm512_max_pd(second, second_high);
  }
  for (; i < count; i += kLanes) {
    const __m512d value = _mm512_mask_loadu_pd(low, lanes(count - i), values + i);
    second_low = _mm512_min_pd(value, second_low);
    second_high = _mm512_max_pd(_mm512_mask_loadu_pd(high, lanes(count - i), values + i), second_high);
  }
  return {_mm512_reduce_min_pd(_mm512_min_pd(low, second_low)),
          _mm512_reduce_max_pd(_mm512_max_pd(high, second_high))};
}

}  // namespace espalier
