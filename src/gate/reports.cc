#include "gate/reports.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "format/csv_writer.h"
#include "format/utf8.h"
#include "gate/sentence.h"
#include "report/table.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

// Names come from files in any encoding.
std::string utf8(const std::string& text) { return is_utf8(text) ? text : utf8_of_windows1252(text); }

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
Json json(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}
Json json(const Waiver& waiver) {
  return {{"slice", waiver.slice.empty() ? Json() : Json(waiver.slice)},
          {"name", waiver.name},
          {"reason", waiver.reason},
          {"expires", date_text(waiver.expires)}};
}

Json json(const Gate& gate, const Finding& finding) {
  const bool of_data = gate.where == Where::kData;
  Json out{{"metric", finding.metric},
           {"formula", of_data ? "faults" : SliceMetric(finding.metric).formula()},
           {"slice", utf8(finding.slice)},
           {"other", finding.other.empty() ? Json() : Json(utf8(finding.other))},
           {"verdict", name(finding.ruling)},
           {"judged", or_null(finding.judged)},
           {"interval", json(finding.interval)},
           {"value", or_null(finding.value)},
           {"other_value", or_null(finding.other_value)},
           {"now", or_null(finding.now)},
           {"baseline", or_null(finding.before)},
           {"rows", finding.rows},
           {"counted", finding.counted}};
  out["reason"] = finding.reason.empty() ? Json() : Json(utf8(finding.reason));
  out["waiver"] = finding.waiver ? json(*finding.waiver) : Json();
  return out;
}

Json json(const GateResult& result) {
  const Gate& gate = result.gate;
  Json findings = Json::array(), expired = Json::array();
  for (const Finding& finding : result.findings) findings.push_back(json(gate, finding));
  for (const Waiver& waiver : result.expired) expired.push_back(json(waiver));
  constexpr const char* kWheres[] = {"overall", "slice", "each", "between", "data"};
  constexpr const char* kChanges[] = {"none", "absolute", "relative"};
  constexpr const char* kDecides[] = {"estimate", "proven-over", "proven-under"};
  return {{"name", gate.name},
          {"verdict", name(result.ruling)},
          {"severity", gate.severity == Severity::kWarn ? "warn" : "error"},
          {"sentence", utf8(result.sentence)},
          {"of", gate.of},
          {"where", kWheres[static_cast<size_t>(gate.where)]},
          {"slice", gate.slice.empty() ? Json() : Json(gate.slice)},
          {"against", gate.against.empty() ? Json() : Json(utf8(gate.against))},
          {"given", gate.given.empty() ? Json() : Json(gate.given)},
          {"measure", gate.measure == Measure::kRatio ? "ratio" : "difference"},
          {"change", kChanges[static_cast<size_t>(gate.change)]},
          {"min", or_null(gate.min)},
          {"max", or_null(gate.max)},
          {"decide", kDecides[static_cast<size_t>(gate.decide)]},
          {"threshold", gate.threshold},
          {"least_rows", gate.least_rows},
          {"left_out", result.left_out.size()},
          {"expired_waivers", expired},
          {"findings", findings}};
}

// As the value of an attribute, where a character that XML has no place for is '?'.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\t':
      case '\n':
      case '\r':
        out += cat("&#", static_cast<int>(c), ";");
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  for (const char* none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at = 0; (at = out.find(none, at)) != out.npos;) out.replace(at, 3, "?");
  }
  return out;
}

// Samples of one name with the help before them.
class Samples {
 public:
  Samples(const char* name, const char* help) : name_(name) {
    text_ = cat("# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n");
  }
  using Labels = std::vector<std::pair<const char*, std::string>>;
  void add(const Labels& labels, const std::string& value) {
    std::string inside;
    for (const auto& [label, text] : labels)
      inside += cat(inside.empty() ? "" : ",", label, "=\"", escaped(text), "\"");
    text_ += cat(name_, inside.empty() ? "" : cat("{", inside, "}"), " ", value, "\n");
  }
  const std::string& text() const { return text_; }

 private:
  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : utf8(text)) {
      if (c == '\\' || c == '"') out += '\\';
      out += c == '\n' ? "\\n" : std::string(1, c);
    }
    return out;
  }

  std::string name_, text_;
};

