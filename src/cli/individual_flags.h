// How fairly a model of tables decides single rows.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common.h"
#include "fairness/assessment.h"
#include "fairness/consistency.h"
#include "report/terminal.h"
#include "tables/loaded_table_model.h"
#include "tables/scored_table.h"
#include "tables/scores.h"

namespace espalier::cli {

struct IndividualFairness {
  Consistency consistency;
  // Of benefits said - is + 1: generalised entropy with alpha 2, and Theil's index.
  std::optional<double> entropy = {}, theil = {};
  // What of Theil's index lies between the groups of each slicing.
  std::vector<std::pair<std::string, std::optional<double>>> between = {};
};

struct IndividualFlags {
  bool on = false;
  size_t neighbours = 5;

  // --individual and --neighbours.
  void add(CLI::App& verb);
  // The flags that were given.
  std::vector<std::string> words() const;
  // `inputs` of the model; between groups of `assessment`, where there is one. Raises ValueError:
  // evaluate.individual for a model of other than two classes, consistency.rows, consistency.neighbours.
  IndividualFairness find(const LoadedTableModel& saved, const Tensor& inputs, const Predictions& predictions,
                          const Tensor& labels, const Assessment* assessment) const;
  // Rows of scores, of which those are positive that the assessment counts so at its first threshold. Alike
  // are those whose columns are, but for `no_inputs`, as `train` would read them. Raises as above, and
  // ValueError: evaluate.task, columns.* where no column is left.
  IndividualFairness find(const ScoredTable& scored, const std::vector<std::string>& no_inputs,
                          const Assessment& assessment) const;
};

std::string text_of(const IndividualFairness& all, const Terminal& terminal);
nlohmann::ordered_json json_of(const IndividualFairness& all);

}  // namespace espalier::cli
