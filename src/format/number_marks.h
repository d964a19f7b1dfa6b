// What the points and commas in the numbers of a column tell of their meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

// Cells are numbers, perhaps with a currency before or a unit behind them; all others are passed over.
class NumberMarks {
 public:
  struct Of {
    bool decimal = false;      // 12.5, 0.125, 1234.567: it is the decimal sign
    bool groups = false;       // 1.234.567, 1.234,5: it stands between thousands
    bool doubt = false;        // 48.430, which may be either
    std::string example = {};  // of a doubt, the first
  };

  void look(std::string_view cell);

  const Of& of(char mark) const { return mark == '.' ? point_ : comma_; }
  // Whether the column by itself says that a mark in doubt stands between thousands: it does so for sure in
  // another cell, or numbers below 1000 are written without one, where 12.000 would be a decimal.
  bool thousands(char mark) const { return of(mark).groups || several_small_; }
  // Cells that are numbers, of all that hold something.
  int64_t numbers() const { return numbers_; }
  int64_t cells() const { return cells_; }

 private:
  Of point_, comma_;
  int64_t numbers_ = 0, cells_ = 0;
  int small_ = -1;  // a number of up to three digits
  bool several_small_ = false;
};

}  // namespace espalier
