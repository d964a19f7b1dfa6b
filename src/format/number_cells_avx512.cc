#include <immintrin.h>

#include <bit>
#include <cstring>
#include <limits>

#include "format/number_cells.h"

namespace espalier {
namespace {

// Eight cells at a time: the last 16 bytes of four lie in the lanes of a vector, those of the others in
// another. As bits, the lanes of both are the 16-bit parts of one vector, which are in order.
constexpr size_t kCells = 8;
constexpr uint32_t kShort = 16;
// W. D. Clinger, "How to read floating point numbers accurately" (1990): a number of at most 2^53 and a power
// of ten up to 10^22 are exact, so their quotient is rounded once.
constexpr int64_t kExact = int64_t{1} << 53;

__m512i all_lanes(__m128i of) { return _mm512_broadcast_i32x4(of); }

// The last 16 bytes of four cells.
__m512i last_bytes(const char* text, const uint32_t* starts, size_t stride) {
  const auto load = [&](size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + starts[i * stride + 1] - 1 - kShort));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(2)), load(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Where each of four cells begins, and one more than where it ends, by turns.
__m256i places(const uint32_t* starts, size_t stride) {
  const auto load = [&](size_t i) {
    uint64_t place;
    std::memcpy(&place, starts + i * stride, sizeof place);
    return static_cast<int64_t>(place);
  };
  return _mm256_set_epi64x(load(3), load(2), load(1), load(0));
}

// Four cells' bytes, and which of them are what.
struct Lanes {
  __m512i digits;  // 0 where there is none; but points, too
  uint64_t kept, minus, signs, points;
};

// `sizes` are those of four cells.
Lanes lanes_of(__m512i bytes, __m128i sizes) {
  const __m512i place = all_lanes(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const __m512i lane_of_size = _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_setzero_si256(), _mm_set1_epi8(4), 1)),
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi8(8)), _mm_set1_epi8(12), 1), 1);
  const __m512i first =
      _mm512_sub_epi8(_mm512_set1_epi8(kShort), _mm512_shuffle_epi8(all_lanes(sizes), lane_of_size));
  const uint64_t all = _mm512_cmpge_epu8_mask(place, first), leads = _mm512_cmpeq_epi8_mask(place, first);
  Lanes out;
  out.minus = leads & _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('-'));
  out.signs = out.minus | (leads & _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('+')));
  out.kept = all & ~out.signs;
  out.digits = _mm512_maskz_mov_epi8(out.kept, _mm512_xor_si512(bytes, _mm512_set1_epi8('0')));
  out.points = _mm512_cmpeq_epi8_mask(out.digits, _mm512_set1_epi8('.' ^ '0'));
  return out;
}

__m128i parts(uint64_t low, uint64_t high) {
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}

// Digits without the point: those before it move one place on.
__m512i without_point(__m512i digits, uint64_t up_to_point) {
  return _mm512_mask_mov_epi8(digits, up_to_point, _mm512_bslli_epi128(digits, 1));
}

// The numbers of the digits of eight cells.
__m512i values_of(__m512i low, __m512i high) {
  const __m512i tens = all_lanes(_mm_set1_epi16(0x010a));
  const __m512i hundreds = all_lanes(_mm_set1_epi32(0x00010064));
  const __m512i ten_thousands = all_lanes(_mm_set1_epi32(0x00012710));
  const __m512i fours = _mm512_packus_epi32(_mm512_madd_epi16(_mm512_maddubs_epi16(low, tens), hundreds),
                                            _mm512_madd_epi16(_mm512_maddubs_epi16(high, tens), hundreds));
  const __m512i eights = _mm512_madd_epi16(fours, ten_thousands);
  const __m512i values =
      _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(eights, 32));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), values);
}

