#include "cli/flip_flags.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "data/column_guess.h"
#include "evaluate/intervals.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostGroups = 64;

// How a model reads an attribute: what its inputs are of each value.
struct Attribute {
  std::string column;
  std::vector<std::string> values = {};
  std::vector<std::vector<float>> inputs = {};  // [values, width]; none where the model does not read it
  size_t first = 0, width = 0;                  // of its inputs
  FlipKind kind = FlipKind::kUnread;
};

// The inputs of all rows.
struct Rows {
  const CsvTable& table;
  const std::vector<int64_t>& rows;
  std::vector<float> inputs;
  size_t width;

  float* of(size_t row, const Attribute& attribute) { return inputs.data() + row * width + attribute.first; }
};

Attribute attribute_of(const ColumnProgram& columns, const std::string& column) {
  const Json program = Json::parse(columns.to_json());
  const Json& steps = program["steps"];
  const auto step =
      std::find_if(steps.begin(), steps.end(), [&](const Json& one) { return one["column"] == column; });
  Attribute out{.column = column};
  if (step == steps.end()) return out;
  const std::string kind = (*step)["kind"].get<std::string>();
  const std::vector<std::string> features = columns.feature_names();
  const bool category = kind == "category", indicator = (*step)["indicator"].get<bool>();
  if (category) out.values = (*step)["categories"].get<std::vector<std::string>>();
  const std::string name = category ? cat(column, "=", out.values[0]) : column;
  out.first = static_cast<size_t>(std::ranges::find(features, name) - features.begin());
  out.width = (category ? out.values.size() + 1 : 1u) + indicator;
  if (category) {
    out.kind = FlipKind::kCategory;
    out.inputs.resize(out.values.size(), std::vector<float>(out.width));
    for (size_t value = 0; value < out.values.size(); ++value) out.inputs[value][value] = 1;
  } else if (kind == "boolean") {
    out.kind = FlipKind::kTruth;
    out.values = {"false", "true"};
    out.inputs.resize(2, std::vector<float>(out.width));
    out.inputs[1][0] = 1;
  } else if (kind == "numeric") {
    out.kind = FlipKind::kNumber;
  } else {
    throw ValueError("evaluate.flip", cat("--flip swaps categories and numbers, and the model reads \"",
                                          column, "\" as ", kind));
  }
  return out;
}

// The value that each row has, as one of the attribute's.
CategoryColumn own_values(const Attribute& attribute, const CsvTable& table,
                          const std::vector<int64_t>& rows) {
  CategoryColumn out{attribute.column, attribute.values, {}};
  const int64_t place = table.column(attribute.column);
  for (const int64_t row : rows) {
    std::string_view text = table.cell(row, place);
    if (attribute.kind == FlipKind::kTruth) {
      if (const std::optional<bool> truth = read_truth_or_bit(text)) text = *truth ? "true" : "false";
    }
    const auto found = std::ranges::find(out.values, text);
    out.codes.push_back(found == out.values.end() ? CategoryColumn::kMissing
                                                  : static_cast<uint32_t>(found - out.values.begin()));
  }
  return out;
}

