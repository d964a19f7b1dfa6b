// Numbers of many cells, read by vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/isa.h"

namespace espalier {

// kWhole: without a point. kSingle: rounded to f32.
enum class DigitForm { kWhole, kReal, kSingle };

// f of the form as a constant, std::integral_constant.
template <class F>
auto of_form(DigitForm form, const F& f) {
  if (form == DigitForm::kWhole) return f(std::integral_constant<DigitForm, DigitForm::kWhole>());
  if (form == DigitForm::kReal) return f(std::integral_constant<DigitForm, DigitForm::kReal>());
  return f(std::integral_constant<DigitForm, DigitForm::kSingle>());
}

// How many cells are numbers, and how many of these are 0.
struct NumberCells {
  size_t numbers = 0, zeros = 0;
  void add(double value) {
    numbers += value == value;
    zeros += value == 0;
  }
};

// The numbers of cells that are but an optional sign and up to 16 digits, a point among them unless they are
// whole, and exact in f64; NaN for all others. Cell i lies in text from starts[i * stride] up to the byte
// before starts[i * stride + 1].
using ReadNumberCells = NumberCells(const char* text, const uint32_t* starts, size_t stride, size_t count,
                                    DigitForm form, double* out);
ReadNumberCells read_number_cells_portable;
ReadNumberCells read_number_cells_avx2;
ReadNumberCells read_number_cells_avx512;

inline NumberCells read_number_cells(const char* text, const uint32_t* starts, size_t stride, size_t count,
                                     DigitForm form, double* out) {
  return ESPALIER_BY_ISA(read_number_cells, current_isa())(text, starts, stride, count, form, out);
}

}  // namespace espalier
