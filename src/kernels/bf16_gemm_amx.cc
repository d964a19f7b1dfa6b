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

// The sums of two by two tiles of C, or of one by two. Loads stand before the products that wait for them.
template <bool kLower, bool kFetch>
void multiply_steps(const Bf16Strip& a, const Bf16Step* steps, int64_t count, const uint16_t* b,
                    const uint16_t* next) {
  constexpr int64_t kPanelStep = kBf16Terms * kBf16Block;
  const int64_t pitch = a.pitch * 2;
  for (int64_t i = 0; i < count; ++i, b += kPanelStep) {
    if constexpr (kFetch) {
      _tile_stream_loadd(4, a.upper + steps[i].place, pitch);
      if constexpr (kLower) _tile_stream_loadd(5, a.lower + steps[i].place, pitch);
    } else {
      _tile_loadd(4, a.upper + steps[i].place, pitch);
      if constexpr (kLower) _tile_loadd(5, a.lower + steps[i].place, pitch);
    }
    _tile_loadd(6, b, 128);
    _tile_loadd(7, b + 32, 128);
    if constexpr (kFetch) {
      for (int64_t line = 0; line < kBf16Ahead; line += 32) _mm_prefetch(next + line, _MM_HINT_T0);
      next += kBf16Ahead;
    }
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kLower) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
}

void multiply(const Bf16Strip& a, const Bf16Step* steps, int64_t count, const uint16_t* b, float* c, bool add,
              const uint16_t* next) {
  float* const c_lower = c + kBf16TileRows * kBf16Block;
  asm volatile("" ::: "memory");
  if (add) {
    _tile_loadd(0, c, kRow);
    _tile_loadd(1, c + 16, kRow);
  } else {
    _tile_zero(0);
    _tile_zero(1);
  }
  if (a.lower) {
    if (add) {
      _tile_loadd(2, c_lower, kRow);
      _tile_loadd(3, c_lower + 16, kRow);
    } else {
      _tile_zero(2);
      _tile_zero(3);
    }
    (next ? multiply_steps<true, true> : multiply_steps<true, false>)(a, steps, count, b, next);
    _tile_stored(2, c_lower, kRow);
    _tile_stored(3, c_lower + 16, kRow);
  } else {
    (next ? multiply_steps<false, true> : multiply_steps<false, false>)(a, steps, count, b, next);
  }
  _tile_stored(0, c, kRow);
  _tile_stored(1, c + 16, kRow);
  asm volatile("" ::: "memory");
}

void add(const float* c, int64_t rows, float* sums) {
  for (int64_t i = 0; i < rows * kBf16Block; i += 16)
    _mm512_storeu_ps(sums + i, _mm512_add_ps(_mm512_loadu_ps(sums + i), _mm512_loadu_ps(c + i)));
}

