#include "gate/gates.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/slice_columns.h"
#include "evaluate/slices.h"
#include "format/toml.h"
#include "gate/table_keys.h"

namespace espalier {
namespace {

constexpr NamedChoice<Decide> kDecides[] = {{"estimate", Decide::kEstimate},
                                            {"proven-over", Decide::kProvenOver},
                                            {"proven-under", Decide::kProvenUnder}};
constexpr NamedChoice<Severity> kSeverities[] = {{"error", Severity::kError}, {"warn", Severity::kWarn}};
constexpr NamedChoice<Measure> kMeasures[] = {{"difference", Measure::kDifference},
                                              {"ratio", Measure::kRatio}};
constexpr NamedChoice<Change> kChanges[] = {{"absolute", Change::kAbsolute}, {"relative", Change::kRelative}};
constexpr NamedChoice<Thin> kThins[] = {{"undecided", Thin::kUndecided}, {"left-out", Thin::kLeftOut}};
constexpr NamedChoice<Where> kPlaces[] = {
    {"slice", Where::kSlice}, {"each", Where::kEach}, {"between", Where::kBetween}};

// Of "sex=Female, age=old".
std::vector<std::string> columns_of(const std::string& slice) {
  std::vector<std::string> out;
  for (const SlicePart& part : parts_of_slice(slice)) out.push_back(part.column);
  return out;
}

// Of "sex=Female" or "sex*a=b", a value behind a column.
bool names_value(const std::string& text) {
  return std::ranges::any_of(listed_parts(text, '*'), [](const auto& part) { return !!named_part(part); });
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Reader {
 public:
  explicit Reader(const TomlDocument& document) : document_(document) {}

  Gates gates() {
    const TableKeys root(document_, document_.root(), "",
                         {"level", "threshold", "positive", "least_rows", "where", "slices", "buckets",
                          "answers", "gates", "waivers"});
    Gates out;
    if (root.has("level")) {
      out.level = root.number("level", 0, 1);
      if (out.level == 0 || out.level == 1)
        root.fail("gates.range", "level", cat("level lies between 0 and 1, not at ", shortest(out.level)));
    }
    if (root.has("threshold")) defaults_.threshold = root.number("threshold", 0, 1);
    if (root.has("least_rows")) defaults_.least_rows = root.count("least_rows");
    if (root.has("positive")) {
      out.positive = root.label("positive");
      out.positive_place = root.place("positive");
    }
    if (root.has("where")) out.where = root.condition("where");
    if (root.has("slices")) {
      for_keys("slices", [&](const TableKeys& table, const std::string& name) {
        out.slices.emplace(name, table.condition(name.c_str()));
      });
    }
    if (root.has("buckets")) {
      for_keys("buckets", [&](const TableKeys& table, const std::string& name) {
        out.buckets.emplace(name, table.edges(name.c_str()));
      });
    }
    if (root.has("answers")) {
      for_keys("answers", [&](const TableKeys& table, const std::string& name) {
        out.answers.emplace(name, table.text(name.c_str()));
      });
    }
    for_tables("gates", [&](const toml::table& table, const std::string& path) {
      out.gates.push_back(gate(table, path));
      if (!names_.insert(out.gates.back().name).second) {
        document_.fail("gates.name", table, cat("two gates are named \"", out.gates.back().name, "\""),
                       "give each a name of its own, name = \"...\"");
      }
    });
    if (out.gates.empty())
      document_.fail("gates.required", {1, 1}, "a file of gates holds at least one of [[gates]]");
    for_tables("waivers", [&](const toml::table& table, const std::string& path) {
      out.waivers.push_back(waiver(table, path, out.gates));
    });
    return out;
  }

 private:
  template <class F>
  void for_tables(const char* key, F f) const {
    const toml::node* node = document_.root().get(key);
    if (!node) return;
    const toml::array* array = node->as_array();
    if (!array)
      document_.fail("gates.type", *node, cat(key, " are tables, [[", key, "]], not ", toml_type(*node)));
    for (size_t i = 0; i < array->size(); ++i) {
      const toml::node& element = (*array)[i];
      const std::string path = cat(key, "[", i, "]");
      if (!element.is_table())
        document_.fail("gates.type", element, cat(path, " is a table, not ", toml_type(element)));
      f(*element.as_table(), path);
    }
  }

  // Of a table whose keys are names that people chose.
  template <class F>
  void for_keys(const char* key, F f) const {
    const toml::node& node = *document_.root().get(key);
    if (!node.is_table())
      document_.fail("gates.type", node, cat(key, " is a table, [", key, "], not ", toml_type(node)));
    std::vector<std::string> names;
    for (const auto& [name, value] : *node.as_table()) names.emplace_back(name.str());
    const TableKeys table(document_, *node.as_table(), key, names);
    for (const std::string& name : names) f(table, name);
  }
  // A mistake in the quotes of a name is one of this key.
  template <class F>
  static auto named_by(const TableKeys& table, const char* key, F f) {
    try {
      return f(table.text(key));
    } catch (const ValueError& error) {
      table.fail("gates.slice", key, cat(table.path(key), ": ", error.message()), error.fix());
    }
  }

  Gate gate(const toml::table& from, const std::string& path) const {
    const TableKeys table(
        document_, from, path,
        {"name", "metric", "criterion", "data", "column", "slice", "each", "between", "given", "against",
         "measure", "change", "min", "max", "decide", "severity", "threshold", "least_rows", "thin"});
    Gate out = defaults_;
    if (table.has("data")) return data(table, out);
    if (table.has("column")) table.fail("gates.options", "column", "a column is of a gate on data");
    what(table, out);
    where(table, out);
    out.decide = table.choice("decide", kDecides, Decide::kEstimate);
    out.severity = table.choice("severity", kSeverities, Severity::kError);
    out.change = table.choice("change", kChanges, Change::kNone);
    if (table.has("threshold")) out.threshold = table.number("threshold", 0, 1);
    if (table.has("least_rows")) out.least_rows = table.count("least_rows");
    out.thin = table.choice("thin", kThins, Thin::kUndecided);
    limits(table, out);
    check_interval(table, out);
    out.name = table.has("name") ? table.text("name") : default_name(out);
    return out;
  }

  Gate data(const TableKeys& table, Gate out) const {
    for (const char* key : {"metric", "criterion", "slice", "each", "between", "given", "against", "measure",
                            "change", "min", "decide", "threshold", "least_rows", "thin"}) {
      if (table.has(key)) table.fail("gates.options", key, cat("a gate on data has no ", key));
    }
    out.where = Where::kData;
    out.of = table.text("data");
    const auto found = std::ranges::find(kFaultsOf, out.of);
    if (found == std::end(kFaultsOf))
      table.unknown("gates.choice", "data", out.of, {std::begin(kFaultsOf), std::end(kFaultsOf)});
    out.fault = static_cast<FaultOf>(found - std::begin(kFaultsOf));
    out.max = table.has("max") ? table.number("max", 0, kInfinity) : 0;
    out.severity = table.choice("severity", kSeverities, Severity::kError);
    if (table.has("column")) {
      out.column = table.text("column");
      out.place = table.place("column");
    }
    out.name = table.has("name") ? table.text("name")
                                 : cat("data: ", out.of, out.column.empty() ? "" : cat(" of ", out.column));
    return out;
  }

  static void what(const TableKeys& table, Gate& out) {
    const bool is_metric = table.has("metric");
    if (is_metric == table.has("criterion")) {
      const char* message =
          is_metric ? "has a metric or a criterion, not both" : "needs a metric, a criterion or data";
      table.fail(is_metric ? "gates.options" : "gates.required", message);
    }
    const char* key = is_metric ? "metric" : "criterion";
    const std::string word = table.text(key);
    try {
      if (is_metric) {
        out.metrics.emplace_back(word);
        out.of = out.metrics[0].name();
      } else {
        const Criterion& found = criterion(word);
        out.of = found.name;
        for (const std::string_view rate : found.rates) out.metrics.emplace_back(rate);
      }
    } catch (const ValueError& error) {
      const bool of_ratio = word == "four_fifths" || word == "disparate_impact";
      table.fail(
          "gates.choice", key, cat(table.path(key), ": ", error.message()),
          of_ratio ? "criterion = \"demographic_parity\", measure = \"ratio\", min = 0.8" : error.fix());
    }
  }

  static void where(const TableKeys& table, Gate& out) {
    for (const auto& [key, where] : kPlaces) {
      if (!table.has(key)) continue;
      if (out.where != Where::kOverall)
        table.fail("gates.options", key, "a gate has one of slice, each, between, or none for all rows");
      out.where = where;
      const bool has_value = named_by(table, key, names_value);
      out.slice = named_by(table, key, where == Where::kSlice ? slice_named : same_cross);
      out.place = table.place(key);
      if (has_value != (where == Where::kSlice)) {
        table.fail(
            "gates.slice", key,
            has_value
                ? cat(table.path(key), " is of columns, as \"sex\" or \"sex*age\", not \"", out.slice, "\"")
                : cat(table.path(key), " is of a value, as \"sex=Female\", not \"", out.slice, "\""),
            has_value ? cat("slice = ", toml_quoted(out.slice), ", or, of a column of this name, ", key,
                            " = ", toml_quoted(quoted_text(out.slice)))
                      : cat("each = ", toml_quoted(out.slice)));
      }
      check_columns(table, key, out);
    }
    const bool between = out.where == Where::kBetween;
    if (table.has("criterion") && !between)
      table.fail("gates.required", cat("needs between, the columns whose slices ", out.of, " compares"));
    if (table.has("measure") && !between)
      table.fail("gates.options", "measure", "measure is of gates between slices; this one has no between");
    out.measure = table.choice("measure", kMeasures, Measure::kDifference);
    if (table.has("given")) given(table, out);
    if (table.has("against")) against(table, out);
  }

  static std::string same_cross(const std::string& text) {
    return names_value(text) ? text : cross_of(factors_of(text));
  }

  static void against(const TableKeys& table, Gate& out) {
    if (out.where == Where::kBetween)
      table.fail("gates.options", "against",
                 "between compares slices with each other, against with one of them");
    out.against = named_by(table, "against", slice_named);
    const std::vector<std::string> columns = out.against_columns();
    if ((columns.empty() && out.against != kAllRows) || std::ranges::count(columns, "")) {
      table.fail("gates.slice", "against",
                 cat(table.path("against"), " is a slice, as \"sex=Male\", or \"", kAllRows, "\", not \"",
                     table.text("against"), "\""));
    }
    if (out.where == Where::kOverall ? out.against == kAllRows : out.against == out.slice)
      table.fail("gates.options", "against", "a slice is not against itself");
  }

  static void given(const TableKeys& table, Gate& out) {
    if (out.where != Where::kBetween)
      table.fail("gates.options", "given", "given is of gates between slices; this one has no between");
    for (const SliceMetric& metric : out.metrics) {
      if (!metric.rate() || !metric.rate()->is_proportion())
        table.fail("gates.options", "given",
                   cat("given is of shares of rows, and ", metric.name(), " is none"));
    }
    out.given = named_by(table, "given", factors_of);
    check_columns(table, "given", out);
  }

  static void check_columns(const TableKeys& table, const char* key, const Gate& gate) {
    const std::vector<std::string> columns = gate.columns();
    const std::string text = table.text(key);
    if (std::ranges::count(columns, ""))
      table.fail("gates.slice", key, cat(table.path(key), " lacks the name of a column: \"", text, "\""));
    if (std::set<std::string>(columns.begin(), columns.end()).size() < columns.size())
      table.fail("gates.slice", key, cat(table.path(key), " names a column twice: \"", text, "\""));
  }

  static void limits(const TableKeys& table, Gate& out) {
    const bool between = out.where == Where::kBetween;
    const char* gap = out.measure == Measure::kRatio ? "max" : "min";
    if (between && table.has(gap)) {
      table.fail("gates.options", gap,
                 out.measure == Measure::kRatio
                     ? "slices that are alike have the ratio 1: it has a min, not a max"
                     : "slices that are alike have the difference 0: it has a max, not a min");
    }
    double low = -kInfinity, high = kInfinity;
    if (out.change != Change::kRelative && std::ranges::all_of(out.metrics, &SliceMetric::is_share)) {
      const bool change = out.change != Change::kNone, against = !out.against.empty();
      low = -(change + against);
      high = change && against ? 2 : 1;
    }
    for (const auto& [key, limit] : {std::pair{"min", &out.min}, std::pair{"max", &out.max}}) {
      if (table.has(key)) *limit = table.number(key, low, high);
    }
    if (!out.min && !out.max) table.fail("gates.required", "needs a limit, min or max");
    if (out.min && out.max && *out.min > *out.max)
      table.fail("gates.options", "min",
                 cat("min ", shortest(*out.min), " is above max ", shortest(*out.max)));
    if (!table.has("thin")) return;
    if (out.where != Where::kEach && !between)
      table.fail("gates.options", "thin", "thin is of gates of each slice or between slices");
    if (out.least_rows == 0)
      table.fail("gates.options", "thin", "thin says what becomes of slices below least_rows; there is none");
  }

  // A gate that nothing could prove would never be decided.
  static void check_interval(const TableKeys& table, const Gate& gate) {
    if (gate.decide == Decide::kEstimate) return;
    const auto fail = [&](const std::string& what) {
      table.fail("gates.options", "decide", cat(what, " has no interval that could prove it"),
                 "decide = \"estimate\"");
    };
    if (gate.where == Where::kBetween && gate.measure == Measure::kRatio && !gate.given.empty())
      fail("a ratio of what is given");
    if (!gate.against.empty() && !gate.apart()) fail("a difference of slices that may share rows");
    for (const SliceMetric& metric : gate.metrics) {
      if (!metric.has_interval()) fail(metric.name());
    }
  }

  static std::string default_name(const Gate& gate) {
    std::string out = gate.of;
    if (gate.where == Where::kSlice) out += cat(" for ", gate.slice);
    if (gate.where == Where::kEach) out += cat(" for each ", gate.slice);
    if (gate.where == Where::kBetween)
      out += cat(gate.measure == Measure::kRatio ? " ratio" : "", " between ", gate.slice, gate.within());
    if (!gate.against.empty()) out += cat(" against ", gate.against);
    if (gate.change != Change::kNone) out += " against the baseline";
    return out;
  }

  Waiver waiver(const toml::table& from, const std::string& path, const std::vector<Gate>& gates) const {
    const TableKeys table(document_, from, path, {"gate", "slice", "name", "reason", "expires"});
    Waiver out{.gate = table.text("gate"),
               .slice = table.has("slice") ? table.text("slice") : "",
               .name = table.text("name"),
               .reason = table.text("reason"),
               .expires = table.date("expires")};
    const auto gate = std::ranges::find(gates, out.gate, &Gate::name);
    if (gate == gates.end()) {
      table.unknown("gates.waiver", "gate", out.gate, {names_.begin(), names_.end()});
    }
    if (gate->where == Where::kEach && !out.slice.empty()) out.slice = named_by(table, "slice", slice_named);
    if (!out.slice.empty() && gate->where != Where::kEach && gate->where != Where::kData) {
      table.fail("gates.waiver", "slice",
                 "a waiver has a slice where its gate is one of each slice, or of data, alone");
    }
    return out;
  }

  const TomlDocument& document_;
  Gate defaults_ = {};
  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> Gate::columns() const {
  if (where == Where::kOverall || where == Where::kData) return {};
  if (where == Where::kSlice) return columns_of(slice);
  std::vector<std::string> out = factors_of(slice);
  out.insert(out.end(), given.begin(), given.end());
  return out;
}

std::vector<std::string> Gate::against_columns() const { return columns_of(against); }

bool Gate::apart() const { return where != Where::kOverall && columns() == against_columns(); }

std::string Gate::within() const { return given.empty() ? "" : cat(" within ", cross_of(given)); }

std::vector<double> Gates::thresholds() const {
  std::set<double> out;
  for (const Gate& gate : gates) out.insert(gate.threshold);
  return {out.begin(), out.end()};
}

bool Gates::ask_data() const { return std::ranges::count(gates, Where::kData, &Gate::where) > 0; }

std::vector<std::vector<std::string>> Gates::slicings() const {
  std::vector<std::vector<std::string>> out;
  for (const Gate& gate : gates) {
    for (const std::vector<std::string>& columns : {gate.columns(), gate.against_columns()}) {
      if (!columns.empty() && !std::ranges::count(out, columns)) out.push_back(columns);
    }
  }
  return out;
}

void check_columns(const Gates& gates, const std::map<std::string, Expression>& conditions,
                   const CsvTable& table) {
  for (const Gate& gate : gates.gates) {
    std::vector<std::string> columns = gate.columns();
    if (!gate.column.empty()) columns = {gate.column};
    for (const std::string& column : columns) {
      if (conditions.contains(column)) continue;
      try {
        table.column(column);
      } catch (const ValueError& error) {
        throw ValueError(error.rule(), cat(gate.place, ": ", error.message()), error.fix());
      }
    }
  }
}

std::string Gates::positive_of(const std::string& label) const {
  if (!positive.empty() || positive_comment.empty()) return positive;
  const std::string begin = printable(label) + "=";
  if (positive_comment.starts_with(begin)) return positive_comment.substr(begin.size());
  // Of another label it says nothing; a program may name none.
  return label.empty() ? positive_comment.substr(positive_comment.find('=') + 1) : "";
}

bool counts_positives(const SliceMetric& metric, double threshold) {
  // The same whichever class is called positive, whose scores are those of the other from 1.
  constexpr std::string_view kOfBoth[] = {
      "accuracy",     "error_rate", "balanced_accuracy",     "markedness", "matthews_correlation",
      "informedness", "auc",        "diagnostic_odds_ratio", "log_loss",   "brier_score",
      "rows"};
  return !std::ranges::count(kOfBoth, metric.name()) || (metric.rate() && threshold != 0.5);
}

bool counts_positives(const Gate& gate) {
  return std::ranges::any_of(
      gate.metrics, [&](const SliceMetric& metric) { return counts_positives(metric, gate.threshold); });
}

void check_positive(const Gates& gates, const Assessment& assessment) {
  if (gates.positive.empty() || assessment.has_thresholds()) return;
  throw FormatError("gates.positive",
                    cat(gates.positive_place, ": positive is of two classes, and these rows have ",
                        assessment.overall.matrix.empty() ? "none" : "several"),
                    "leave positive out");
}

namespace {

// "paid=yes" of the line "# Positive is paid=yes." that stands above the gates in files of earlier versions.
std::string positive_comment(const std::string& text) {
  constexpr std::string_view kBegin = "# Positive is ";
  for (size_t at = 0; at < text.size() && text[at] == '#';) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(kBegin) && line.ends_with('.') && line.find('=') != line.npos)
      return line.substr(kBegin.size(), line.size() - kBegin.size() - 1);
    at = end + 1;
  }
  return "";
}

}  // namespace

Gates read_gates(const std::string& text, const std::string& source) {
  Gates out = Reader(TomlDocument(text, source, "gates")).gates();
  if (out.positive.empty()) out.positive_comment = positive_comment(text);
  return out;
}

}  // namespace espalier
