#include "tables/loaded_table_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/called_command.h"
#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "data/missing_labels.h"
#include "evaluate/envelope.h"
#include "report/table.h"
#include "tables/image_model.h"
#include "tables/table_reading.h"
#include "train/saved_files.h"

namespace espalier {
namespace {

// read(text of a file of the model at `path`), whose mistakes name it.
template <class Read>
auto read_file_of(const LoadedModel& model, const std::string& path, const std::string& name, Read read) {
  try {
    return read(model.file(name));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, "/", name, ": ", error.message()));
  }
}

// Why training chose the class that a model keeps.
std::string why_trained(const std::string& because) {
  if (because == name(PositiveBecause::kRarer)) return "the rarer one in training";
  if (because == name(PositiveBecause::kPair)) return "of a known pair";
  if (because == name(PositiveBecause::kFlag)) return "named in training";
  if (because == name(PositiveBecause::kSchema)) return "favourable by the schema of its training";
  return "";
}

}  // namespace

ColumnProgram columns_of(const LoadedModel& model, const std::string& path) {
  if (!model.has_file(kColumnsFile))
    throw ValueError("model.columns",
                     cat(path, " was not trained on a table: it has no ", kColumnsFile,
                         takes_images(model) ? "; models of images go with evaluate, predict, quantize, info "
                                               "and export"
                                             : ", which says how columns become inputs; a model of a program "
                                               "goes with info, lineage and export"));
  return read_file_of(model, path, kColumnsFile,
                      [](const std::string& text) { return ColumnProgram::from_json(text); });
}

void check_order(const std::string& model, const std::string& data) {
  if (!saved_files::holds_model(data) || saved_files::holds_model(model)) return;
  throw ValueError("model.order", cat(model, " is no saved model, and ", data, " is one"),
                   cat("the model comes first: ", shell_words({data, model})));
}

void check_decision(const ColumnProgram& columns, const Decision& decision) {
  if (!decision.threshold || columns.classes().size() == 2) return;
  throw ValueError("table.threshold",
                   cat("a threshold is for two classes, and ", columns.label(),
                       columns.classification() ? cat(" has ", columns.classes().size()) : " is a number"));
}

void check_positive(const ColumnProgram& columns, const std::string& positive) {
  if (positive.empty() || columns.classes().size() == 2) return;
  throw ValueError("table.positive",
                   cat("--positive is for two classes, and ", columns.label(),
                       columns.classification() ? cat(" has ", columns.classes().size()) : " is a number"));
}

nlohmann::ordered_json json_file(const LoadedModel& model, const std::string& name, const std::string& path) {
  return read_file_of(model, path, name, [](const std::string& text) { return parse_json(text); });
}

Decision decision_of(const LoadedModel& model, const ColumnProgram& columns, const std::string& path) {
  if (!model.has_file(kDecisionFile)) return {};
  return read_file_of(model, path, kDecisionFile,
                      [&](const std::string& text) { return Decision::from_json(text, columns.classes()); });
}

LoadedTableModel LoadedTableModel::load(const std::string& path, const std::optional<double>& threshold) {
  LoadedModel model = load_model(path);
  ColumnProgram columns = columns_of(model, path);
  Decision decision = decision_of(model, columns, path);
  PositiveClass positive;
  if (decision.positive) {
    positive = {columns.classes()[static_cast<size_t>(*decision.positive)], PositiveBecause::kModel,
                why_trained(decision.because)};
  } else if (columns.classes().size() == 2) {
    positive = positive_class(PositiveSaid(), columns.classes());  // of a model that says nothing
    if (positive.known())
      decision.positive = std::ranges::find(columns.classes(), positive.value) - columns.classes().begin();
  }
  if (threshold) decision.threshold = threshold;
  check_decision(columns, decision);
  return {std::move(model), std::move(columns), decision, positive};
}

void LoadedTableModel::count_from(const PositiveSaid& said, const std::string& path, bool threshold,
                                  const std::string& fix) {
  check_positive(columns, said.flag);
  const std::vector<std::string>& classes = columns.classes();
  if (classes.size() != 2) return;
  PositiveSaid all = said;
  const bool own = positive.because == PositiveBecause::kModel;
  if (own) {
    all.model = positive.value;
    all.why_model = positive.detail;
  }
  const PositiveClass now = positive_class(all, classes);
  if (own && now.value != positive.value) {
    if (decision.threshold && !threshold) {
      throw ValueError("positive.threshold",
                       cat("the threshold of ", path, ", ", shortest(*decision.threshold), ", is of ",
                           shortened(positive.value), ", and ", shortened(now.value), " is to be positive"),
                       fix.empty() ? cat(command({"threshold", path, "X", "--positive", now.value}),
                                         " sets one of that class")
                                   : fix);
    }
    if (said.flag.empty() && said.schema.empty()) {
      throw ValueError(
          "positive.differs",
          cat("the gates count from ", shortened(now.value), ", and ", path, " from ",
              shortened(positive.value), positive.detail.empty() ? "" : ", " + positive.detail),
          cat(shell_words({"--positive", now.value}), " scores the other probability of the model"));
    }
  }
  positive = now;
  decision.positive.reset();
  if (now.known()) decision.positive = std::ranges::find(classes, now.value) - classes.begin();
  if (decision.threshold) need_positive("a threshold is of");
}

