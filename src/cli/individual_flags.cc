#include "cli/individual_flags.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "evaluate/entropy.h"
#include "report/table.h"

namespace espalier::cli {

namespace {

IndividualFairness fairness_of(const Tensor& inputs, const std::vector<uint8_t>& said,
                               const std::function<bool(size_t)>& is, size_t neighbours,
                               const Assessment* assessment) {
  Confusion all;
  for (size_t row = 0; row < said.size(); ++row) all[outcome_of(said[row], is(row))].add(1);
  IndividualFairness out{.consistency = consistency(inputs.to_vector<float>(), said, neighbours),
                         .entropy = generalised_entropy(all),
                         .theil = generalised_entropy(all, 1)};
  if (!assessment) return out;
  for (const SlicingFigures& by : assessment->by) {
    std::vector<Confusion> groups;
    for (const SliceFigures& slice : by.slices) groups.push_back(slice.at[0]);
    out.between.emplace_back(by.name(), generalised_entropy_between(groups, 1));
  }
  return out;
}

}  // namespace

std::vector<std::string> IndividualFlags::words() const {
  if (!on) return {};
  return {"--individual", "--neighbours", cat(neighbours)};
}

void IndividualFlags::add(CLI::App& verb) {
  CLI::Option* individual =
      verb.add_flag("--individual", on,
                    "Two classes: measure individual fairness, by consistency (how often "
                    "similar rows get the same decision) and the generalised entropy "
                    "index (how evenly benefits are spread)");
  verb.add_option("--neighbours", neighbours,
                  "Number of nearest rows that --individual compares, the row itself included")
      ->option_text("K [5]")
      ->check(number_from(int64_t{1}, int64_t{1000}))
      ->needs(individual);
}

IndividualFairness IndividualFlags::find(const LoadedTableModel& saved, const Tensor& inputs,
                                         const Predictions& predictions, const Tensor& labels,
                                         const Assessment* assessment) const {
  const ColumnProgram& columns = saved.columns;
  if (columns.classes().size() != 2) {
    throw ValueError("evaluate.individual",
                     cat("--individual is for models of two classes, and ", columns.label(),
                         columns.classification() ? cat(" has ", columns.classes().size()) : " is a number"));
  }
  const std::vector<int32_t> truths = labels.to_vector<int32_t>();
  std::vector<uint8_t> said;
  for (const int32_t best : predictions.best) said.push_back(best == predictions.positive);
  const auto is = [&](size_t row) { return truths[row] == predictions.positive; };
  return fairness_of(inputs, said, is, neighbours, assessment);
}

IndividualFairness IndividualFlags::find(const ScoredTable& scored, const std::vector<std::string>& no_inputs,
                                         const Assessment& assessment) const {
  const ScoredRows rows = scored.view("--individual");
  ColumnOptions options{.label = scored.label};
  for (const std::string& name : scored.table.names()) {
    if (name != scored.label && std::ranges::count(no_inputs, name) > 0) options.ignore.push_back(name);
  }
  const ColumnProgram columns = ColumnProgram::fit(scored.table, scored.rows, options);
  const double threshold = assessment.options.thresholds[0];
  std::vector<uint8_t> said;
  for (size_t row = 0; row < scored.rows.size(); ++row)
    said.push_back(says_positive(rows.score(row), threshold, assessment.options.positive));
  const auto is = [&](size_t row) { return rows.positive(row); };
  return fairness_of(columns.inputs(scored.table, scored.rows), said, is, neighbours, &assessment);
}

std::string text_of(const IndividualFairness& all, const Terminal& terminal) {
  const Consistency& alike = all.consistency;
  Table table({"individual fairness", "figure", percent(kLevel, 0) + " interval", "meaning"});
  table.row(
      {"consistency", fixed(alike.value, 4),
       alike.interval ? cat(fixed(alike.interval->low, 4), " to ", fixed(alike.interval->high, 4)) : "-",
       cat("1 where each row is decided as its ", alike.neighbours, " nearest are")});
  const auto add = [&](const std::string& name, const std::optional<double>& value, const char* meaning) {
    table.row({name, value ? fixed(*value, 4) : "-", "", meaning});
  };
  add("generalised entropy", all.entropy, "0 where benefits, said - is + 1, are spread evenly");
  add("Theil index", all.theil, "the same with alpha 1");
  for (const auto& [name, value] : all.between)
    add(cat("Theil between ", name), value, "what of it lies between groups");
  std::string out = cat("\n", table.text(terminal));
  if (alike.asked < alike.rows) {
    out += terminal.paint(Ink::kDim, cat("neighbours were sought of ", alike.asked,
                                         " rows, evenly spread over ", alike.rows, "\n"));
  }
  return out;
}

nlohmann::ordered_json json_of(const IndividualFairness& all) {
  using Json = nlohmann::ordered_json;
  const auto json = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  const Consistency& alike = all.consistency;
  Json between = Json::object();
  for (const auto& [name, value] : all.between) between[name] = json(value);
  return {{"consistency",
           {{"value", alike.value},
            {"interval", alike.interval ? Json{alike.interval->low, alike.interval->high} : Json()},
            {"neighbours", alike.neighbours},
            {"asked", alike.asked},
            {"rows", alike.rows}}},
          {"generalised_entropy", json(all.entropy)},
          {"theil_index", json(all.theil)},
          {"theil_between", between}};
}

}  // namespace espalier::cli
