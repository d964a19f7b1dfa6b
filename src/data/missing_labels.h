// Words that count as missing in a label and may be one of its classes, as None beside Mild and Severe.
#pragma once

#include <cstdint>
#include <string>

#include "data/missing_words.h"
#include "espalier/csv.h"

namespace espalier {

// "27 % of the rows say None, which counts as missing; --not-missing None makes it a class": of the words of
// a label, the most frequent first, and not of cells without text. "" for none, and for a label of numbers,
// where a word is no class. `who`: of which verb the flag is, "train with ".
std::string missing_labels(const CsvTable& table, int64_t column, const MissingWords& missing,
                           const std::string& who = "");

}  // namespace espalier
