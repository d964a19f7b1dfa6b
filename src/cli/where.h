// Conditions on the rows of a table, from flags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common.h"
#include "espalier/csv.h"
#include "format/expression.h"

namespace espalier::cli {

// --where. Raises FormatError[expression.*] while flags are read.
void add_where(CLI::App& verb, std::optional<Expression>& where);

// What a condition made of some rows.
struct KeptRows {
  std::string condition;
  int64_t of = 0, kept = 0;
  int64_t missing = 0;  // of those that are not kept
};
// Leaves in `rows` those of which the condition is true. Raises ValueError: expression.*, where.rows when
// there is none.
KeptRows keep_rows(const Expression& condition, const CsvTable& table, std::vector<int64_t>& rows,
                   const std::vector<std::string>& missing_words);
// "where age >= 40: 12 of 30 rows, without 3 of which the condition is missing\n".
std::string text_of(const KeptRows& kept);
nlohmann::ordered_json json_of(const KeptRows& kept);

}  // namespace espalier::cli
