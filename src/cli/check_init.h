// First gates, of rows or of an EvalConfig: `espalier check --init`.
#pragma once

#include "cli/check_run.h"

namespace espalier::cli {

// Raises ValueError[check.exists] where the file is there already, and what reading and assessing raise.
void write_gates(CheckRun run);

}  // namespace espalier::cli
