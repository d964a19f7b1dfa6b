// Numbers that may stand for missing ones, as -999.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/column_profile.h"

namespace espalier {

// One to three numbers of a column that come often and have nothing to do with its others.
struct MissingCodes {
  std::vector<std::string_view> texts = {};  // of each the most frequent spelling, least first
  int64_t cells = 0;                         // that hold one of them
  int64_t fewest = 0;                        // that hold the rarest of them
  int64_t rows = 0;                          // with a number
  double least = 0, most = 0;                // of the other numbers
};

// Those of a column of numbers of this form, if it has some: usual codes (-1, -99, 999, 88, -999.25, 32767,
// 1e30, ...), each in three cells at least and all in 1 % of its numbers, beside 20 others at least that are
// not all the same. They lie farther from the others than these are apart; or they are negative, of two
// digits and more, where no other number is. A 0 is none: nothing sold, nothing owed.
std::optional<MissingCodes> find_missing_codes(const ColumnProfile& profile, const NumberForm& form);

// "15 % of the values are -999, the others 12 to 88: a code for missing ones? (--missing -999)"; where
// numbers of single rows are not to be seen, "far from all others".
std::string text(const MissingCodes& codes, bool with_others = true);

}  // namespace espalier
