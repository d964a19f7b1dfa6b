#include <immintrin.h>

#include <bit>
#include <cstring>
#include <limits>

#include "format/number_cells.h"

namespace espalier {
namespace {

constexpr uint32_t kShort = 16;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// W. D. Clinger, "How to read floating point numbers accurately" (1990): a number of at most 2^53 and a power
// of ten up to 10^22 are exact, so their quotient is rounded once.
constexpr uint64_t kExact = uint64_t{1} << 53;

// From the nth byte on, its last n bytes are ones.
alignas(32) constexpr uint8_t kLast[2 * kShort] = {0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
                                                   0,   0,   0,   0,   0,   255, 255, 255, 255, 255, 255,
                                                   255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
// By the characters after a point, or kShort without one: where each digit comes from, 128: it is 0.
struct Squeezes {
  uint8_t from[kShort + 1][kShort] = {};
};
constexpr Squeezes squeezes() {
  Squeezes out;
  for (uint32_t after = 0; after <= kShort; ++after) {
    for (uint32_t i = 0; i < kShort; ++i) {
      const bool moves = after < kShort && i < kShort - after;
      out.from[after][i] = static_cast<uint8_t>(!moves ? i : i == 0 ? 128 : i - 1);
    }
  }
  return out;
}
alignas(32) constexpr Squeezes kSqueezes = squeezes();
constexpr double kDivisors[kShort + 1] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                          1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1};

template <bool kWhole>
double number(const char* text, uint32_t begin, uint32_t end) {
  if (end < kShort || begin == end) return kNone;
  const char first = text[begin];
  const uint32_t negative = first == '-', size = end - begin - (negative | (first == '+'));
  if (size - 1 >= kShort) return kNone;
  const auto load = [](const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); };
  const __m128i characters =
      _mm_and_si128(_mm_xor_si128(load(text + end - kShort), _mm_set1_epi8('0')), load(kLast + size));
  uint32_t after = kShort;
  __m128i digits = characters;
  if constexpr (!kWhole) {
    const auto points =
        static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(characters, _mm_set1_epi8('.' ^ '0'))));
    after = points ? static_cast<uint32_t>(std::countl_zero(points)) - kShort : kShort;
    digits = _mm_shuffle_epi8(characters, load(kSqueezes.from[after]));
  }
  const __m128i others = _mm_subs_epu8(digits, _mm_set1_epi8(9));
  const __m128i twos =
      _mm_maddubs_epi16(digits, _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1));
  const __m128i fours = _mm_madd_epi16(twos, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
  const __m128i eights =
      _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_setr_epi16(10000, 1, 10000, 1, 10000, 1, 10000, 1));
  const auto words = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  const uint64_t value = (words & 0xffffffff) * 100000000 + (words >> 32);
  if (!_mm_testz_si128(others, others) || value > kExact || size + after == 1) return kNone;
  const double magnitude = static_cast<double>(static_cast<int64_t>(value)) / (kWhole ? 1 : kDivisors[after]);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | uint64_t{negative} << 63);
}

template <DigitForm kForm>
NumberCells read(const char* text, const uint32_t* starts, size_t stride, size_t count, double* out) {
  NumberCells found;
  for (size_t i = 0; i < count; ++i, starts += stride) {
    out[i] = number<kForm == DigitForm::kWhole>(text, starts[0], starts[1] - 1);
    if (kForm == DigitForm::kSingle) out[i] = static_cast<double>(static_cast<float>(out[i]));
    found.add(out[i]);
  }
  return found;
}

}  // namespace

NumberCells read_number_cells_avx2(const char* text, const uint32_t* starts, size_t stride, size_t count,
                                   DigitForm form, double* out) {
  return of_form(form,
                 [&](auto known) { return read<decltype(known)::value>(text, starts, stride, count, out); });
}

}  // namespace espalier
