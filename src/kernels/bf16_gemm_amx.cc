#include <immintrin.h>

#include "base/elementary.h"
#include "kernels/bf16_gemm.h"

namespace espalier {
namespace {

// Eight tiles of 16 rows of 64 bytes. The compiler knows neither what loading a configuration reads nor that
// loading a tile reads memory, hence the fences.
struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
constexpr Configuration whole_tiles() {
  Configuration out;
  for (int i = 0; i < 8; ++i) out.row_bytes[i] = 64, out.rows[i] = 16;
  return out;
}
constexpr Configuration kWholeTiles = whole_tiles();

void begin() {
  asm volatile("" ::: "memory");
  _tile_loadconfig(&kWholeTiles);
}
void end() { _tile_release(); }

// Local forms of inline functions that other files share: none may be linked in its AMX form.
int64_t at(const IndexMap& map, int64_t i) { return map.table ? map.table[i] : i * map.stride; }
int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The lowest n.
__mmask32 first(int64_t n) { return n >= 32 ? 0xffffffffu : n > 0 ? (1u << n) - 1 : 0; }

constexpr int64_t kRow = kBf16Block * 4;  // bytes from row to row of a block

// Two by two tiles of C. Loads stand before the products that wait for them.
void multiply(const uint16_t* a, const uint16_t* b, int64_t length, float* c) {
  constexpr int64_t kPitch = kBf16Pitch * 2;
  const uint16_t* a_low = a + 16 * kBf16Pitch;
  asm volatile("" ::: "memory");
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t k = 0; k < length; k += kBf16Terms, b += kBf16Terms * kBf16Block) {
    _tile_loadd(4, a + k, kPitch);
    _tile_loadd(6, b, 128);
    _tile_loadd(7, b + 32, 128);
    _tile_loadd(5, a_low + k, kPitch);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, kRow);
  _tile_stored(1, c + 16, kRow);
  _tile_stored(2, c + 16 * kBf16Block, kRow);
  _tile_stored(3, c + 16 * kBf16Block + 16, kRow);
  asm volatile("" ::: "memory");
}

void add(const float* c, int64_t height, float* sums) {
  for (int64_t i = 0; i < height * kBf16Block; i += 16)
    _mm512_storeu_ps(sums + i, _mm512_add_ps(_mm512_loadu_ps(sums + i), _mm512_loadu_ps(c + i)));
}

void store(const float* c, int64_t height, int64_t width, void* out, int64_t out_row, bool round) {
  const __mmask32 mask = first(width);
  const auto left = static_cast<__mmask16>(mask), right = static_cast<__mmask16>(mask >> 16);
  for (int64_t i = 0; i < height; ++i, c += kBf16Block) {
    const __m512 low = _mm512_loadu_ps(c), high = _mm512_loadu_ps(c + 16);
    if (round) {
      _mm512_mask_storeu_epi16(static_cast<uint16_t*>(out) + i * out_row, mask,
                               reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
    } else {
      float* to = static_cast<float*>(out) + i * out_row;
      _mm512_mask_storeu_ps(to, left, low);
      _mm512_mask_storeu_ps(to + 16, right, high);
    }
  }
}

// Elements as bf16: the first of a mask, what is outside is zero. Of f32 they are rounded to nearest even.
__m512i load_32(const uint16_t* from, __mmask32 mask) { return _mm512_maskz_loadu_epi16(mask, from); }
__m512i load_32(const float* from, __mmask32 mask) {
  const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
               high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + 16);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}
// The same of 16 in either half.
__m512i load_16_16(const uint16_t* low, const uint16_t* high, __mmask16 low_mask, __mmask16 high_mask) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(low_mask, low)),
                            _mm256_maskz_loadu_epi16(high_mask, high), 1);
}
__m512i load_16_16(const float* low, const float* high, __mmask16 low_mask, __mmask16 high_mask) {
  return reinterpret_cast<__m512i>(
      _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high_mask, high), _mm512_maskz_loadu_ps(low_mask, low)));
}
uint16_t load_1(const uint16_t* from) { return *from; }
// Subnormal numbers become zero, as they do in the instructions above.
uint16_t load_1(const float* from) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, *from);
  return bits & 0x7f800000 ? to_bf16(*from) : static_cast<uint16_t>(bits >> 16 & 0x8000);
}

