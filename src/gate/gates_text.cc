#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "format/toml.h"
#include "format/utf8.h"
#include "gate/gates.h"
#include "gate/verdict.h"

namespace espalier {
namespace {

// Values of a table may be in any encoding.
std::string comment(const std::string& text) { return is_utf8(text) ? cat("# ", printable(text), "\n") : ""; }

class Writer {
 public:
  Writer(const Assessment& assessment, const Gates& of, const DataAnswer* data,
         const std::vector<std::string>& remarks)
      : assessment_(assessment), data_(data) {
    const std::vector<double>& all = assessment.options.thresholds;
    for (const std::string& remark : remarks) head_ += comment(remark);
    head_ += cat("level = ", shortest(assessment.options.level), "\n");
    if (!of.positive.empty() && is_utf8(of.positive))
      head_ += cat("positive = ", toml_quoted(of.positive), "  # the class that rates count\n");
    if (assessment.has_thresholds()) {
      threshold_ = std::ranges::count(all, 0.5) ? 0.5 : all.at(all.size() / 2);
      head_ += cat("threshold = ", shortest(threshold_), "\n");
    }
    if (of.where) head_ += cat("where = ", toml_quoted(of.where->text()), "\n");
    if (!of.slices.empty()) head_ += "\n[slices]\n";
    for (const auto& [name, condition] : of.slices)
      head_ += cat(toml_quoted(name), " = ", toml_quoted(condition.text()), "\n");
    if (!of.buckets.empty()) head_ += "\n[buckets]\n";
    for (const auto& [name, edges] : of.buckets) {
      std::string list;
      for (const double edge : edges) list += cat(list.empty() ? "" : ", ", plain_number(edge));
      head_ += cat(toml_quoted(name), " = [", list, "]\n");
    }
  }

  std::string text() {
    least("auc", "How well scores order the rows.");
    least("accuracy", "How often the model is right.");
    rare();
    least("macro_f1", "How well it tells classes apart, each of which counts as much.");
    least("r2", "How much better predictions are than always saying the mean.");
    least("ndcg", "How well scores order the rows of a query.");
    most("mae", "How far off predictions are.");
    for (const SlicingFigures& by : assessment_.by) fairness(by);
    if (data_) data();
    return cat(
        "# Gates of a release, with the numbers of the day they were written; docs/gates.md has all keys.\n"
        "# Limits are for a person to choose: set them to what you can answer for.\n",
        head_, text_);
  }

 private:
  // None where these rows have no such figure.
  std::optional<double> today(const char* metric) const {
    const auto& all = assessment_.options.thresholds;
    const auto at = static_cast<size_t>(std::ranges::find(all, threshold_) - all.begin());
    return SliceMetric(metric)(assessment_.overall, at).value;
  }
  bool has(const char* metric) const {
    const std::vector<std::string> all = slice_metrics(assessment_);
    return std::ranges::count(all, metric) > 0;
  }
  // A little below today's number.
  void least(const char* metric, const char* meaning) {
    const std::optional<double> now = today(metric);
    if (!now) return;
    double min = std::floor(100 * *now - 2) / 100;
    if (min <= 0 && *now > 0) {
      char less[32];
      std::snprintf(less, sizeof less, "%.2g", 0.8 * *now);
      min = std::stod(less);
    }
    min = std::max(0.0, min);
    gate(meaning, cat("metric = \"", metric, "\"\nmin = ", shortest(min), "\n"));
  }
  // About a tenth above today's number.
  void most(const char* metric, const char* meaning) {
    const std::optional<double> now = today(metric);
    if (!now) return;
    char max[32];
    std::snprintf(max, sizeof max, "%.2g", 1.1 * *now);
    gate(meaning, cat("metric = \"", metric, "\"\nmax = ", shortest(std::stod(max)), "\n"));
  }
  // Who always says the common outcome is seldom wrong.
  void rare() {
    constexpr double kRare = 0.1;
    const std::optional<double> positives = has("prevalence") ? today("prevalence") : std::nullopt;
    if (positives && *positives < kRare)
      least("true_positive_rate", "How many of the positives, which are rare, are found.");
    if (positives && *positives > 1 - kRare)
      least("true_negative_rate", "How many of the negatives, which are rare, are found.");
  }
  void fairness(const SlicingFigures& by) {
    const std::string name = by.name();
    const std::string thin = "least_rows = 30\nthin = \"left-out\"\n", columns = toml_quoted(name);
    if (has("mae")) {
      gate("Whether predictions are in no slice much further off than in another.",
           cat("metric = \"mae\"\nbetween = ", columns, "\nmeasure = \"ratio\"\nmin = 0.8\n", thin));
    }
    if (has("selection_rate")) {
      gate("Whether the same share of all slices is said to be positive.",
           cat("criterion = \"demographic_parity\"\nbetween = ", columns, "\nmax = 0.1\n", thin));
      gate("Whether the same share of positives, and of negatives, is said to be positive.",
           cat("criterion = \"equalised_odds\"\nbetween = ", columns, "\nmax = 0.1\n", thin));
    }
    if (has("ndcg")) {
      gate("Whether the rows of a query are in no slice ordered much worse than in another.",
           cat("metric = \"ndcg\"\nbetween = ", columns, "\nmax = 0.1\n", thin));
    }
    if (has("accuracy")) {
      gate("Whether the model is right in no slice much less often than in another.",
           cat("metric = \"accuracy\"\nbetween = ", columns, "\nmax = 0.1\n", thin));
    }
  }
  void data() {
    gate("Whether new rows have the columns, types and values of the training rows.", "data = \"schema\"\n");
    gate("Whether anything tells the label, or evaluated rows are training rows.", "data = \"leak\"\n");
    gate("Whether numbers lie beyond all training rows.", "data = \"range\"\nseverity = \"warn\"\n");
    gate("Whether columns follow another law.", "data = \"drift\"\nseverity = \"warn\"\n");
    gate("Whether cells are missing more often in one group.", "data = \"groups\"\nseverity = \"warn\"\n");
  }
  void gate(const char* meaning, const std::string& keys) {
    const std::string table = "[[gates]]\n" + keys;
    const Verdict today = judge(read_gates(head_ + table, "gates"), assessment_, nullptr, {}, data_);
    const GateResult& result = today.results[0];
    text_ += cat("\n", comment(meaning),
                 comment(cat("Today ", name(result.ruling), ": ", result.sentence, ".")), table);
  }

  const Assessment& assessment_;
  const DataAnswer* data_;
  double threshold_ = 0.5;
  std::string head_, text_;
};

}  // namespace

std::string gates_of(const Assessment& assessment, const Gates& of, const DataAnswer* data,
                     const std::vector<std::string>& remarks) {
  return Writer(assessment, of, data, remarks).text();
}

}  // namespace espalier
