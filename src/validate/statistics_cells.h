// Cells of a table as numbers and texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/missing_words.h"
#include "format/csv_blocks.h"
#include "validate/equal_cells.h"
#include "validate/placed_texts.h"

namespace espalier {

// What all cells of a column are, as TensorFlow Data Validation tells it of CSV; the larger holds for both.
// kInt: whole numbers of 64 bits; kFloat: other numbers, nan, inf and infinity; kText: what else there is,
// whole numbers of more bits among it.
enum class CellType { kNone, kInt, kFloat, kText };
CellType type_of_cell(std::string_view cell);

// The number of a cell as statistics have it: of kInt; of kInt and kFloat, the nearest f32.
std::optional<int64_t> whole_cell(std::string_view cell);
std::optional<double> real_cell(std::string_view cell);

// What counts as missing, and as present but empty.
struct EmptyCells {
  MissingWords missing = {};  // words beside no text
  bool present = false;       // a cell without text is present and holds no value
};

enum class CellState : uint8_t { kMissing, kEmpty, kValue };

// Some rows of a column: numbers of kInt and kFloat, texts of kText, where the state is kValue.
struct CellBatch {
  CellType type = CellType::kNone;
  std::vector<CellState> states = {};
  // It is known that all rows have a value, that numbers are finite, how many of these are 0, and how many
  // bytes texts have together.
  bool full = false;
  size_t zeros = 0, bytes = 0;
  // Where the values of each row end; empty where a row has one at most, which stands at the row's place.
  std::vector<uint32_t> ends = {};
  std::vector<double> numbers = {};
  PlacedTexts texts = {};  // in order of their places
  bool utf8 = false;       // all of them are known to be UTF-8
  // How many rows of the file each one stands for; empty where it is one.
  std::vector<uint32_t> counts = {};

  size_t begin(size_t row) const { return ends.empty() ? row : row > 0 ? ends[row - 1] : 0; }
  size_t end(size_t row) const { return ends.empty() ? row + 1 : ends[row]; }
};

// Reads a column as `type`. Returns the type of its cells; when that is beyond `type`, `out` holds no more
// than its states, and not all of these. As kText, cells without value have their texts too. Whole numbers
// are the nearest f64, other ones the nearest f32, as Arrow has them in TensorFlow Data Validation.
CellType read_cells(const CsvRows& rows, int64_t column, const EmptyCells& empty, CellType type,
                    CellBatch& out);
// The same of each different cell, with its count.
CellType read_equal_cells(const CsvRows& rows, const EqualCells& cells, const EmptyCells& empty,
                          CellType type, CellBatch& out);

}  // namespace espalier