// Dword j of row i becomes dword i of row j.
void transpose(__m512i (&rows)[16]) {
  __m512i half[16];
  for (int i = 0; i < 16; i += 2) {
    half[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    half[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  // rows[4q + j]: in lane l, dword 4l + j of rows 4q to 4q + 3.
  for (int q = 0; q < 4; ++q) {
    const __m512i* h = half + 4 * q;
    rows[4 * q] = _mm512_unpacklo_epi64(h[0], h[2]);
    rows[4 * q + 1] = _mm512_unpackhi_epi64(h[0], h[2]);
    rows[4 * q + 2] = _mm512_unpacklo_epi64(h[1], h[3]);
    rows[4 * q + 3] = _mm512_unpackhi_epi64(h[1], h[3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512i low = _mm512_shuffle_i32x4(rows[j], rows[4 + j], 0x88),
                  high = _mm512_shuffle_i32x4(rows[j], rows[4 + j], 0xdd),
                  low_2 = _mm512_shuffle_i32x4(rows[8 + j], rows[12 + j], 0x88),
                  high_2 = _mm512_shuffle_i32x4(rows[8 + j], rows[12 + j], 0xdd);
    half[j] = _mm512_shuffle_i32x4(low, low_2, 0x88);
    half[8 + j] = _mm512_shuffle_i32x4(low, low_2, 0xdd);
    half[4 + j] = _mm512_shuffle_i32x4(high, high_2, 0x88);
    half[12 + j] = _mm512_shuffle_i32x4(high, high_2, 0xdd);
  }
  for (int i = 0; i < 16; ++i) rows[i] = half[i];
}

// 16 columns of two rows, beside each other: dword i has element i of `even`, above it of `odd`.
template <class T>
__m512i pairs(const T* even, const T* odd, __mmask16 even_mask, __mmask16 odd_mask) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, load_16_16(even, odd, even_mask, odd_mask));
}

template <class T>
void pack_a(const T* a, Bf16Order order, const IndexMap& rows, const IndexMap& terms, int64_t row,
            int64_t from, int64_t length, uint16_t* strip) {
  const int64_t height = least(kBf16Block, rows.count - row), present = least(length, terms.count - from);
  if (order == Bf16Order::kTerms) {
    for (int64_t i = 0; i < kBf16Block; ++i) {
      const T* source = a + (i < height ? at(rows, row + i) : 0);
      for (int64_t k = 0; k < length; k += 32) {
        const __mmask32 mask = i < height ? first(present - k) : 0;
        _mm512_storeu_si512(strip + i * kBf16Pitch + k,
                            load_32(source + (k < present ? at(terms, from + k) : 0), mask));
      }
    }
    return;
  }
  if (order == Bf16Order::kOthers) {
    for (int64_t k = 0; k < length; k += 32) {
      for (int64_t i = 0; i < kBf16Block; i += 16) {
        const auto mask = static_cast<__mmask16>(first(least(height - i, 16)));
        __m512i lines[16];
        for (int p = 0; p < 16; ++p) {
          const int64_t even_term = k + 2 * p, odd_term = even_term + 1;
          const bool some = even_term < present, both = odd_term < present;
          const T* base = a + (i < height ? at(rows, row + i) : 0);
          lines[p] = pairs(base + (some ? at(terms, from + even_term) : 0),
                           base + (both ? at(terms, from + odd_term) : 0), some ? mask : __mmask16{0},
                           both ? mask : __mmask16{0});
        }
        transpose(lines);
        for (int64_t j = 0; j < 16; ++j) _mm512_storeu_si512(strip + (i + j) * kBf16Pitch + k, lines[j]);
      }
    }
    return;
  }
  for (int64_t i = 0; i < kBf16Block; ++i) {
    for (int64_t k = 0; k < length; ++k)
      strip[i * kBf16Pitch + k] =
          i < height && k < present ? load_1(a + at(rows, row + i) + at(terms, from + k)) : uint16_t{0};
  }
}

template <class T>
void pack_b(const T* b, Bf16Order order, const IndexMap& terms, const IndexMap& columns, int64_t column,
            int64_t from, int64_t length, uint16_t* panel) {
  const int64_t width = least(kBf16Block, columns.count - column),
                present = least(length, terms.count - from);
  if (order == Bf16Order::kOthers) {
    const auto left = static_cast<__mmask16>(first(least(width, 16))),
               right = static_cast<__mmask16>(first(width - 16));
    for (int64_t k = 0; k < length; k += 2, panel += 2 * kBf16Block) {
      const bool some = k < present, both = k + 1 < present;
      const T* even_row = b + (some ? at(terms, from + k) : 0) + at(columns, column);
      const T* odd_row = b + (both ? at(terms, from + k + 1) : 0) + at(columns, column);
      for (int half = 0; half < 2; ++half) {
        const __mmask16 mask = half ? right : left;
        _mm512_storeu_si512(panel + 32 * half, pairs(even_row + 16 * half, odd_row + 16 * half,
                                                     some ? mask : __mmask16{0}, both ? mask : __mmask16{0}));
      }
    }
    return;
  }
  if (order == Bf16Order::kTerms) {
    for (int64_t k = 0; k < length; k += 32) {
      const int64_t term = k < present ? at(terms, from + k) : 0;
      for (int64_t j = 0; j < kBf16Block; j += 16) {
        __m512i lines[16];
        for (int64_t i = 0; i < 16; ++i) {
          const bool some = j + i < width;
          lines[i] =
              load_32(b + (some ? at(columns, column + j + i) : 0) + term, some ? first(present - k) : 0);
        }
        transpose(lines);
        for (int64_t p = 0; p < 16; ++p)
          _mm512_storeu_si512(panel + (k / 2 + p) * 2 * kBf16Block + 2 * j, lines[p]);
      }
    }
    return;
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t j = 0; j < kBf16Block; ++j) {
      panel[k / 2 * 2 * kBf16Block + 2 * j + k % 2] =
          k < present && j < width ? load_1(b + at(terms, from + k) + at(columns, column + j)) : uint16_t{0};
    }
  }
}

// The functions of the table, for either type in memory.
void pack_any_a(Bf16Operand a, Bf16Order order, const IndexMap& rows, const IndexMap& terms, int64_t row,
                int64_t from, int64_t length, uint16_t* strip) {
  if (a.f32) return pack_a(static_cast<const float*>(a.data), order, rows, terms, row, from, length, strip);
  pack_a(static_cast<const uint16_t*>(a.data), order, rows, terms, row, from, length, strip);
}
void pack_any_b(Bf16Operand b, Bf16Order order, const IndexMap& terms, const IndexMap& columns,
                int64_t column, int64_t from, int64_t length, uint16_t* panel) {
  if (b.f32)
    return pack_b(static_cast<const float*>(b.data), order, terms, columns, column, from, length, panel);
  pack_b(static_cast<const uint16_t*>(b.data), order, terms, columns, column, from, length, panel);
}

}  // namespace

constinit const Bf16Tiles bf16_tiles_amx = {pack_any_a, pack_any_b, multiply, add, store, begin, end};

}  // namespace espalier
