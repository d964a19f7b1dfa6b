// Flags that name the columns of a file of scores.
#pragma once

#include <CLI/CLI.hpp>

#include "tables/scored_table.h"

namespace espalier::cli {

// --label, --score, --weight, --positive, --missing, --not-missing.
void add_scored_columns(CLI::App& verb, ScoredColumns& columns);
// --task and --query.
void add_task(CLI::App& verb, ScoredColumns& columns);

}  // namespace espalier::cli
