// Conditions on the rows of a table, from flags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common.h"
#include "data/table_truths.h"
#include "espalier/csv.h"
#include "format/expression.h"

namespace espalier::cli {

// --where. Raises FormatError[expression.*] while flags are read.
void add_where(CLI::App& verb, std::optional<Expression>& where);

// "where age >= 40: 12 of 30 rows, without 3 of which the condition is missing\n".
std::string text_of(const KeptRows& kept);
nlohmann::ordered_json json_of(const KeptRows& kept);

}  // namespace espalier::cli
