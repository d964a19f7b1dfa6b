// Cells of a column that are byte for byte the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "format/csv_blocks.h"

namespace espalier {

// What many rows of a table hold in a column is often said again and again: then it is read once, and
// counted. One object serves column after column.
class EqualCells {
 public:
  // Counts the cells of a column. False where they hardly repeat, which depends on these cells alone: then
  // nothing is counted.
  bool count(const CsvRows& rows, int64_t column);
  // Where each different cell begins, and one more than where it ends, in the order of their first rows; and
  // how often it occurs.
  const std::vector<uint32_t>& places() const { return places_; }
  const std::vector<uint32_t>& counts() const { return counts_; }

 private:
  static constexpr size_t kShort = 15, kSlots = 2048, kShift = 53;
  // Whether the first rows have too many different ones: an eighth of the rows in the long run, and not each
  // of the first 64.
  static constexpr bool too_many(size_t different, size_t rows) {
    return different >= std::min(kSlots / 2, 256 + rows / 8) || (different == rows && rows >= 64);
  }
  struct alignas(32) Slot {
    // The bytes, and the size and one more as the last of them; hashes of more than kShort; 0 of none.
    uint64_t low = 0, high = 0;
    uint32_t count = 0, number = 0;
  };
  enum class Outcome { kAll, kTooMany, kLong };
  // kLong: unless kAnySize, a cell is longer than kShort.
  template <bool kAnySize>
  Outcome run(const CsvRows& rows, int64_t column);
  void clear();

  std::array<Slot, kSlots> slots_;
  std::vector<uint32_t> used_, places_, counts_;
};

}  // namespace espalier
