// Saved models for other runtimes.
#pragma once

#include <map>
#include <string>

#include "espalier/saved_model.h"

namespace espalier {

// Both are functions of the model alone: of its layers and weights, not of what it is called or what else the
// process made.

// The model's inference as an ONNX model (format/onnx.h) of inputs x0, x1, ... and results y0, y1, ..., for
// `batch` rows; 0: for any number of rows, the dimension N, unless the model holds for one number alone. A
// column program is no part of it: inputs are the rows that it makes. `doc` is the file's word to people,
// `metadata` to programs. Raises ValueError[export.batch] for a number of rows that the model does not hold
// for.
std::string model_onnx(LoadedModel& model, int64_t batch = 0, const std::string& doc = "",
                       const std::map<std::string, std::string>& metadata = {});

struct StablehloOptions {
  int64_t batch = 1;  // rows; a model that holds for one number of rows has those
  // The weights are arguments, each with its path as espalier.variable, instead of constants.
  bool weights_as_arguments = false;
};
// The model's inference as a module of StableHLO's own ops (format/stablehlo.h). Raises
// ValueError[export.batch] for a number of rows that the model does not hold for.
std::string model_stablehlo(LoadedModel& model, const StablehloOptions& options = {});

}  // namespace espalier