template <DigitForm kForm>
NumberCells read(const char* text, const uint32_t* starts, size_t stride, size_t count, double* out) {
  const __m512d ones = _mm512_setr_pd(1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
  const __m512d more = _mm512_setr_pd(1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15);
  const __m256i by_turns = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  NumberCells found;
  const auto slowly = [&](size_t i) {
    read_number_cells_avx2(text, starts + i * stride, stride, 1, kForm, out + i);
    found.add(out[i]);
  };
  size_t i = 0;
  for (; i < count && starts[i * stride + 1] <= kShort; ++i) slowly(i);
  for (; i + kCells <= count; i += kCells) {
    const uint32_t* const from = starts + i * stride;
    const __m256i low = _mm256_permutevar8x32_epi32(places(from, stride), by_turns);
    const __m256i high = _mm256_permutevar8x32_epi32(places(from + 4 * stride, stride), by_turns);
    const __m256i begins = _mm256_permute2x128_si256(low, high, 0x20);
    const __m256i sizes = _mm256_sub_epi32(
        _mm256_sub_epi32(_mm256_permute2x128_si256(low, high, 0x31), begins), _mm256_set1_epi32(1));
    const Lanes a = lanes_of(last_bytes(text, from, stride), _mm256_castsi256_si128(sizes));
    const Lanes b = lanes_of(last_bytes(text, from + 4 * stride, stride), _mm256_extracti128_si256(sizes, 1));
    const __m128i points = parts(a.points, b.points);
    const __m128i below = _mm_add_epi16(points, _mm_set1_epi16(-1));
    const __mmask8 has_point = _mm_test_epi16_mask(points, points);
    const __m128i up_to_point = _mm_maskz_or_epi64(0x3, points, below);
    const __m128i moved = _mm_maskz_mov_epi16(has_point, up_to_point);
    const __m512i first = without_point(a.digits, static_cast<uint64_t>(_mm_cvtsi128_si64(moved)));
    const __m512i second = without_point(b.digits, static_cast<uint64_t>(_mm_extract_epi64(moved, 1)));
    const __m128i others = parts(_mm512_cmpgt_epu8_mask(first, _mm512_set1_epi8(9)),
                                 _mm512_cmpgt_epu8_mask(second, _mm512_set1_epi8(9)));
    const __m512i values = values_of(first, second);
    // One point at most, which is not all there is, and nothing else.
    __mmask8 is =
        _mm256_cmple_epu32_mask(_mm256_sub_epi32(sizes, _mm256_set1_epi32(1)), _mm256_set1_epi32(kShort - 1));
    is &= _mm_testn_epi16_mask(others, others);
    is &= static_cast<__mmask8>(~(has_point & _mm_test_epi16_mask(points, below)));
    is &= _mm_cmpneq_epi16_mask(points, parts(a.kept, b.kept));
    is &= _mm512_cmple_epu64_mask(values, _mm512_set1_epi64(kExact));
    __m512d numbers = _mm512_cvtepu64_pd(values);
    if constexpr (kForm == DigitForm::kWhole) {
      is &= static_cast<__mmask8>(~has_point);
    } else {
      // The place of the point, by the exponent of its bit.
      const __m256i bit = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(points)));
      const __m256i after =
          _mm256_maskz_sub_epi32(has_point, _mm256_set1_epi32(127 + kShort - 1), _mm256_srli_epi32(bit, 23));
      numbers = _mm512_div_pd(numbers, _mm512_permutex2var_pd(ones, _mm512_cvtepu32_epi64(after), more));
    }
    if constexpr (kForm == DigitForm::kSingle) numbers = _mm512_cvtps_pd(_mm512_cvtpd_ps(numbers));
    const __m128i minus = parts(a.minus, b.minus);
    numbers = _mm512_mask_xor_pd(numbers, _mm_test_epi16_mask(minus, minus), numbers, _mm512_set1_pd(-0.0));
    _mm512_storeu_pd(out + i, numbers);
    found.numbers += static_cast<size_t>(std::popcount(is));
    found.zeros += static_cast<size_t>(
        std::popcount(_mm512_mask_cmp_pd_mask(is, numbers, _mm512_setzero_pd(), _CMP_EQ_OQ)));
    for (unsigned left = static_cast<__mmask8>(~is); left != 0; left &= left - 1)
      slowly(i + static_cast<size_t>(std::countr_zero(left)));
  }
  for (; i < count; ++i) slowly(i);
  return found;
}

}  // namespace

NumberCells read_number_cells_avx512(const char* text, const uint32_t* starts, size_t stride, size_t count,
                                     DigitForm form, double* out) {
  return of_form(form,
                 [&](auto known) { return read<decltype(known)::value>(text, starts, stride, count, out); });
}

}  // namespace espalier
