#include "cli/worst_flags.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/read_buckets.h"
#include "data/equal_values.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

// The edges of quarters of these numbers, but for ends that nothing lies beyond.
std::vector<double> quarters(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  std::vector<double> out;
  for (const size_t quarter : {1, 2, 3}) {
    const double edge = numbers[quarter * numbers.size() / 4];
    if (edge > numbers[0] && (out.empty() || edge > out.back())) out.push_back(edge);
  }
  return out;
}

// A column of a few values, or of numbers in quarters; none of another one.
std::optional<CategoryColumn> searched(const ScoredTable& scored, int64_t column,
                                       const MissingWords& missing) {
  const std::string& name = scored.table.names()[static_cast<size_t>(column)];
  const ColumnProfile profile = profile_values(scored.table, scored.rows, column, missing);
  if (profile.values.size() > SliceColumns::kMostValues) {
    std::vector<double> numbers, known;
    for (size_t i = 0; i < scored.rows.size(); ++i) {
      const bool absent = profile.codes[i] == ColumnProfile::kMissing;
      numbers.push_back(absent ? std::numeric_limits<double>::quiet_NaN()
                               : scored.table.number_or_nan(scored.rows[i], column));
      if (!std::isnan(numbers.back())) known.push_back(numbers.back());
    }
    if (2 * std::ssize(known) <= profile.present()) return std::nullopt;
    const std::vector<double> edges = quarters(std::move(known));
    if (edges.empty()) return std::nullopt;
    return bucket(name, numbers, edges);
  }
  std::map<std::string_view, uint32_t> codes;
  for (const ColumnProfile::Value& value : profile.values) codes.emplace(value.text, 0);
  CategoryColumn out{.name = name, .values = {}, .codes = {}};
  for (auto& [text, code] : codes) {
    code = static_cast<uint32_t>(out.values.size());
    out.values.emplace_back(text);
  }
  for (const uint32_t code : profile.codes) {
    out.codes.push_back(code == ColumnProfile::kMissing ? CategoryColumn::kMissing
                                                        : codes.at(profile.values[code].text));
  }
  return out;
}

std::string between(const Interval& interval) {
  return cat(fixed(interval.low, 4), " to ", fixed(interval.high, 4));
}

}  // namespace

void WorstFlags::add(CLI::App& verb) {
  CLI::Option* worst =
      verb.add_option(
              "--worst", most,
              "Search for the N slices (10 without a number) by up to --depth columns where --metric "
              "(default: "
              "error_rate; regression: mae) is worst: searched on half of the rows, tested on the other half")
          ->check(number_from(int64_t{1}, int64_t{1000}))
          ->expected(0, 1)
          ->default_str("10")
          ->option_text("[N]");
  verb.add_option("--depth", depth, "Largest number of columns that a slice of --worst combines")
      ->check(number_from(int64_t{1}, int64_t{4}))
      ->needs(worst)
      ->option_text("N [2]");
}

std::vector<std::string> WorstFlags::words() const {
  std::vector<std::string> out;
  if (any()) out.insert(out.end(), {"--worst", cat(most)});
  if (depth != WorstFlags().depth) out.insert(out.end(), {"--depth", cat(depth)});
  return out;
}

WorstSlices WorstFlags::find(const ScoredTable& scored, const std::vector<std::string>& others,
                             const MissingWords& missing, const WorstOptions& options,
                             const Results& results) const {
  std::vector<CategoryColumn> columns;
  std::string left_out;
  for (int64_t c = 0; c < scored.table.columns(); ++c) {
    const std::string& name = scored.table.names()[static_cast<size_t>(c)];
    if (std::ranges::find(others, name) != others.end()) continue;
    if (auto column = searched(scored, c, missing))
      columns.push_back(std::move(*column));
    else
      left_out += cat(left_out.empty() ? "" : ", ", name);
  }
  if (!left_out.empty())
    results.warn({cat("not searched for worst slices, with more than ", SliceColumns::kMostValues,
                      " words or numbers that do not fall into quarters: ", left_out)});
  std::vector<const CategoryColumn*> by;
  for (const CategoryColumn& column : columns) by.push_back(&column);
  return worst_slices(scored.any(), by, options);
}

std::string text_of(const WorstSlices& worst, const WorstOptions& options, const Terminal& terminal) {
  const std::string searched = cat(worst.searched, " slices were searched in one half of the rows, and ",
                                   worst.tested, " tested in the other\n");
  if (worst.found.empty()) return cat("\nno slice is worse than the rest by more than chance: ", searched);
  Table table({"worst slices", "rows", worst.metric, percent(options.level, 0) + " interval", "rest", "gap",
               percent(options.level, 0) + " interval", "p", "of rows"});
  for (const WorstSlice& slice : worst.found) {
    table.row({slice.name, slice.rows, fixed(slice.value, 4), between(slice.interval), fixed(slice.rest, 4),
               fixed(slice.gap, 4), between(slice.gap_interval), fixed(slice.adjusted_p, 4),
               slice.tested_rows});
  }
  return cat(
      "\n", table.text(terminal),
      terminal.paint(Ink::kDim, cat(searched, "p: ", worst.exact ? "Fisher's exact" : "Welch's one-sided",
                                    " test, adjusted by Benjamini and Hochberg for ", worst.tested,
                                    " tests; of slices at\nor below ", percent(options.discoveries, 0),
                                    " as many are there by chance, on average\n")));
}

Json json_of(const WorstSlices& worst, const WorstOptions& options) {
  Json out = {{"metric", worst.metric},         {"depth", options.depth},
              {"searched", worst.searched},     {"judged", worst.tested},
              {"discovered", worst.discovered}, {"adjusted_by", "Benjamini-Hochberg"},
              {"slices", Json::array()}};
  for (const WorstSlice& slice : worst.found) {
    Json& one =
        out["slices"].emplace_back(Json{{"slice", slice.name},
                                        {"rows", slice.rows},
                                        {"judged_rows", slice.tested_rows},
                                        {"value", slice.value},
                                        {"interval", {slice.interval.low, slice.interval.high}},
                                        {"rest", slice.rest},
                                        {"gap", slice.gap},
                                        {"gap_interval", {slice.gap_interval.low, slice.gap_interval.high}},
                                        {"p", slice.p},
                                        {"adjusted_p", slice.adjusted_p}});
    one["by"] = Json::array(), one["values"] = Json::array();
    for (const auto& [column, value] : slice.where)
      one["by"].push_back(column), one["values"].push_back(value);
  }
  return out;
}

}  // namespace espalier::cli
