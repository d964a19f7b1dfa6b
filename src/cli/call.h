// A call of the command as a whole, and how it ends.
#pragma once

#include "cli/verbs.h"

namespace espalier::cli {

// Calls the verb that the words name, says what went wrong on standard error, with --json as JSON on standard
// output too, and returns the exit code.
int call(CLI::App& app, int argc, char** argv);

}  // namespace espalier::cli
