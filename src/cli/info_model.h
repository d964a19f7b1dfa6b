// What a saved model is.
#pragma once

#include <string>

#include "cli/common.h"
#include "espalier/model.h"

namespace espalier::cli {

// Numbers that training changes.
int64_t trainable_parameters(const Model& model);
// What it learned, from which columns and rows, how it did, its variables. Raises what load_model raises.
void info_model(const std::string& path, const Results& results);

}  // namespace espalier::cli
