// Data sets in memory.
#pragma once

#include <string>
#include <utility>

#include "espalier/csv.h"
#include "espalier/tensor.h"

namespace espalier {

// Rows of inputs and their labels.
struct Examples {
  Tensor x;  // f32[rows, ...]
  Tensor y;  // i32[rows]
  int64_t rows() const { return x.size(0); }
  // Rows [begin, end). Raises ValueError[examples.rows] outside of [0, rows()].
  Examples slice(int64_t begin, int64_t end, Location at = Location::here()) const;
  // The first `rows` and the rest.
  std::pair<Examples, Examples> split(int64_t rows, Location at = Location::here()) const {
    return {slice(0, rows, at), slice(rows, this->rows(), at)};
  }
};

// Handwritten digits with pixels scaled to [0, 1]: a folder with one pair of IDX files (*images-idx3-ubyte,
// *labels-idx1-ubyte, each plain or .gz), or a numeric CSV (plain or .gz) whose last column is the label and
// whose other columns are a square image; its range is 0 to 1, 0 to 16 or 0 to 255, whichever holds the
// brightest pixel. Raises IoError or FormatError.
Examples load_digits(const std::string& path, Location at = Location::here());
// The same of a table that was read already, without a header; errors name `path`.
Examples digits_of(const CsvTable& table, const std::string& path, Location at = Location::here());

}  // namespace espalier
