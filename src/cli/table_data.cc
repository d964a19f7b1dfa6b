#include "cli/table_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

void TableFlags::add(CLI::App& verb) {
  verb.add_option("--delimiter", delimiter, "Between cells; guessed when not given")->option_text("C");
  verb.add_option("--header", header, "Whether the first line holds the columns' names")
      ->check(CLI::IsMember({"guess", "yes", "no"}))
      ->option_text("guess|yes|no [guess]");
  verb.add_option_function<std::string>(
          "--names", [this](const std::string& text) { names = split(text); },
          "Names of the columns, for a file without them")
      ->option_text("A,B,...");
}

std::vector<std::string> TableFlags::words() const {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, const std::string& value) {
    out.emplace_back(flag);
    out.push_back(value);
  };
  if (!delimiter.empty()) add("--delimiter", delimiter);
  if (header != "guess") add("--header", header);
  std::string joined;
  for (const std::string& name : names) joined += cat(&name == &names[0] ? "" : ",", name);
  if (!names.empty()) add("--names", joined);
  return out;
}

char TableFlags::separator() const {
  if (delimiter == "\\t" || delimiter == "tab") return '\t';
  if (delimiter.size() > 1)
    throw ValueError("csv.delimiter", cat("a delimiter is one character, got \"", delimiter, "\""));
  return delimiter.empty() ? '\0' : delimiter[0];
}

CsvTable TableFlags::read(const std::string& path, const std::vector<std::string>& expected) const {
  CsvOptions options{.delimiter = separator(), .expected = expected};
  options.header = header == "yes" ? CsvHeader::kYes : header == "no" ? CsvHeader::kNo : CsvHeader::kGuess;
  options.names = names;
  return path == "-" ? parse_csv(read_text(path), options) : read_csv(path, options);
}

TableModel TableModel::load(const std::string& path) {
  LoadedModel model = load_model(path);
  if (!model.has_file(kColumnsFile))
    throw ValueError("model.columns", cat(path, " was not trained on a table: it has no ", kColumnsFile));
  try {
    ColumnProgram columns = ColumnProgram::from_json(model.file(kColumnsFile));
    return {std::move(model), std::move(columns)};
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, "/", kColumnsFile, ": ", error.message()));
  }
}

CsvTable TableModel::read(const TableFlags& flags, const std::string& path) const {
  const std::vector<std::string> names = columns.column_names();
  CsvTable table = flags.read(path, names);
  if (columns.by_position(table) && !names.empty()) {
    std::fputs(cat("note: ", path == "-" ? "standard input" : path,
                   " has no line of names: its columns are taken in the order of the training data\n")
                   .c_str(),
               stderr);
  }
  return table;
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
    const bool lacks = error.rule() == "csv.column";
    throw ValueError(error.rule(),
                     cat(path, lacks ? " lacks a column that the model needs: " : ": ", error.message()),
                     lacks ? "" : error.fix());
  }
}

}  // namespace

Tensor read_labels(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows) {
  return about(path, [&] { return columns.labels(table, rows); });
}

Tensor read_inputs(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows, ColumnReport* report) {
  if (table.rows() == 0) throw ValueError("table.rows", cat(path, " has no rows below its header"));
  ColumnReport own;
  ColumnReport& met = report ? *report : own;
  const Tensor out = about(path, [&] { return columns.inputs(table, rows, &met); });
  for (const auto& column : met.columns) {
    if (column.unreadable && column.unreadable + column.missing == met.rows) {
      throw ValueError("table.column",
                       cat(path, ": no cell of column \"", column.name,
                           "\" can be read as in training; the first is in "
                           "line ",
                           column.line),
                       "look at --delimiter, decimal commas, units and the order of columns");
    }
  }
  return out;
}

std::vector<int64_t> labelled_test_rows(const ColumnProgram& columns, const CsvTable& table,
                                        const std::string& path) {
  std::vector<int64_t> rows = columns.labelled_rows(table);
  const int64_t without = table.rows() - static_cast<int64_t>(rows.size());
  if (rows.empty() && without > 0)
    throw ValueError("table.labels", cat(path, ": no row has a label \"", columns.label(), "\""));
  if (without > 0) {
    std::fputs(cat("warning: ", without, " of ", table.rows(), " rows of ", path,
                   " have no label and are passed over\n")
                   .c_str(),
               stderr);
  }
  return rows;
}

std::string warnings_of(const ColumnReport& report) {
  std::string out;
  for (const auto& column : report.columns) {
    if (column.unreadable) {
      out += cat("warning: ", column.name, ": ", column.unreadable, " of ", report.rows,
                 " cells cannot be read, the first in line ", column.line, "; they count as missing\n");
    }
  }
  for (const auto& column : report.columns) {
    const auto rows = static_cast<double>(report.rows), usual = rows * column.usual_other;
    const double chance = 3 * std::sqrt(usual * (1 - column.usual_other));
    if (static_cast<double>(column.other) > std::max(usual + chance, 1.5 * usual)) {
      out += cat("warning: ", column.name, ": ", column.other, " of ", report.rows,
                 " values are none of those that training met often (there ",
                 column.usual_other == 0 ? "none was" : cat(percent(column.usual_other, 1), " were"),
                 "); are they written otherwise?\n");
    }
  }
  return out;
}

}  // namespace espalier::cli
