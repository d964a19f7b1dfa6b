// Tables for terminals.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/shortest.h"
#include "report/terminal.h"

namespace espalier {

struct TableCell {
  TableCell(std::string text, Ink ink = Ink::kPlain) : text(std::move(text)), ink(ink) {}
  TableCell(const char* text, Ink ink = Ink::kPlain) : text(text), ink(ink) {}
  template <class T>
  requires std::is_integral_v<T> TableCell(T value, Ink ink = Ink::kPlain) : text(cat(value)), ink(ink) {}
  std::string text;
  Ink ink;
};

// Columns that line up, two spaces apart. A column whose cells are all numbers (also with %, or "-" and "."
// for none) is right-aligned. Line breaks are shown as \n. Lines have no trailing spaces. Where a bounded
// terminal is too narrow, text goes over several lines of its cell; where that does not do, columns come in
// blocks, each with the first one.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // Raises ValueError unless there is one cell for each column.
  Table& row(std::vector<TableCell> cells);
  std::string text(const Terminal& terminal) const;

 private:
  struct Layout {
    std::vector<int> widths, least;
    std::vector<bool> right;
  };
  Layout measure() const;
  void print(const std::vector<size_t>& columns, const Layout& layout, const Terminal& terminal,
             std::string& out) const;

  std::vector<std::string> header_;
  std::vector<std::vector<TableCell>> rows_;
};

// fixed() of a number below 10; from there on a digit less for each before the point, so that large numbers
// stay short: "1234" for 4 or fewer.
std::string significant(double value, int digits);
// "97.5 %".
std::string percent(double fraction, int digits = 1);

// Counts by true class (rows) and predicted class (columns), `counts[true * n + predicted]`, with the shares
// of rows and of columns that are right: recall and precision. The diagonal is dimmed, mistakes stand out,
// and zeros are dots.
std::string confusion_matrix(std::span<const int64_t> counts, const std::vector<std::string>& labels,
                             const Terminal& terminal);

}  // namespace espalier
