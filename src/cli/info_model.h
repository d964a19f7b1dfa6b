// What a saved model is.
#pragma once

#include <string>

#include "cli/common.h"

namespace espalier::cli {

// What it learned, from which columns and rows, how it did, its variables. Raises what load_model raises.
void info_model(const std::string& path, const Results& results);

}  // namespace espalier::cli