// Numbers of the rows that stand for all: each where they are few, else those in the middles of their fifths.
// A row has the nearest, of two the lower.
CategoryColumn own_numbers(Attribute& attribute, Rows& rows, const MissingWords& missing) {
  constexpr size_t kFew = 10, kFifths = 5;
  const ColumnProfile profile =
      profile_column(rows.table, rows.rows, rows.table.column(attribute.column), missing);
  const NumberForm form = number_form(profile).form;
  std::vector<std::pair<double, size_t>> known;
  for (size_t row = 0; row < rows.rows.size(); ++row) {
    const uint32_t code = profile.codes[row];
    if (code == ColumnProfile::kMissing) continue;
    if (const std::optional<double> number = read_number(profile.values[code].text, form))
      known.emplace_back(*number, row);
  }
  std::ranges::sort(known);
  std::vector<std::pair<double, size_t>> standing = known;
  const auto same = std::ranges::unique(standing, {}, [](const auto& one) { return one.first; });
  standing.erase(same.begin(), same.end());
  if (standing.size() > kFew) {
    attribute.kind = FlipKind::kMiddle;
    standing.clear();
    for (size_t fifth = 0; fifth < kFifths; ++fifth) {
      const auto& middle = known[(2 * fifth + 1) * known.size() / (2 * kFifths)];
      if (standing.empty() || standing.back().first != middle.first) standing.push_back(middle);
    }
  }
  if (standing.size() < 2)
    throw ValueError("evaluate.flip",
                     cat("--flip swaps a value to others, and column \"", attribute.column, "\" has ",
                         standing.empty()                      ? "no number"
                         : attribute.kind == FlipKind::kMiddle ? "one number in nearly all of these rows"
                                                               : "one number in these rows"));
  for (const auto& [number, row] : standing) {
    const float* const its = rows.of(row, attribute);
    attribute.inputs.emplace_back(its, its + attribute.width);
    attribute.values.emplace_back(profile.values[profile.codes[row]].text);
  }
  CategoryColumn out{attribute.column, attribute.values, {}};
  out.codes.assign(rows.rows.size(), CategoryColumn::kMissing);
  for (const auto& [number, row] : known) {
    const auto apart = [&](const auto& one) { return std::abs(one.first - number); };
    out.codes[row] = static_cast<uint32_t>(std::ranges::min_element(standing, {}, apart) - standing.begin());
  }
  return out;
}

// Of two classes 1 where it is the positive one, else the class.
std::vector<uint32_t> decisions(const Predictions& predictions, const LoadedTableModel& saved) {
  const bool two = saved.columns.classes().size() == 2;
  std::vector<uint32_t> out;
  for (const int64_t best : predictions.best)
    out.push_back(static_cast<uint32_t>(two ? best == predictions.positive : best));
  return out;
}

// The values of a table's column; none where there are many.
std::vector<std::string> values_in(const CsvTable& table, const std::string& column,
                                   const std::vector<int64_t>& rows) {
  const int64_t place = table.column(column);
  std::set<std::string> values;
  for (const int64_t row : rows) values.emplace(table.cell(row, place));
  if (values.size() > kMostGroups) return {};
  return {values.begin(), values.end()};
}

FlippedColumn flipped(LoadedTableModel& saved, const std::string& column, Rows& rows, const Shape& shape,
                      const std::vector<uint32_t>& said) {
  Attribute attribute = attribute_of(saved.columns, column);
  if (attribute.kind == FlipKind::kUnread) attribute.values = values_in(rows.table, column, rows.rows);
  const CategoryColumn own = attribute.kind == FlipKind::kNumber
                                 ? own_numbers(attribute, rows, missing_words_of(saved.columns))
                                 : own_values(attribute, rows.table, rows.rows);
  std::vector<std::vector<uint32_t>> said_with;
  for (const std::vector<float>& inputs : attribute.inputs) {
    Rows swapped = rows;
    for (size_t row = 0; row < rows.rows.size(); ++row) std::ranges::copy(inputs, swapped.of(row, attribute));
    said_with.push_back(decisions(
        predict_rows(saved.model, saved.columns, Tensor::of(swapped.inputs, shape), saved.decision), saved));
  }
  FlippedColumn out{.column = column,
                    .kind = attribute.kind,
                    .two_classes = saved.positive.known(),
                    .values = attribute.values,
                    .flips = count_flips(said, own, said_with)};
  if (out.values.empty()) out.flips.groups.clear();
  return out;
}

}  // namespace

