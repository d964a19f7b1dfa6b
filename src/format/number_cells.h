// Numbers of many cells, read by vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.h"

namespace espalier {

// The numbers of cells that are but an optional sign and up to 16 digits, a point among them unless they are
// `whole`, and exact in f64; NaN for all others. Cell i lies in text from starts[i * stride] up to the byte
// before starts[i * stride + 1].
using ReadNumberCells = void(const char* text, const uint32_t* starts, size_t stride, size_t count,
                             bool whole, double* out);
ReadNumberCells read_number_cells_portable;
ReadNumberCells read_number_cells_avx2;

inline void read_number_cells(const char* text, const uint32_t* starts, size_t stride, size_t count,
                              bool whole, double* out) {
  ESPALIER_FROM_AVX2(read_number_cells, current_isa())(text, starts, stride, count, whole, out);
}

}  // namespace espalier