void LoadedTableModel::need_positive(const std::string& who) const {
  if (columns.classes().size() == 2 && !positive.known())
    throw_no_positive(cat("label \"", columns.label(), "\""), columns.classes(), who);
}

CsvTable LoadedTableModel::read(const TableReading& reading, const std::string& path,
                                const Messages& messages) const {
  const std::vector<std::string> names = columns.column_names();
  CsvTable table = reading.beside(columns.decimal()).read(path, names, messages);
  if (table.columns() == 1) {
    try {
      columns.inputs(table, std::vector<int64_t>());
    } catch (const ValueError&) {
      reading.check_parted(table, path);
    }
  }
  if (columns.by_position(table) && !names.empty()) {
    messages.note(cat(source_name(path),
                      " has no line of names: its columns are taken in the order of the training data"));
    return table.with_names(columns.names_of(table));
  }
  return table;
}

MissingWords missing_words_of(const ColumnProgram& columns) {
  return {columns.missing_words(), columns.value_words()};
}

nlohmann::ordered_json json_of_notes(const ColumnProgram& columns) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Note& note : columns.notes())
    out.push_back({{"column", note.column}, {"text", note.text}, {"warning", note.warning}});
  return out;
}

namespace {

// Runs f, whose mistakes are those of the table at `path`.
template <class F>
Tensor about(const std::string& path, F f) {
  try {
    return f();
  } catch (const ValueError& error) {
    if (error.fix() == "set strip_label_dots")
      throw ValueError(error.rule(), cat(path, ", ", error.message()), "add --strip-label-dots");
    throw ValueError(error.rule(), cat(path, ": ", error.message()), error.fix());
  }
}

constexpr const char* kAddLacking =
    "add what is lacking, empty where nothing is known, or train without it: --ignore COLUMN";

bool lacks_inputs(const ColumnProgram& columns, const CsvTable& table) {
  try {
    columns.inputs(table, std::vector<int64_t>());
    return false;
  } catch (const ValueError&) {
    return true;
  }
}

}  // namespace

Tensor read_labels(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows) {
  try {
    return about(path, [&] { return columns.labels(table, rows); });
  } catch (const ValueError& error) {
    if (error.rule() != "csv.column" || !error.fix().empty()) throw;
    throw ValueError(error.rule(), error.message(),
                     lacks_inputs(columns, table)
                         ? kAddLacking
                         : "evaluation needs the label's column; `espalier predict` takes rows without it");
  }
}

void check_test(const ColumnProgram& columns, const CsvTable& table, const std::string& path) {
  const std::vector<int64_t> none;
  try {
    about(path, [&] { return columns.labels(table, none); });
    about(path, [&] { return columns.inputs(table, none); });
  } catch (const ValueError& error) {
    if (error.rule() != "csv.column" || !error.fix().empty()) throw;
    throw ValueError(
        error.rule(), error.message(),
        "test rows have the columns of the training rows; without --test a share of --data is the test");
  }
}

namespace {

// Whether training had such cells too, so that these rows have them by chance.
bool chance_explains(const ColumnProgram& columns, const ColumnReport::Column& column) {
  for (const ColumnStep& step : steps_of(columns)) {
    if (step.column != column.name || !step.cells.known() || step.cells.unread == 0) continue;
    const int64_t cells = column.unreadable;
    return more_often_chance(step.cells.unread, step.cells.present(), cells, cells) > kNovelAlpha;
  }
  return false;
}

}  // namespace

Tensor read_inputs(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows, ColumnReport* report) {
  if (table.rows() == 0) throw ValueError("table.rows", cat(path, " has no rows below its header"));
  ColumnReport own;
  ColumnReport& met = report ? *report : own;
  const Tensor out = [&] {
    try {
      return about(path, [&] { return columns.inputs(table, rows, &met); });
    } catch (const ValueError& error) {
      if (error.rule() != "csv.column" || !error.fix().empty()) throw;
      throw ValueError(error.rule(), error.message(), kAddLacking);
    }
  }();
  for (const auto& column : met.columns) {
    if (column.unreadable && column.unreadable + column.missing == met.rows &&
        !chance_explains(columns, column)) {
      throw ValueError(
          "table.column",
          cat(path, ": no cell of column \"", column.name,
              "\" can be read as in training; the first is in "
              "line ",
              column.line, ", \"", column.cell, "\"",
              column.written.empty() ? "" : cat(", where training has cells like ", column.written)),
          "look at --delimiter, decimal commas, units and the order of columns");
    }
  }
  return out;
}

