// espalier data drift: whether two tables follow one law.

#include <algorithm>
#include <memory>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortest.h"
#include "cli/data_verbs.h"
#include "cli/missing_flag.h"
#include "cli/table_flags.h"
#include "data/column_guess.h"
#include "evaluate/drift.h"
#include "report/table.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

struct DriftRun {
  std::string before, now;
  double least = 0.03;
  TableReading table;
  MissingChoice missing;
  Results results;
};

constexpr const char* kMeasures[] = {"numbers", "values", "missing", "form"};

// How many differ surely, and by less than what matters.
std::string trifles_text(const DriftRun& run, const std::vector<ColumnDrift>& all) {
  constexpr double kSure = 0.05;
  const auto trifles = std::ranges::count_if(
      all, [](const ColumnDrift& drift) { return !drift.drifted && drift.adjusted_p < kSure; });
  if (trifles == 0) return "";
  return cat(trifles == 1 ? "1 difference is" : cat(trifles, " differences are"),
             " significant, but below the threshold ", shortest(run.least), " (--least).\n");
}

// Why nothing was compared; "" where something was.
std::string undecided_text(const std::vector<ColumnDrift>& all,
                           const std::vector<NotCompared>& not_compared) {
  if (!all.empty()) return "";
  const bool few = !not_compared.empty() && not_compared[0].column.empty();
  return few ? not_compared[0].why : "no column could be compared";
}

std::string drift_text(const DriftRun& run, const std::vector<ColumnDrift>& all, int64_t drifted,
                       const std::string& undecided, const Terminal& terminal) {
  std::string out =
      !undecided.empty() ? cat("Undecided: ", undecided, ".\n")
      : drifted == 0
          ? cat("No drift from ", source_name(run.before), " to ", source_name(run.now), ".\n")
          : cat("Drift: ", text(all[0]), drifted > 1 ? cat("; and ", drifted - 1, " more") : "", ".\n");
  out += trifles_text(run, all);
  if (all.empty()) return out;
  const auto between = [](const std::optional<Interval>& interval, int digits) {
    return interval ? cat(fixed(interval->low, digits), " to ", fixed(interval->high, digits)) : "-";
  };
  Table table({"column", "of", "distance", "95 % interval", "stability index", "95 % interval",
               "wasserstein, sd", "95 % interval", "adjusted p", "verdict"});
  for (const ColumnDrift& drift : all) {
    table.row({drift.column, kMeasures[static_cast<size_t>(drift.of)], fixed(drift.effect, 4),
               between(drift.interval, 4), drift.stability ? fixed(*drift.stability, 4) : "-",
               between(drift.stability_interval, 4), drift.wasserstein ? fixed(*drift.wasserstein, 3) : "-",
               between(drift.wasserstein_interval, 3), fixed(drift.adjusted_p, 4),
               drift.drifted ? "drifted" : "-"});
  }
  return cat(out, "\n", table.text(terminal));
}

nlohmann::ordered_json drift_json(const std::vector<ColumnDrift>& all) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ColumnDrift& drift : all) {
    nlohmann::ordered_json& its =
        out.emplace_back(nlohmann::ordered_json{{"column", drift.column},
                                                {"of", kMeasures[static_cast<size_t>(drift.of)]},
                                                {"rows", {drift.rows_before, drift.rows_now}},
                                                {"distance", drift.effect},
                                                {"interval", {drift.interval.low, drift.interval.high}}});
    if (drift.of == DriftOf::kValues) its["value"] = drift.value;
    if (drift.of != DriftOf::kNumbers) its["shares"] = {drift.share_before, drift.share_now};
    if (drift.stability) its["population_stability_index"] = *drift.stability;
    if (const auto& interval = drift.stability_interval)
      its["population_stability_index_interval"] = {interval->low, interval->high};
    if (drift.wasserstein) its["wasserstein_deviations"] = *drift.wasserstein;
    if (const auto& interval = drift.wasserstein_interval)
      its["wasserstein_deviations_interval"] = {interval->low, interval->high};
    its["p"] = drift.p;
    its["adjusted_p"] = drift.adjusted_p;
    its["drifted"] = drift.drifted;
  }
  return out;
}

// The columns of one table that the other has not.
std::vector<std::string> only_in(const CsvTable& table, const CsvTable& other) {
  std::vector<std::string> out;
  const std::unordered_set<std::string_view> known(other.names().begin(), other.names().end());
  for (const std::string& name : table.names()) {
    if (!known.contains(name)) out.push_back(name);
  }
  return out;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 10;
  std::string out;
  for (size_t i = 0; i < std::min(kNamed, names.size()); ++i) out += cat(i ? ", " : "", names[i]);
  return cat(out, names.size() > kNamed ? cat(" and ", names.size() - kNamed, " more") : "");
}

std::string only_text(const std::string& path, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return cat("Only in ", source_name(path), ": ", first_names(names), ".\n");
}

