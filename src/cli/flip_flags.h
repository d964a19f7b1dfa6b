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
  bool numbers = false, middles = false, two_classes = true;
  std::vector<std::string> values =
      {};  // that training saw; of numbers, and where the model does not read it, of the table
  Flips flips = {};
};

struct FlipFlags {
  std::vector<std::string> columns = {};

  // --flip.
  void add(CLI::App& verb);
  bool any() const { return !columns.empty(); }
  // The decisions of these rows, `inputs` of the model, with each column's value swapped to each other that
  // training saw; of numbers to each of ten at most that these rows have, else to those in the
  // middles of the fifths of the rows, of which a row has the nearest. Raises ValueError: evaluate.flip for a
  // regression, for a column of dates and where there are no two values; csv.column.
  std::vector<FlippedColumn> flip(TableModel& saved, const CsvTable& table, const std::vector<int64_t>& rows,
                                  const Tensor& inputs, const Predictions& predictions) const;
};

std::string text_of(const std::vector<FlippedColumn>& flipped, const Terminal& terminal);
nlohmann::ordered_json json_of(const std::vector<FlippedColumn>& flipped);

}  // namespace espalier::cli
