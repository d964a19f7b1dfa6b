// A call of the command as a whole, and how it ends.
#pragma once

#include <functional>

#include "cli/verbs.h"

namespace espalier::cli {

// Lets `add_verbs`, if any, add them, calls the verb that the words name, says what went wrong on standard
// error, with --json as JSON on standard output too, and returns the exit code.
int call(CLI::App& app, int argc, char** argv, const std::function<void()>& add_verbs = {});

}  // namespace espalier::cli
