// Numbers beyond all that were seen before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"

namespace espalier {

// The chance that `beyond` or more of `now` values lie above all of `before` others, where all are of one
// continuous law; at most that where values are tied. Any order of the values is then as likely as another:
// the product of (now - i) / (before + now - i) over i < beyond. REQUIRES: beyond <= now.
double beyond_chance(int64_t beyond, int64_t before, int64_t now);

struct ColumnBeyond {
  std::string column;
  int64_t below = 0, above = 0, of = 0;  // rows below and above all of before, of so many numbers
  double p = 1, adjusted_p = 1;          // of the less likely side, twice; by Holm over the columns
  bool far = false;                      // adjusted_p is at most alpha
  int64_t far_out = 0;                   // rows that lie farther off than all of before are apart
};

struct BeyondOptions {
  double alpha = 0.05;  // of all columns together
  MissingWords missing = ColumnOptions{}.missing;
};

// Of each column of which all cells are numbers in both tables, in their order. Nothing is said of fewer than
// 20 rows.
std::vector<ColumnBeyond> find_beyond(const CsvTable& before, const CsvTable& now,
                                      const BeyondOptions& options = {});

}  // namespace espalier
