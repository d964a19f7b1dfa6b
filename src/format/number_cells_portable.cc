#include "format/decimal.h"
#include "format/number_cells.h"

namespace espalier {

NumberCells read_number_cells_portable(const char* text, const uint32_t* starts, size_t stride, size_t count,
                                       DigitForm form, double* out) {
  NumberCells found;
  for (size_t i = 0; i < count; ++i, starts += stride) {
    const char *begin = text + starts[0], *end = text + starts[1] - 1;
    if (form == DigitForm::kWhole) {
      int64_t value = 0;
      const bool is = decimal::parse_short_whole(text, begin, end, value) &&
                      static_cast<uint64_t>(value < 0 ? -value : value) <= decimal::kExact;
      out[i] = is ? static_cast<double>(value) : std::numeric_limits<double>::quiet_NaN();
    } else {
      out[i] = decimal::parse_short(text, begin, end);
    }
    if (form == DigitForm::kSingle) out[i] = static_cast<double>(static_cast<float>(out[i]));
    found.add(out[i]);
  }
  return found;
}

}  // namespace espalier