std::string upper(std::string_view word) {
  std::string out(word);
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

TableCell ruling_cell(const GateResult& result, const Finding& finding) {
  if (finding.waiver) return {"waived", Ink::kDim};
  const bool pass = finding.ruling == Ruling::kPass;
  const std::string text = cat(finding.ruling, !pass && result.is_warning() ? ", warns" : "");
  return {text, pass ? Ink::kGood : finding.ruling == Ruling::kBlocked ? Ink::kBad : Ink::kBold};
}

// What the rows are that the metrics of a gate count.
std::string counted(const GateResult& result) {
  std::set<std::string> all;
  for (const Finding& finding : result.findings) all.insert(finding.counted);
  std::string out;
  for (const std::string& one : all) out += cat(out.empty() ? "" : " or ", one);
  return out;
}

}  // namespace

std::string text_report(const Verdict& verdict, const Terminal& terminal) {
  const Ink ink = verdict.ruling == Ruling::kPass ? Ink::kGood : Ink::kBad;
  std::string out = terminal.paint(ink, verdict.sentence) + "\n\n";
  Table table(
      {"gate", "slice", "number", percent_text(verdict.level) + " interval", "limit", "rows", "verdict"});
  std::string notes;
  for (const GateResult& result : verdict.results) {
    const auto number = [&](const Finding& finding, double x) {
      return number_text(result.gate, finding, x);
    };
    for (const Finding& finding : result.findings) {
      const bool first = &finding == &result.findings[0];
      if (!first && finding.ruling == Ruling::kPass) continue;
      std::string slices = finding.other.empty() ? finding.slice : cat(finding.slice, " / ", finding.other);
      if (result.gate.metrics.size() > 1) slices = cat(finding.metric, ": ", slices);
      const auto& interval = finding.interval;
      table.row(
          {first ? shortened(result.gate.name) : "", shortened(slices),
           finding.judged ? number(finding, *finding.judged) : "-",
           interval ? cat(number(finding, interval->low), " to ", number(finding, interval->high)) : "-",
           limit_text(result.gate), finding.rows, ruling_cell(result, finding)});
    }
    const auto note = [&](std::string_view what, const std::string& text) {
      notes += cat(upper(what), ": ", text, ".\n");
    };
    const std::string sentence = result.sentence;
    if (result.ruling != Ruling::kPass && verdict.sentence.find(sentence) == std::string::npos)
      note(result.is_warning() ? "warning" : name(result.ruling), sentence);
    if (const std::string waived = waivers_text(result); !waived.empty())
      note("waiver", printable(cat("\"", result.gate.name, "\" is ", waived)));
    if (const size_t n = result.left_out.size()) {
      note("left out", printable(cat(n, n == 1 ? " slice that counts" : " slices that count",
                                     " fewer than least_rows = ", result.gate.least_rows, " ",
                                     counted(result), ", of \"", result.gate.name, "\"")));
    }
  }
  return out + table.text(terminal) + (notes.empty() ? "" : "\n" + notes);
}

nlohmann::ordered_json json_of(const Verdict& verdict) {
  const Verdict::Counts counts = verdict.counts();
  Json gates = Json::array();
  for (const GateResult& result : verdict.results) gates.push_back(json(result));
  return Json{{"version", 1},
              {"verdict", name(verdict.ruling)},
              {"sentence", utf8(verdict.sentence)},
              {"date", date_text(verdict.today)},
              {"level", verdict.level},
              {"counts",
               {{"pass", counts.pass},
                {"undecided", counts.undecided},
                {"blocked", counts.blocked},
                {"warnings", counts.warnings},
                {"waived", counts.waived}}},
              {"gates", gates}};
}

std::string json_report(const Verdict& verdict) { return json_of(verdict).dump(2) + "\n"; }

std::string junit_report(const Verdict& verdict) {
  std::string cases;
  int64_t failures = 0, errors = 0, skipped = 0;
  for (const GateResult& result : verdict.results) {
    const bool stops = result.ruling != Ruling::kPass && !result.is_warning();
    std::string inside;
    if (stops) {
      const bool blocked = result.ruling == Ruling::kBlocked;
      ++(blocked ? failures : errors);
      inside = cat("<", blocked ? "failure" : "error", " type=\"", result.ruling, "\" message=\"",
                   xml(result.sentence), "\"/>");
    } else if (const std::string waived = waivers_text(result);
               result.ruling == Ruling::kPass && !waived.empty()) {
      ++skipped;
      inside = cat("<skipped message=\"", xml(waived), "\"/>");
    } else if (result.is_warning() && result.ruling != Ruling::kPass) {
      inside =
          cat("<system-out>", xml(cat(result.ruling, ", a warning: ", result.sentence)), "</system-out>");
    }
    cases += cat("    <testcase classname=\"gates\" name=\"", xml(result.gate.name), "\"");
    cases += inside.empty() ? "/>\n" : cat(">\n      ", inside, "\n    </testcase>\n");
  }
  const std::string counted = cat(" tests=\"", verdict.results.size(), "\" failures=\"", failures,
                                  "\" errors=\"", errors, "\" skipped=\"", skipped, "\"");
  return cat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"espalier check\"", counted,
             ">\n  <testsuite name=\"gates\"", counted, " timestamp=\"", date_text(verdict.today),
             "T00:00:00\">\n", cases, "  </testsuite>\n</testsuites>\n");
}

