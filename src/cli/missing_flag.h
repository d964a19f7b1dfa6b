// --missing and --not-missing.
#pragma once

#include <CLI/CLI.hpp>

#include "tables/missing_choice.h"

namespace espalier::cli {

void add_missing(CLI::App& verb, MissingChoice& missing);
// The same and --schema, of verbs that ask nothing else of a schema.
void add_missing_with_schema(CLI::App& verb, MissingChoice& missing);

}  // namespace espalier::cli