void FlipFlags::add(CLI::App& verb) {
  verb.add_option_function<std::vector<std::string>>(
          "--flip", [this](const std::vector<std::string>& given) { columns = comma_separated(given); },
          "Counterfactual test of these columns of a MODEL: replace each category by every other one seen in "
          "training, and each number by every value in the rows (if more than 10: by the medians of the 5 "
          "fifths), and count the decisions that change. Not with --scores")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
}

std::vector<FlippedColumn> FlipFlags::flip(LoadedTableModel& saved, const CsvTable& table,
                                           const std::vector<int64_t>& rows, const Tensor& inputs,
                                           const Predictions& predictions) const {
  if (!saved.columns.classification())
    throw ValueError("evaluate.flip", cat("--flip is for models of classes, and ", saved.columns.label(),
                                          " is a number: no decision can change"));
  const std::vector<uint32_t> said = decisions(predictions, saved);
  Rows all{table, rows, inputs.to_vector<float>(), static_cast<size_t>(inputs.size(1))};
  std::vector<FlippedColumn> out;
  for (const std::string& column : columns) out.push_back(flipped(saved, column, all, inputs.shape(), said));
  return out;
}

namespace {

std::string swapped_to(const FlippedColumn& one) {
  switch (one.kind) {
    case FlipKind::kUnread:
      return cat("the model does not read ", one.column, ": no decision can change");
    case FlipKind::kNumber:
      return cat("rows whose decision changes with one of the other numbers, of ", one.values.size(),
                 " that these rows have");
    case FlipKind::kMiddle:
      return cat("rows whose decision changes with one of the other numbers, of ", one.values.size(),
                 ", the middles of the fifths of these rows");
    default:
      return cat("rows whose decision changes with one of the other values, of ", one.values.size(),
                 " that training saw");
  }
}

}  // namespace

std::string text_of(const std::vector<FlippedColumn>& flipped, const Terminal& terminal) {
  std::string out;
  for (const FlippedColumn& one : flipped) {
    std::vector<std::string> head = {cat("flips of ", one.column), "rows", "flip rate",
                                     percent(kLevel, 0) + " interval"};
    if (one.two_classes) head.insert(head.end(), {"to positive", "to negative"});
    Table table(head);
    const auto add = [&](const FlipCounts& counts) {
      const Interval interval = wilson(counts.rate());
      std::vector<TableCell> row = {
          one.kind == FlipKind::kMiddle && &counts != &one.flips.overall && counts.group != "(missing)"
              ? cat("near ", counts.group)
              : counts.group,
          counts.rows, fixed(counts.rate().share, 4),
          cat(fixed(interval.low, 4), " to ", fixed(interval.high, 4))};
      if (one.two_classes) {
        row.emplace_back(counts.to_positive);
        row.emplace_back(counts.to_negative);
      }
      table.row(row);
    };
    add(one.flips.overall);
    for (const FlipCounts& group : one.flips.groups) add(group);
    out += cat("\n", table.text(terminal), terminal.paint(Ink::kDim, swapped_to(one) + "\n"));
  }
  return out;
}

Json json_of(const std::vector<FlippedColumn>& flipped) {
  Json out = Json::array();
  for (const FlippedColumn& one : flipped) {
    const auto json = [&](const FlipCounts& counts) {
      const Interval interval = wilson(counts.rate());
      Json all = {{"group", counts.group},
                  {"rows", counts.rows},
                  {"rate", counts.rate().share},
                  {"interval", {interval.low, interval.high}}};
      if (one.two_classes)
        all.update(Json{{"to_positive", counts.to_positive}, {"to_negative", counts.to_negative}});
      return all;
    };
    Json& each = out.emplace_back(
        Json{{"column", one.column}, {"read", one.kind != FlipKind::kUnread}, {"values", one.values}});
    each["overall"] = json(one.flips.overall);
    each["groups"] = Json::array();
    for (const FlipCounts& group : one.flips.groups) each["groups"].push_back(json(group));
  }
  return out;
}

}  // namespace espalier::cli