std::string prometheus_report(const Verdict& verdict) {
  Samples release("espalier_check", "Verdict on the release: 0 pass, 1 blocked, 3 undecided.");
  release.add({}, cat(exit_code(verdict.ruling)));
  Samples gates("espalier_gate", "Verdict of a gate: 0 pass, 1 blocked, 3 undecided.");
  Samples limits("espalier_gate_limit", "What the number of a gate may be at least and at most.");
  Samples numbers("espalier_gate_number", "What is held against the limits; missing where it is undefined.");
  Samples lows("espalier_gate_interval_low", "Lower end of the number's interval.");
  Samples highs("espalier_gate_interval_high", "Upper end of the number's interval.");
  Samples rows("espalier_gate_rows", "Rows that the number counts.");
  for (const GateResult& result : verdict.results) {
    const Gate& gate = result.gate;
    gates.add({{"gate", gate.name}, {"severity", gate.severity == Severity::kWarn ? "warn" : "error"}},
              cat(exit_code(result.ruling)));
    if (gate.min) limits.add({{"gate", gate.name}, {"limit", "min"}}, shortest(*gate.min));
    if (gate.max) limits.add({{"gate", gate.name}, {"limit", "max"}}, shortest(*gate.max));
    for (const Finding& finding : result.findings) {
      const Samples::Labels labels{{"gate", gate.name},
                                   {"metric", finding.metric},
                                   {"slice", finding.slice},
                                   {"other", finding.other}};
      rows.add(labels, cat(finding.rows));
      if (finding.judged) numbers.add(labels, shortest(*finding.judged));
      if (!finding.interval) continue;
      lows.add(labels, shortest(finding.interval->low));
      highs.add(labels, shortest(finding.interval->high));
    }
  }
  std::string out;
  for (const Samples* samples : {&release, &gates, &limits, &numbers, &lows, &highs, &rows})
    out += samples->text();
  return out;
}

std::string slices_csv(const Assessment& assessment) {
  CsvWriter out;
  for (const char* column :
       {"slicing", "slice", "rows", "positives", "threshold", "metric", "value", "low", "high", "counted"})
    out.cell(column);
  out.end_row();
  const std::vector<double>& thresholds = assessment.options.thresholds;
  const auto optional = [&](bool has, double value) { has ? out.cell(value) : out.cell(""); };
  const auto row = [&](const std::string& slicing, const SliceFigures& slice, const SliceMetric& metric,
                       size_t at) {
    const Figure figure = metric(slice, at, assessment.options.level);
    out.cell(slicing).cell(slice.slice.name).cell(cat(slice.slice.rows));
    out.cell(slice.at.empty() ? "" : cat(slice.at[0].positives().rows));
    const bool decides = metric.rate() && !thresholds.empty();
    optional(decides, decides ? thresholds[at] : 0);
    out.cell(metric.name());
    optional(figure.value.has_value(), figure.value.value_or(0));
    const Interval interval = figure.interval.value_or(Interval{});
    optional(figure.interval.has_value(), interval.low);
    optional(figure.interval.has_value(), interval.high);
    out.cell(cat(figure.rows)).end_row();
  };
  const auto rows = [&](const std::string& slicing, const SliceFigures& slice) {
    for (const std::string& name : slice_metrics(assessment)) {
      if (name == "rows" || name == "positives") continue;  // columns
      const SliceMetric metric(name);
      for (size_t at = 0; at < (metric.rate() ? std::max<size_t>(thresholds.size(), 1) : 1); ++at)
        row(slicing, slice, metric, at);
    }
  };
  rows("", assessment.overall);
  for (const SlicingFigures& by : assessment.by) {
    const std::string name = by.name();
    for (const SliceFigures& slice : by.slices) rows(name, slice);
  }
  return out.text();
}

}  // namespace espalier
