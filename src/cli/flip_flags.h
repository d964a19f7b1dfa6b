// Decisions of a model of tables with an attribute swapped.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common.h"
#include "fairness/flip.h"
#include "report/terminal.h"
#include "tables/loaded_table_model.h"
#include "tables/scores.h"

namespace espalier::cli {

// What the values of a column are that rows are given: those of the table where the model does not read it;
// categories and truths that training saw; numbers of the rows, each or those in the middles of their fifths.
enum class FlipKind { kUnread, kCategory, kTruth, kNumber, kMiddle };

struct FlippedColumn {
  std::string column;
  FlipKind kind = FlipKind::kCategory;
  bool two_classes = true;
  std::vector<std::string> values = {};
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
  std::vector<FlippedColumn> flip(LoadedTableModel& saved, const CsvTable& table,
                                  const std::vector<int64_t>& rows, const Tensor& inputs,
                                  const Predictions& predictions) const;
};

std::string text_of(const std::vector<FlippedColumn>& flipped, const Terminal& terminal);
nlohmann::ordered_json json_of(const std::vector<FlippedColumn>& flipped);

}  // namespace espalier::cli
