// What pairs of columns of numbers have to do with each other.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "validate/metadata_files.h"
#include "validate/sketch_sum.h"
#include "validate/statistics_cells.h"

namespace espalier {

// The number of each row: NaN where a row has none, several or NaN. REQUIRES: a batch of numbers.
std::vector<double> single_numbers(const CellBatch& cells);

// Sums of rows that have a number in both columns; they depend on no order.
class CrossSums {
 public:
  void add(double x, double y);
  void merge(const CrossSums& other);

  // Rows, and of them the covariance (divided by their number) and Pearson's correlation, which is left out
  // where a column has one number only. As f64 has it, infinities have NaN for a covariance and no
  // correlation.
  void fill(tfmd::CrossFeatureStatistics& out) const;

  // As bytes. read() REQUIRES: nothing was added; `rows` there are; raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in, uint64_t rows);

 private:
  uint64_t count_ = 0, infinite_ = 0;
  ExactSum x_, y_, xx_, yy_, xy_;  // of rows with finite numbers
};

// Those of a data set, by column and column behind it. Rows of different first columns may be added at one
// time.
class Crosses {
 public:
  explicit Crosses(size_t columns) : of_(columns) {}

  // `xs`, `ys`: numbers as single_numbers() gives them; of all rows or of some. REQUIRES: x < y.
  void add(size_t x, size_t y, std::span<const double> xs, std::span<const double> ys);
  void add(size_t x, size_t y, std::span<const double> xs, std::span<const double> ys,
           std::span<const uint32_t> rows);
  void merge(const Crosses& other);
  // Those of the column.
  void clear(size_t column);
  // Of all pairs of columns that `taken` has, in order of their names.
  void fill(const std::vector<std::string>& names, const std::vector<bool>& taken,
            tfmd::DatasetFeatureStatistics& out) const;

  void write(SketchWriter& out) const;
  void read(SketchReader& in, uint64_t rows);

 private:
  std::vector<std::map<size_t, CrossSums>> of_;
};

}  // namespace espalier
