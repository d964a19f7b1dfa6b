#include "cli/table_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/ops.h"
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

// The chance that a row of class 1 gets a higher score than one of class 0; ties count half.
double area_under_curve(const std::vector<float>& outputs, std::span<const int32_t> labels) {
  if (std::ranges::any_of(outputs, [](float value) { return std::isnan(value); })) return -1;
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto score_of = [&](size_t row) { return outputs[2 * row + 1]; };
  std::ranges::sort(order, {}, score_of);
  double below = 0, wins = 0, positives = 0;
  for (size_t i = 0; i < order.size();) {
    double ones = 0, zeros = 0;
    const float score = score_of(order[i]);
    for (; i < order.size() && score_of(order[i]) == score; ++i) (labels[order[i]] ? ones : zeros) += 1;
    wins += ones * (below + zeros / 2);
    below += zeros;
    positives += ones;
  }
  return positives == 0 || below == 0 ? -1 : wins / (positives * below);
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

Predictions predict_rows(Model& model, const ColumnProgram& columns, const Tensor& inputs) {
  const Tensor outputs = convert(model.predict(inputs, 1024), DType::kF32);
  const auto width = columns.classification() ? static_cast<int64_t>(columns.classes().size()) : 1;
  if (outputs.rank() != 2 || outputs.size(1) != width) {
    throw ShapeError("model.outputs", cat("the model gives ", outputs.type(), " where its columns need ",
                                          width, columns.classification() ? " classes" : " number"));
  }
  Predictions out;
  if (!columns.classification()) {
    out.outputs = outputs.to_vector<float>();
    out.values = columns.predicted_values(out.outputs);
    const std::vector<double> whole = columns.label_values(out.outputs);
    for (size_t i = 0; i < whole.size(); ++i) out.cut += whole[i] != out.values[i];
    return out;
  }
  out.outputs = softmax(outputs, 1).to_vector<float>();
  for (auto row = out.outputs.begin(); row != out.outputs.end(); row += width)
    out.best.push_back(std::max_element(row, row + width) - row);
  return out;
}

Scores score(const ColumnProgram& columns, const Predictions& predictions, const Tensor& labels) {
  Scores out{.rows = labels.size(0)};
  const auto rows = static_cast<size_t>(out.rows);
  const auto count = static_cast<double>(out.rows);
  if (columns.classification()) {
    const size_t classes = columns.classes().size();
    const auto truth = labels.data<int32_t>();
    out.counts.resize(classes * classes);
    std::vector<int64_t> of_class(classes);
    for (size_t i = 0; i < rows; ++i) {
      const auto label = static_cast<size_t>(truth[i]);
      ++out.counts[label * classes + static_cast<size_t>(predictions.best[i])];
      ++of_class[label];
      out.accuracy += predictions.best[i] == truth[i];
      out.log_loss -= std::log(std::max(predictions.outputs[i * classes + label], 1e-7f));
    }
    out.accuracy /= count;
    out.log_loss /= count;
    out.base_rate = static_cast<double>(std::ranges::max(of_class)) / count;
    if (classes == 2) out.auc = area_under_curve(predictions.outputs, truth);
    return out;
  }
  const std::vector<double> truth = columns.label_values(labels.data<float>());
  const double mean = std::accumulate(truth.begin(), truth.end(), 0.0) / count;
  double squares = 0, around_mean = 0;
  for (size_t i = 0; i < rows; ++i) {
    const double error = predictions.values[i] - truth[i], deviation = truth[i] - mean;
    squares += error * error;
    around_mean += deviation * deviation;
    out.mae += std::abs(error) / count;
    out.mae_of_mean += std::abs(deviation) / count;
  }
  out.rmse = std::sqrt(squares / count);
  out.r2 = around_mean == 0 ? 0 : 1 - squares / around_mean;
  return out;
}

namespace {

// A number for people: four digits that matter.
std::string number(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(size)) return "no number";
  const int before = size < 1 ? 1 : static_cast<int>(std::log10(size)) + 1;
  return fixed(value, std::clamp(4 - before, 0, 4));
}

}  // namespace

std::string report_of(const Scores& scores, const ColumnProgram& columns, const Terminal& terminal) {
  if (!columns.classification()) {
    return cat("r2 ", terminal.paint(Ink::kBold, fixed(scores.r2, 4)), " on ", scores.rows,
               " rows: 1 is perfect, 0 is always saying the mean\n", "off by ", number(scores.mae),
               " on average (always saying the mean: ", number(scores.mae_of_mean), "); rmse ",
               number(scores.rmse), "\n");
  }
  constexpr size_t kTableClasses = 20;
  std::string out;
  if (columns.classes().size() <= kTableClasses) {
    out = cat("rows are the true ", columns.label(), ", columns what the model says\n",
              confusion_matrix(scores.counts, columns.classes(), terminal), "\n");
  }
  return out + cat("accuracy ", terminal.paint(Ink::kBold, percent(scores.accuracy, 2)), " on ", scores.rows,
                   " rows (always saying the commonest class: ", percent(scores.base_rate, 2), ")\n",
                   scores.auc < 0 ? "" : cat("auc ", fixed(scores.auc, 4), ", "), "log loss ",
                   fixed(scores.log_loss, 4), "\n");
}

nlohmann::ordered_json json_of(const Scores& scores, const ColumnProgram& columns) {
  if (!columns.classification()) {
    return {{"rows", scores.rows},
            {"r2", scores.r2},
            {"mae", scores.mae},
            {"rmse", scores.rmse},
            {"mae_of_mean", scores.mae_of_mean}};
  }
  nlohmann::ordered_json confusion = nlohmann::ordered_json::array();
  const auto classes = static_cast<std::ptrdiff_t>(columns.classes().size());
  for (auto it = scores.counts.begin(); it != scores.counts.end(); it += classes)
    confusion.push_back(std::vector<int64_t>(it, it + classes));
  nlohmann::ordered_json out = {{"rows", scores.rows},
                                {"accuracy", scores.accuracy},
                                {"base_rate", scores.base_rate},
                                {"log_loss", scores.log_loss}};
  if (scores.auc >= 0) out["auc"] = scores.auc;
  out["classes"] = columns.classes();
  out["confusion"] = confusion;
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
