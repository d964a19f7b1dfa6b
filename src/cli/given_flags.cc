#include "cli/given_flags.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/slice_columns.h"
#include "fairness/figure_text.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRate = "selection_rate";

std::string joined_words(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : between, word);
  return out;
}

std::string table_of(const GivenGap& gap, const GivenGaps& all, const Terminal& terminal) {
  Table table({cat(spaced(kRate), " by ", cross_of(gap.by), " within ", cross_of(all.given)), "rows",
               "weight", "difference", percent(all.level, 0) + " interval", "lowest", "highest"});
  const auto side = [&](size_t group, double rate) {
    const std::string& name = gap.of.groups[group].name;
    return cat(named_part(name)->rest, " ", number_of(rate));
  };
  const std::vector<StandardisedGroup>& groups = gap.of.groups;
  int64_t rows = 0;
  for (const StratumGap& stratum : gap.of.strata) rows += stratum.rows;
  table.row({"all of them", rows, number_of(1), number_of(gap.of.gap.value), between(gap.of.gap.interval),
             side(gap.of.low, groups[gap.of.low].rate), side(gap.of.high, groups[gap.of.high].rate)});
  for (const StratumGap& stratum : gap.of.strata) {
    table.row({stratum.name, stratum.rows, number_of(stratum.weight), number_of(stratum.gap.value),
               between(stratum.gap.interval), side(stratum.low, stratum.low_rate),
               side(stratum.high, stratum.high_rate)});
  }
  return table.text(terminal);
}

std::string given_text(const GivenGap& gap, const GivenGaps& all, const Terminal& terminal) {
  const std::string by = cross_of(gap.by), given = cross_of(all.given);
  std::string out = "\n";
  if (gap.of.gap.value) {
    out += table_of(gap, all, terminal);
  } else {
    out += cat("within no ", given, " do two slices of ", by, " have rows enough to be compared\n");
  }
  std::string left_out;
  if (!gap.of.left_out.empty())
    left_out = cat("; left out, as not all slices have rows there: ", joined_words(gap.of.left_out, "; "));
  return out + terminal.paint(Ink::kDim, cat("of scores from ", shortest(gap.threshold),
                                             "; all of them: rates as if each slice had the ", given,
                                             " of all slices", left_out, "\n"));
}

Json names_of(const GivenGap& gap, size_t low, size_t high) {
  if (gap.of.groups.empty()) return {{"lowest", nullptr}, {"highest", nullptr}};
  return {{"lowest", gap.of.groups[low].name}, {"highest", gap.of.groups[high].name}};
}

}  // namespace

void GivenFlags::add(CLI::App& verb) {
  verb.add_option_function<std::vector<std::string>>(
          "--given", [this](const std::vector<std::string>& given) { columns = comma_separated(given); },
          "Columns that may legitimately explain a difference: compare the selection rates of slices among "
          "rows with equal values in these columns, and their mean, in which each combination of values has "
          "the same weight for all slices. Needs --slice, --cross, --bucket or --slice-where")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
}

std::vector<std::string> GivenFlags::words() const {
  return any() ? std::vector<std::string>{"--given", names_in_list(columns)} : std::vector<std::string>{};
}

GivenGaps GivenFlags::find(const Assessment& assessment, const AssessmentView& view,
                           const ScoredTable& scored, const SliceFlags& slicing,
                           const MissingWords& missing) const {
  scored.view("--given");
  GivenGaps out{.given = columns, .level = assessment.options.level};
  SliceFlags crossed = slicing;
  crossed.slices.clear();
  crossed.crosses.clear();
  std::vector<const SlicingFigures*> slicings;
  for (const SlicingFigures& by : assessment.by) {
    const auto is_given = [&](const std::string& name) { return std::ranges::count(columns, name) > 0; };
    if (std::ranges::any_of(by.columns, is_given)) continue;
    slicings.push_back(&by);
    crossed.crosses.push_back(cat(by.name(), "*", cross_of(columns)));
  }
  if (slicings.empty())
    throw ValueError(
        "evaluate.given",
        cat("--given compares the slices of other columns, and there are none: all slices are of ",
            names_in_list(columns, ", ")),
        cat("--slice with another column, or no ", shell_words(words())));
  const Assessment crosses = crossed.assess(scored, missing, assessment.options);
  for (const SlicingFigures* by : slicings) {
    std::vector<std::string> names = by->columns;
    names.insert(names.end(), columns.begin(), columns.end());
    const auto cross = std::ranges::find(crosses.by, names, &SlicingFigures::columns);
    ConditionalOptions options{.least_rows = assessment.options.slices.min_rows, .level = out.level};
    if (const auto reference = view.references.find(by->name()); reference != view.references.end())
      options.reference = by->slices[reference->second].slice.name;
    for (const double threshold : assessment.options.thresholds) {
      out.gaps.push_back(
          {by->columns, threshold, conditional_gap(rate(kRate), *cross, by->columns.size(), options)});
      ++options.threshold;
    }
  }
  return out;
}

std::string text_of(const GivenGaps& all, const Terminal& terminal) {
  std::string out;
  for (const GivenGap& gap : all.gaps) out += given_text(gap, all, terminal);
  return out;
}

Json json_of(const GivenGaps& all) {
  Json out = Json::array();
  for (const GivenGap& gap : all.gaps) {
    Json& one = out.emplace_back(Json{{"by", gap.by},
                                      {"given", all.given},
                                      {"threshold", gap.threshold},
                                      {"rate", kRate},
                                      {"difference", espalier::json_of(gap.of.gap.value)},
                                      {"interval", espalier::json_of(gap.of.gap.interval)}});
    one.update(names_of(gap, gap.of.low, gap.of.high));
    one["groups"] = Json::array();
    for (const StandardisedGroup& group : gap.of.groups)
      one["groups"].push_back({{"slice", group.name}, {"rate", group.rate}, {"rows", group.rows}});
    one["strata"] = Json::array();
    for (const StratumGap& stratum : gap.of.strata) {
      Json& its = one["strata"].emplace_back(Json{{"slice", stratum.name},
                                                  {"rows", stratum.rows},
                                                  {"weight", stratum.weight},
                                                  {"difference", espalier::json_of(stratum.gap.value)},
                                                  {"interval", espalier::json_of(stratum.gap.interval)}});
      its.update(names_of(gap, stratum.low, stratum.high));
    }
    one["thin"] = gap.of.thin;
    one["left_out"] = gap.of.left_out;
  }
  return out;
}

}  // namespace espalier::cli
