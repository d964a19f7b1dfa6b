// --where.
#pragma once

#include <optional>

#include <CLI/CLI.hpp>

#include "format/expression.h"

namespace espalier::cli {

// Conditions on the rows of a table. Raises FormatError[expression.*] while flags are read.
void add_where(CLI::App& verb, std::optional<Expression>& where);

}  // namespace espalier::cli
