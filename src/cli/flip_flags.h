// Decisions of a model of tables with an attribute swapped.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/scores.h"
#include "cli/table_data.h"
#include "fairness/flip.h"
#include "report/terminal.h"

namespace espalier::cli {

struct FlippedColumn {
  std::string column;
  bool read = true;  // whether the model reads it
  std::vector<std::string> values =
      {};  // that training saw, or of the table where the model does not read it
  Flips flips = {};
};

struct FlipFlags {
  std::vector<std::string> columns = {};

  // --flip.
  void add(CLI::App& verb);
  bool any() const { return !columns.empty(); }
  // The decisions of these rows, `inputs` of the model, with each column's value swapped to each other that
  // training saw. Raises ValueError: evaluate.flip for a model of other than two classes and for a column
  // that is no category, csv.column.
  std::vector<FlippedColumn> flip(TableModel& saved, const CsvTable& table, const std::vector<int64_t>& rows,
                                  const Tensor& inputs, const Predictions& predictions) const;
};

std::string text_of(const std::vector<FlippedColumn>& flipped, const Terminal& terminal);
nlohmann::ordered_json json_of(const std::vector<FlippedColumn>& flipped);

}  // namespace espalier::cli
