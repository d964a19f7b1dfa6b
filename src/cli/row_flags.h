// Flags of rows that are held against a schema.
#pragma once

#include <CLI/CLI.hpp>

#include "tables/row_checks.h"

namespace espalier::cli {

// --schema, --no-schema, --environment, --quarantine, --slice.
void add_row_checks(CLI::App& verb, RowCheckOptions& options);

}  // namespace espalier::cli