// Columns that are compared by their texts and are mostly numbers: a word for no value makes them that.
void warn_of_words(const CsvTable& table, const std::string& path, const DriftRun& run,
                   const std::vector<ColumnDrift>& all) {
  const MissingWords missing = run.missing.read();
  const std::vector<int64_t> rows = all_rows(table);
  std::unordered_set<std::string_view> by_values;
  for (const ColumnDrift& drift : all) {
    if (drift.of == DriftOf::kValues) by_values.insert(drift.column);
  }
  for (int64_t c = 0; c < table.columns(); ++c) {
    const std::string& name = table.names()[static_cast<size_t>(c)];
    if (!by_values.contains(name)) continue;
    const std::string hint = words_among_numbers(profile_column(table, rows, c, missing));
    if (!hint.empty()) run.results.warn({cat(source_name(path), ", ", name, ": ", hint)});
  }
}

void drift(const DriftRun& run) {
  run.results.keep({run.before, run.now, run.missing.schema});
  const CsvTable before = run.table.read(run.before, {}, run.results);
  const CsvTable now = run.table.beside(before.numbers().point).read(run.now, before.names(), run.results);
  if (only_in(before, now).size() == before.names().size())
    throw ValueError("drift.columns",
                     cat("no column of ", source_name(run.now), " is one of ", source_name(run.before), ": ",
                         first_names(now.names()), " for ", first_names(before.names())),
                     "name columns alike, or say --names where no line does");
  std::vector<NotCompared> not_compared;
  const std::vector<ColumnDrift> all = find_drift(before, now,
                                                  {.least_numbers = run.least,
                                                   .least_values = run.least,
                                                   .least_missing = run.least,
                                                   .missing = run.missing.read()},
                                                  &not_compared);
  const std::string undecided = undecided_text(all, not_compared);
  const int64_t drifted = std::ranges::count_if(all, &ColumnDrift::drifted);
  warn_of_words(before, run.before, run, all);
  warn_of_words(now, run.now, run, all);
  const std::vector<std::string> gone = only_in(before, now), added = only_in(now, before);
  if (run.results.json) {
    run.results.write_json("data drift", {{"before", run.before},
                                          {"now", run.now},
                                          {"least_distance", run.least},
                                          {"drifted", drifted},
                                          {"undecided", !undecided.empty()},
                                          {"not_compared", json_of(not_compared)},
                                          {"only_before", gone},
                                          {"only_now", added},
                                          {"columns", drift_json(all)}});
  } else {
    const Terminal terminal = run.results.terminal();
    const bool few = !not_compared.empty() && not_compared[0].column.empty();  // said by the first line
    run.results.write(cat(drift_text(run, all, drifted, undecided, terminal), few ? "" : text(not_compared),
                          only_text(run.before, gone), only_text(run.now, added)));
    std::vector<std::string> next = {"data", "leak", run.before, "--test", run.now};
    for (const std::string& word : run.table.words()) next.push_back(word);
    for (const std::string& word : run.missing.words()) next.push_back(word);
    run.results.suggest(next);
  }
  if (drifted > 0) throw Exit{1};
  if (!undecided.empty()) throw Exit{3};
}

constexpr const char* kDriftExamples =
    R"(A column has drifted if a difference is significant (0.05 over all columns, with
Holm's correction) and large: a distance of distribution functions
(Kolmogorov-Smirnov), or a difference in the share of a value (chi-square) or of
missing cells, of --least or more. Significant differences below --least are
only counted. A column is listed as not compared if it holds dates or row
identifiers, or has fewer than 20 values in a table. With fewer than 20 rows, no
column is compared, and the result is undecided. The population stability index
(PSI) is computed over the deciles of the earlier table, or over values, with
rare values merged. The Wasserstein distance is in standard deviations of the
earlier table. Intervals are 95% confidence intervals (conservative for the
Kolmogorov-Smirnov and Wasserstein distances); a PSI with fewer than five rows
in a decile or value has no interval.

Example:
  espalier data drift january.csv february.csv

Exit codes: 0 no drift, 1 a column has drifted, 2 usage error or bad input,
3 undecided: no column could be compared.)";

}  // namespace

void add_data_drift(CLI::App& data) {
  auto run = std::make_shared<DriftRun>();
  CLI::App* verb = data.add_subcommand("drift", "Test each column for distribution drift");
  verb->add_option("before", run->before, "Earlier table: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option("now", run->now, "Newer table, with the same column names")
      ->option_text("FILE")
      ->required();
  verb->add_option("--least", run->least,
                   "Smallest difference of distributions or shares that counts as drift")
      ->check(number_from(0.0, 1.0))
      ->option_text("X [0.03]");
  add_table_reading(*verb, run->table);
  add_missing_with_schema(*verb, run->missing);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kDriftExamples);
  verb->callback([run] { drift(*run); });
}

}  // namespace espalier::cli
