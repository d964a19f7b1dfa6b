// What a condition left of the rows of a table, as text and JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "data/table_truths.h"

namespace espalier {

// "where age >= 40: 12 of 30 rows, without 3 of which the condition is missing\n".
std::string text_of(const KeptRows& kept);
nlohmann::ordered_json json_of(const KeptRows& kept);

}  // namespace espalier
