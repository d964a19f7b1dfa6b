#include "cli/flip_flags.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "data/column_steps.h"
#include "evaluate/intervals.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostGroups = 64;

// How a model reads a category: an input for each value and one for others, or one that is 0 or 1.
struct Attribute {
  std::vector<std::string> values = {};
  size_t first = 0, width = 0;  // of its inputs; none where the model does not read it
  bool boolean = false;

  // The inputs of a row whose value is this one.
  void write(size_t value, float* inputs) const {
    std::fill_n(inputs + first, width, 0.0f);
    if (boolean) {
      inputs[first] = static_cast<float>(value);
    } else {
      inputs[first + value] = 1;
    }
  }
};

Attribute attribute_of(const ColumnProgram& columns, const std::string& column) {
  const Json program = Json::parse(columns.to_json());
  const Json& steps = program["steps"];
  const auto step =
      std::find_if(steps.begin(), steps.end(), [&](const Json& one) { return one["column"] == column; });
  if (step == steps.end()) return {};
  const std::vector<std::string> features = columns.feature_names();
  const auto place = [&](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(features, name) - features.begin());
  };
  const bool indicator = (*step)["indicator"].get<bool>();
  if ((*step)["kind"] == "boolean") return {{"false", "true"}, place(column), 1u + indicator, true};
  if ((*step)["kind"] != "category") {
    throw ValueError("evaluate.flip", cat("--flip swaps the values of categories, and the model reads \"",
                                          column, "\" as ", (*step)["kind"].get<std::string>()));
  }
  Attribute out{.values = (*step)["categories"].get<std::vector<std::string>>()};
  out.first = place(cat(column, "=", out.values[0]));
  out.width = out.values.size() + 1 + indicator;
  return out;
}

// The value that each row has, as one of the attribute's.
CategoryColumn own_values(const Attribute& attribute, const std::string& column, const CsvTable& table,
                          const std::vector<int64_t>& rows) {
  CategoryColumn out{column, attribute.values, {}};
  const int64_t place = table.column(column);
  for (const int64_t row : rows) {
    std::string_view text = table.cell(row, place);
    if (const std::optional<bool> truth = read_truth(text); attribute.boolean && truth)
      text = *truth ? "true" : "false";
    const auto found = std::ranges::find(out.values, text);
    out.codes.push_back(found == out.values.end() ? CategoryColumn::kMissing
                                                  : static_cast<uint32_t>(found - out.values.begin()));
  }
  return out;
}

std::vector<uint8_t> positives(const Predictions& predictions, int64_t positive) {
  std::vector<uint8_t> out;
  for (const int64_t best : predictions.best) out.push_back(best == positive);
  return out;
}

FlippedColumn flipped(TableModel& saved, const std::string& column, const CsvTable& table,
                      const std::vector<int64_t>& rows, const Tensor& inputs,
                      const std::vector<uint8_t>& said) {
  Attribute attribute = attribute_of(saved.columns, column);
  FlippedColumn out{.column = column, .read = attribute.width > 0};
  std::vector<std::vector<uint8_t>> said_with;
  if (out.read) {
    const auto width = static_cast<size_t>(inputs.size(1));
    for (size_t value = 0; value < attribute.values.size(); ++value) {
      std::vector<float> swapped = inputs.to_vector<float>();
      for (size_t row = 0; row < rows.size(); ++row) attribute.write(value, swapped.data() + row * width);
      const Predictions predictions =
          predict_rows(saved.model, saved.columns, Tensor::of(swapped, inputs.shape()), saved.decision);
      said_with.push_back(positives(predictions, saved.decision.positive));
    }
  } else {
    const int64_t place = table.column(column);
    std::set<std::string> values;
    for (const int64_t row : rows) values.emplace(table.cell(row, place));
    if (values.size() > kMostGroups) {
      throw ValueError("evaluate.flip", cat("column \"", column, "\" has ", values.size(),
                                            " values: groups are by at most ", kMostGroups));
    }
    attribute.values.assign(values.begin(), values.end());
  }
  out.values = attribute.values;
  out.flips = count_flips(said, own_values(attribute, column, table, rows), said_with);
  return out;
}

}  // namespace

void FlipFlags::add(CLI::App& verb) {
  verb.add_option_function<std::vector<std::string>>(
          "--flip", [this](const std::vector<std::string>& given) { columns = comma_separated(given); },
          "Categories whose value is swapped to each other that training saw: how many decisions change")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
}

std::vector<FlippedColumn> FlipFlags::flip(TableModel& saved, const CsvTable& table,
                                           const std::vector<int64_t>& rows, const Tensor& inputs,
                                           const Predictions& predictions) const {
  if (saved.columns.classes().size() != 2) {
    throw ValueError(
        "evaluate.flip",
        cat("--flip is for models of two classes, and ", saved.columns.label(),
            saved.columns.classification() ? cat(" has ", saved.columns.classes().size()) : " is a number"));
  }
  const std::vector<uint8_t> said = positives(predictions, saved.decision.positive);
  std::vector<FlippedColumn> out;
  for (const std::string& column : columns) out.push_back(flipped(saved, column, table, rows, inputs, said));
  return out;
}

std::string text_of(const std::vector<FlippedColumn>& flipped, const Terminal& terminal) {
  std::string out;
  for (const FlippedColumn& one : flipped) {
    Table table({cat("flips of ", one.column), "rows", "flip rate", percent(kLevel, 0) + " interval",
                 "to positive", "to negative"});
    const auto add = [&](const FlipCounts& counts) {
      const Interval interval = wilson(counts.rate());
      table.row({counts.group, counts.rows, fixed(counts.rate().share, 4),
                 cat(fixed(interval.low, 4), " to ", fixed(interval.high, 4)), counts.to_positive,
                 counts.to_negative});
    };
    add(one.flips.overall);
    for (const FlipCounts& group : one.flips.groups) add(group);
    out += cat(
        "\n", table.text(terminal),
        terminal.paint(Ink::kDim,
                       one.read ? cat("rows whose decision changes with one of the other values, of ",
                                      one.values.size(), " that training saw\n")
                                : cat("the model does not read ", one.column, ": no decision can change\n")));
  }
  return out;
}

Json json_of(const std::vector<FlippedColumn>& flipped) {
  Json out = Json::array();
  const auto json = [](const FlipCounts& counts) {
    const Interval interval = wilson(counts.rate());
    return Json{{"group", counts.group},
                {"rows", counts.rows},
                {"rate", counts.rate().share},
                {"interval", {interval.low, interval.high}},
                {"to_positive", counts.to_positive},
                {"to_negative", counts.to_negative}};
  };
  for (const FlippedColumn& one : flipped) {
    Json& each = out.emplace_back(Json{{"column", one.column}, {"read", one.read}, {"values", one.values}});
    each["overall"] = json(one.flips.overall);
    each["groups"] = Json::array();
    for (const FlipCounts& group : one.flips.groups) each["groups"].push_back(json(group));
  }
  return out;
}

}  // namespace espalier::cli
