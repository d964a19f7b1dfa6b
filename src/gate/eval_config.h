// An EvalConfig of TensorFlow Model Analysis becomes a file of gates.
#pragma once

#include <string>
#include <vector>

#include "gate/tfma/config.pb.h"

namespace espalier {

namespace tfma = ::tensorflow_model_analysis;

// Text, bytes or a TFRecord, gzip too; or JSON, by itself or as TensorFlow Model Analysis keeps it beside its
// results, eval_config.json. Raises FormatError: metadata.*, json.*, evalconfig.json for JSON of something
// else, with the field.
tfma::EvalConfig parse_eval_config(const std::string& bytes);

struct EvalConfigGates {
  std::string text;                  // a file of gates
  int64_t gates = 0;                 // in it
  std::vector<std::string> notes;    // what has no place in it: "options.min_slice_size: why"
  std::string label, score, weight;  // columns of the model that is evaluated; "" where none is named
  bool ask_baseline = false;         // whether there is a change among the gates
};

// Each threshold holds of the slices that it names, or of all slicing_specs. What is no gate is in the notes,
// as comments in the text too. Raises FormatError: evalconfig.direction for a change without one,
// evalconfig.config and json.* for arguments of metrics, evalconfig.gate for a limit that no number can keep
// and for what else read_gates() refuses, evalconfig.empty where no threshold has become a gate.
EvalConfigGates gates_of(const tfma::EvalConfig& config);

}  // namespace espalier