namespace {

// What such rows say instead. Only training makes a class of it.
std::string missing_labels_of(const ColumnProgram& columns, const CsvTable& table) {
  const std::vector<std::string> names = columns.names_of(table);
  const auto column = std::ranges::find(names, columns.label()) - names.begin();
  if (!columns.classification() || column == std::ssize(names)) return "";
  const std::string found =
      missing_labels(table, column, missing_words_of(columns), "`espalier train` with ");
  return found.empty() ? "" : cat("; ", found);
}

}  // namespace

std::vector<int64_t> labelled_test_rows(const ColumnProgram& columns, const CsvTable& table,
                                        const std::string& path, const Messages& messages) {
  std::vector<int64_t> rows = columns.labelled_rows(table);
  const int64_t without = table.rows() - static_cast<int64_t>(rows.size());
  if (rows.empty() && without > 0)
    throw ValueError("table.labels", cat(path, ": no row has a label \"", columns.label(), "\""));
  if (without > 0) {
    messages.warn({cat(without, " of ", table.rows(), " rows of ", path, " have no label and are passed over",
                       missing_labels_of(columns, table))});
  }
  return rows;
}

std::vector<std::string> warnings_of(const ColumnReport& report) {
  std::vector<std::string> out;
  if (report.other_point)
    out.emplace_back("numbers have a point where training had a comma, or the other way, and are read so");
  for (const auto& column : report.columns) {
    if (column.unreadable) {
      out.push_back(cat(column.name, ": ", column.unreadable, " of ", report.rows,
                        " cells cannot be read, the first in line ", column.line, "; they count as missing"));
    }
  }
  for (const auto& column : report.columns) {
    const int64_t numbers = report.rows - column.missing - column.unreadable;
    // A few of a hundred lack it in training too.
    if (20 * column.bare <= numbers) continue;
    out.push_back(cat(column.name, ": ", column.bare, " of ", numbers,
                      " numbers are written in another form than in training: ", column.written, " there, ",
                      column.bare_cell, " here, the first in line ", column.bare_line,
                      "; they are read as if they had the unit"));
  }
  for (const auto& column : report.columns) {
    const auto rows = static_cast<double>(report.rows), usual = rows * column.usual_other;
    const double chance = 3 * std::sqrt(usual * (1 - column.usual_other));
    if (static_cast<double>(column.other) > std::max(usual + chance, 1.5 * usual)) {
      out.push_back(
          cat(column.name, ": ", column.other, " of ", report.rows,
              " values are none of those that training met often",
              column.usual_other == 0 ? "" : cat(", ", percent(column.usual_other, 1), " there"),
              column.unmet && column.usual_other > 0 ? cat(", ", column.unmet, " of them never") : "",
              ", the first in line ", column.other_line, "; rare ones, or written otherwise?"));
    }
  }
  return out;
}

std::vector<std::string> faults_of(const ColumnProgram& columns, const CsvTable& table,
                                   std::span<const int64_t> rows, const ColumnReport& report) {
  NovelOptions options{.missing = missing_words_of(columns), .names = columns.names_of(table)};
  for (const ColumnReport::Column& column : report.columns) {
    if (column.missing + column.unreadable + column.other + column.beyond == 0)
      options.plain.insert(column.name);
  }
  std::vector<std::string> out;
  if (options.plain.size() == report.columns.size() && !report.other_point) return out;
  if (report.other_point) options.plain.clear();
  for (const Novel& found : find_novel(steps_of(columns), table, rows, options)) {
    if (found.sure) out.push_back(text(found));
  }
  return out;
}

std::vector<std::string> beyond_of(const ColumnReport& report) {
  constexpr size_t kNamed = 5;
  std::vector<ColumnReport::Column> columns = report.columns;
  std::erase_if(columns, [](const auto& column) { return column.beyond == 0 || column.range.empty(); });
  std::ranges::stable_sort(columns, std::greater(), &ColumnReport::Column::beyond);
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(kNamed, columns.size()); ++i) {
    out.push_back(cat(columns[i].name, ": ", columns[i].beyond, " of ", report.rows, " rows outside ",
                      columns[i].range, ", which training saw"));
  }
  if (columns.size() > 1) {
    out.push_back(cat("in all ", report.rows_beyond, " of ", report.rows,
                      " rows outside of what training saw, in ", columns.size(), " columns"));
  }
  return out;
}

}  // namespace espalier