void store(const float* c, uint32_t wanted, int64_t width, void* out, int64_t out_row, bool round) {
  const __mmask32 mask = first(width);
  const auto left = static_cast<__mmask16>(mask), right = static_cast<__mmask16>(mask >> 16);
  for (int64_t to = 0; wanted; wanted &= wanted - 1, to += out_row) {
    const float* from = c + __builtin_ctz(wanted) * kBf16Block;
    const __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + 16);
    if (round) {
      _mm512_mask_storeu_epi16(static_cast<uint16_t*>(out) + to, mask,
                               reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
    } else {
      _mm512_mask_storeu_ps(static_cast<float*>(out) + to, left, low);
      _mm512_mask_storeu_ps(static_cast<float*>(out) + to + 16, right, high);
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
void pack_a(const T* a, Bf16Order order, const IndexMap& rows, const IndexMap& terms, const Bf16Rows& tile,
            const Bf16Step* steps, int64_t count, uint16_t* packed) {
  const int64_t height = 32 - __builtin_clz(tile.wanted);
  const auto high = static_cast<__mmask16>(first(height));
  if (order == Bf16Order::kTerms) {
    // Row by row: what comes from memory comes in long runs.
    for (int64_t i = 0; i < 16; ++i, packed += kBf16Pitch) {
      const T* row = a + (i < height ? at(rows, tile.row + i) : 0);
      for (int64_t s = 0; s < count; ++s) {
        const __mmask32 mask = i < height ? first(steps[s].count) : 0;
        _mm512_storeu_si512(packed + s * kBf16Terms, load_32(row + at(terms, steps[s].term), mask));
      }
    }
    return;
  }
  for (int64_t s = 0; s < count; ++s, packed += kBf16Terms) {
    const Bf16Step step = steps[s];
    if (order == Bf16Order::kOthers) {
      __m512i lines[16];
      for (int64_t p = 0; p < 16; ++p) {
        if (2 * p >= step.count) {
          lines[p] = __m512i{};
          continue;
        }
        const bool both = 2 * p + 1 < step.count;
        const T* even = a + tile.offset + at(terms, step.term + 2 * p);
        const T* odd = a + tile.offset + (both ? at(terms, step.term + 2 * p + 1) : 0);
        lines[p] = pairs(even, odd, high, both ? high : __mmask16{0});
      }
      transpose(lines);
      for (int64_t i = 0; i < 16; ++i) _mm512_storeu_si512(packed + i * kBf16Pitch, lines[i]);
    } else {
      for (int64_t i = 0; i < 16; ++i) {
        for (int64_t k = 0; k < kBf16Terms; ++k) {
          packed[i * kBf16Pitch + k] = i < height && k < step.count
                                           ? load_1(a + at(rows, tile.row + i) + at(terms, step.term + k))
                                           : uint16_t{0};
        }
      }
    }
  }
}

template <class T>
void pack_b(const T* b, Bf16Order order, const IndexMap& terms, const IndexMap& columns, int64_t column,
            const Bf16Step* steps, int64_t count, uint16_t* panel) {
  const int64_t width = least(kBf16Block, columns.count - column);
  const auto left = static_cast<__mmask16>(first(least(width, 16))),
             right = static_cast<__mmask16>(first(width - 16));
  for (int64_t s = 0; s < count; ++s, panel += kBf16Terms * kBf16Block) {
    const Bf16Step step = steps[s];
    if (order == Bf16Order::kOthers) {
      const T* source = b + at(columns, column);
      for (int64_t k = 0; k < kBf16Terms; k += 2) {
        const bool some = k < step.count, both = k + 1 < step.count;
        const T* even = source + (some ? at(terms, step.term + k) : 0);
        const T* odd = source + (both ? at(terms, step.term + k + 1) : 0);
        for (int64_t half = 0; half < 2; ++half) {
          const __mmask16 mask = half ? right : left;
          _mm512_storeu_si512(panel + k * kBf16Block + 32 * half,
                              pairs(even + 16 * half, odd + 16 * half, some ? mask : __mmask16{0},
                                    both ? mask : __mmask16{0}));
        }
      }
    } else if (order == Bf16Order::kTerms) {
      const T* source = b + at(terms, step.term);
      const __mmask32 mask = first(step.count);
      for (int64_t j = 0; j < kBf16Block; j += 16) {
        __m512i lines[16];
        for (int64_t i = 0; i < 16; ++i)
          lines[i] = j + i < width ? load_32(source + at(columns, column + j + i), mask) : __m512i{};
        transpose(lines);
        for (int64_t p = 0; p < 16; ++p) _mm512_storeu_si512(panel + p * 2 * kBf16Block + 2 * j, lines[p]);
      }
    } else {
      for (int64_t k = 0; k < kBf16Terms; ++k) {
        for (int64_t j = 0; j < kBf16Block; ++j) {
          panel[k / 2 * 2 * kBf16Block + 2 * j + k % 2] =
              k < step.count && j < width ? load_1(b + at(terms, step.term + k) + at(columns, column + j))
                                          : uint16_t{0};
        }
      }
    }
  }
}

// The functions of the table, for either type in memory.
void pack_any_a(Bf16Operand a, Bf16Order order, const IndexMap& rows, const IndexMap& terms,
                const Bf16Rows& tile, const Bf16Step* steps, int64_t count, uint16_t* packed) {
  if (a.f32) return pack_a(static_cast<const float*>(a.data), order, rows, terms, tile, steps, count, packed);
  pack_a(static_cast<const uint16_t*>(a.data), order, rows, terms, tile, steps, count, packed);
}
void pack_any_b(Bf16Operand b, Bf16Order order, const IndexMap& terms, const IndexMap& columns,
                int64_t column, const Bf16Step* steps, int64_t count, uint16_t* panel) {
  if (b.f32)
    return pack_b(static_cast<const float*>(b.data), order, terms, columns, column, steps, count, panel);
  pack_b(static_cast<const uint16_t*>(b.data), order, terms, columns, column, steps, count, panel);
}

}  // namespace

constinit const Bf16Tiles bf16_tiles_amx = {pack_any_a, pack_any_b, multiply, add, store, begin, end};

}  // namespace espalier
