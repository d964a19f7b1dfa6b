#include <immintrin.h>

#include <algorithm>

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

// Two by two tiles of C.
void multiply(const uint16_t* a, const uint16_t* b, int64_t depth, float* c, int64_t c_row, bool add) {
  const int64_t a_bytes = kBf16Pitch * 2, c_bytes = c_row * 4;
  const uint16_t* a_low = a + 16 * kBf16Pitch;
  float* c_low = c + 16 * c_row;
  asm volatile("" ::: "memory");
  if (add) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + 16, c_bytes);
    _tile_loadd(2, c_low, c_bytes);
    _tile_loadd(3, c_low + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t k = 0; k < depth; k += kBf16Terms, b += kBf16Terms * kBf16Block) {
    _tile_loadd(4, a + k, a_bytes);
    _tile_loadd(6, b, 128);
    _tile_loadd(7, b + 32, 128);
    _tile_loadd(5, a_low + k, a_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + 16, c_bytes);
  _tile_stored(2, c_low, c_bytes);
  _tile_stored(3, c_low + 16, c_bytes);
  asm volatile("" ::: "memory");
}

void round_to_bf16(const float* c, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    const __m512 x = _mm512_maskz_loadu_ps(mask, c + i);
    _mm256_mask_storeu_epi16(out + i, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
  }
}

constexpr bool even(const IndexMap& map) { return !map.table; }
bool neighbours(const IndexMap& map) { return even(map) && (map.stride == 1 || map.count == 1); }

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

__mmask32 first(int64_t n) { return n >= 32 ? 0xffffffffu : n > 0 ? (1u << n) - 1 : 0; }

// 16 columns of two rows, beside each other: dword i has element i of `even`, above it of `odd`.
__m512i pairs(const uint16_t* even_row, const uint16_t* odd_row, __mmask16 even_mask, __mmask16 odd_mask) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(even_mask, even_row));
  const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(odd_mask, odd_row));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

void pack_a(const uint16_t* a, const IndexMap& rows, const IndexMap& terms, int64_t row, int64_t from,
            int64_t length, uint16_t* strip) {
  const int64_t height = std::min(kBf16Block, rows.count - row),
                present = std::min(length, terms.count - from);
  if (neighbours(terms)) {
    for (int64_t i = 0; i < kBf16Block; ++i) {
      const uint16_t* source = a + (i < height ? rows[row + i] : 0) + from;
      for (int64_t k = 0; k < length; k += 32) {
        const __mmask32 mask = i < height ? first(present - k) : 0;
        _mm512_storeu_si512(strip + i * kBf16Pitch + k, _mm512_maskz_loadu_epi16(mask, source + k));
      }
    }
    return;
  }
  if (neighbours(rows)) {
    for (int64_t k = 0; k < length; k += 32) {
      for (int64_t i = 0; i < kBf16Block; i += 16) {
        const auto mask = static_cast<__mmask16>(first(std::min<int64_t>(height - i, 16)));
        __m512i lines[16];
        for (int p = 0; p < 16; ++p) {
          const int64_t even_term = k + 2 * p, odd_term = even_term + 1;
          const bool some = even_term < present, both = odd_term < present;
          const uint16_t* base = a + row + i;
          lines[p] =
              pairs(base + (some ? terms[from + even_term] : 0), base + (both ? terms[from + odd_term] : 0),
                    some ? mask : __mmask16{0}, both ? mask : __mmask16{0});
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
          i < height && k < present ? a[rows[row + i] + terms[from + k]] : uint16_t{0};
  }
}

void pack_b(const uint16_t* b, const IndexMap& terms, const IndexMap& columns, int64_t column, int64_t from,
            int64_t length, uint16_t* panel) {
  const int64_t width = std::min(kBf16Block, columns.count - column),
                present = std::min(length, terms.count - from);
  if (neighbours(columns)) {
    const auto left = static_cast<__mmask16>(first(std::min<int64_t>(width, 16))),
               right = static_cast<__mmask16>(first(width - 16));
    for (int64_t k = 0; k < length; k += 2, panel += 2 * kBf16Block) {
      const bool some = k < present, both = k + 1 < present;
      const uint16_t* even_row = b + (some ? terms[from + k] : 0) + column;
      const uint16_t* odd_row = b + (both ? terms[from + k + 1] : 0) + column;
      for (int half = 0; half < 2; ++half) {
        const __mmask16 mask = half ? right : left;
        _mm512_storeu_si512(panel + 32 * half, pairs(even_row + 16 * half, odd_row + 16 * half,
                                                     some ? mask : __mmask16{0}, both ? mask : __mmask16{0}));
      }
    }
    return;
  }
  if (neighbours(terms)) {
    for (int64_t k = 0; k < length; k += 32) {
      for (int64_t j = 0; j < kBf16Block; j += 16) {
        __m512i lines[16];
        for (int64_t i = 0; i < 16; ++i) {
          const bool some = j + i < width;
          lines[i] = _mm512_maskz_loadu_epi16(some ? first(present - k) : 0,
                                              b + (some ? columns[column + j + i] : 0) + from + k);
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
          k < present && j < width ? b[terms[from + k] + columns[column + j]] : uint16_t{0};
    }
  }
}

}  // namespace

constinit const Bf16Tiles bf16_tiles_amx = {pack_a, pack_b, multiply, round_to_bf16, begin, end};

}  // namespace espalier
