// `espalier --help` and `espalier VERB --help`.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace espalier::cli {

inline constexpr size_t kHelpColumns = 80;

// Lays help out as a manual page of at most kHelpColumns columns.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace espalier::cli
