// Flags of verbs that read tables.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tables/table_reading.h"

namespace espalier::cli {

// --delimiter, --header, --names, --decimal.
void add_table_reading(CLI::App& verb, TableReading& reading);
// --positive.
CLI::Option* add_positive(CLI::App& verb, std::string& positive);
// --threshold.
CLI::Option* add_threshold(CLI::App& verb, std::optional<double>& threshold);
// --all-rows.
void add_all_rows(CLI::App& verb, bool& all);

}  // namespace espalier::cli
