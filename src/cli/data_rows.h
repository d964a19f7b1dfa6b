// espalier data head and data rows.
#pragma once

#include "cli/verbs.h"

namespace espalier::cli {

// To `espalier data`.
void add_data_rows(CLI::App& data);

}  // namespace espalier::cli
