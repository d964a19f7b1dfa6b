#include "gate/sentence.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "report/table.h"

namespace espalier {
namespace {

std::string words(const std::string& metric) {
  if (metric == "auc") return "AUC";
  std::string out = metric;
  std::ranges::replace(out, '_', ' ');
  return out;
}

bool shows_side(double number, double limit, int digits) {
  if (std::abs(number - limit) <= kRounding) return true;
  const double shown = std::stod(fixed(number, digits));
  return (shown > limit) == (number > limit) && (shown < limit) == (number < limit);
}

int digits_of(const Gate& gate, const Finding& finding) {
  const bool counts = gate.where == Where::kData || finding.metric == "rows" || finding.metric == "positives";
  if (counts && gate.measure == Measure::kDifference && gate.change != Change::kRelative) return 0;
  constexpr int kFewest = 2, kMost = 6;
  std::vector<double> numbers;
  if (finding.judged) numbers.push_back(*finding.judged);
  if (finding.interval) numbers.insert(numbers.end(), {finding.interval->low, finding.interval->high});
  int out = kFewest;
  for (const double number : numbers) {
    for (const std::optional<double>& limit : {gate.min, gate.max}) {
      while (limit && out < kMost && !shows_side(number, *limit, out)) ++out;
    }
  }
  return out;
}

std::string about_gate(const Gate& gate, const Finding& finding) {
  const std::string metric = words(finding.metric) + gate.within();
  if (gate.where == Where::kOverall && gate.against.empty()) return metric;
  if (gate.where == Where::kBetween && gate.change != Change::kNone && finding.judged)
    return cat("gap in ", metric, " between ", finding.slice, " and ", finding.other);
  const bool less = !gate.against.empty() && gate.change != Change::kNone;
  return cat(metric, " for ", finding.slice, less ? cat(" less that for ", gate.against) : "");
}

// Whether a sentence says its limit, or it stands elsewhere.
enum class Limit { kSaid, kElsewhere };

// What a gate on data found.
std::string data_fact(const Gate& gate, const Finding& finding, Limit limit) {
  const std::string what = cat(gate.of, " of ", gate.column.empty() ? "the data" : gate.column);
  if (!finding.judged) return cat(what, " cannot be judged: ", finding.reason);
  if (finding.rows == 0) return cat(what, " has no fault");
  return cat(what, ": ", finding.reason, " (", finding.rows, finding.rows == 1 ? " fault" : " faults",
             limit == Limit::kSaid ? cat(", limit ", shortest(*gate.max)) : "", ")");
}

std::string withheld_fact(const Gate& gate, const Finding& finding, Limit limit) {
  const std::string to = finding.other.empty() ? "" : cat(" beside ", finding.other);
  const char* const how = finding.ruling == Ruling::kPass      ? " holds its limit"
                          : finding.ruling == Ruling::kBlocked ? " breaks its limit"
                                                               : " cannot be judged";
  return cat(about_gate(gate, finding), to, how,
             limit == Limit::kSaid ? cat(" (", limit_text(gate), ")") : "",
             "; it is of few rows, or would give those of few away, so no figure of it stands here");
}

std::string fact(const Gate& gate, const Finding& finding, double level, Limit limit) {
  if (gate.where == Where::kData) return data_fact(gate, finding, limit);
  if (finding.withheld) return withheld_fact(gate, finding, limit);
  if (!finding.judged) return cat(about_gate(gate, finding), " cannot be judged: ", finding.reason);
  const auto number = [&](const std::optional<double>& x) { return number_text(gate, finding, *x); };
  std::string out = about_gate(gate, finding);
  std::vector<std::string> inside;
  const bool gap = gate.where == Where::kBetween;
  if (gate.change != Change::kNone) {
    out += cat(" is ", number(finding.now), " against ", number(finding.before), " in the baseline");
    inside.push_back(
        cat(gate.change == Change::kRelative ? "relative " : "", "change ", number(finding.judged)));
  } else if (!gate.against.empty()) {
    out +=
        cat(" is ", number(finding.value), " against ", number(finding.other_value), " for ", finding.other);
    inside.push_back(cat("difference ", number(finding.judged)));
  } else if (gap) {
    out += cat(" is ", number(finding.value), " against ", number(finding.other_value));
    if (finding.compared > 2) out += cat(" for ", finding.other);
    inside.push_back(cat(gate.measure == Measure::kRatio ? "ratio " : "gap ", number(finding.judged)));
  } else {
    out += cat(" is ", number(finding.value));
  }
  if (finding.interval) {
    inside.push_back(cat(percent_text(level), " interval ", number(finding.interval->low), " to ",
                         number(finding.interval->high)));
  }
  const bool plain = gap && gate.change == Change::kNone && gate.measure == Measure::kDifference;
  if (limit == Limit::kSaid) inside.push_back(cat("limit ", plain ? shortest(*gate.max) : limit_text(gate)));
  std::string known;
  for (const std::string& each : inside) known += cat(known.empty() ? "" : ", ", each);
  out += cat(" (", known, known.empty() ? "" : "; ", finding.rows, " ", finding.counted, ")");
  return finding.reason.empty() ? out : cat(out, ": ", finding.reason);
}

std::string sentence_of(const GateResult& result, double level, Limit limit) {
  const Finding& worst = result.findings[0];
  std::string expired;
  for (const Waiver& waiver : result.expired) {
    expired += cat(expired.empty() ? "" : "; ", "the waiver of \"", result.gate.name, "\" by ", waiver.name,
                   " expired on ", date_text(waiver.expires));
  }
  const bool holds = worst.ruling == Ruling::kPass || worst.waiver;
  if (!expired.empty() && holds) return printable(expired);
  const std::string out = fact(result.gate, worst, level, limit);
  return printable(expired.empty() ? out : cat(out, "; ", expired));
}

}  // namespace

std::string date_text(std::chrono::year_month_day date) {
  char out[32];
  std::snprintf(out, sizeof out, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return out;
}

std::string percent_text(double level) { return shortest(std::round(1e6 * level) / 1e4) + " %"; }

std::string limit_text(const Gate& gate) {
  if (gate.min && gate.max) return cat(shortest(*gate.min), " to ", shortest(*gate.max));
  return gate.min ? cat("at least ", shortest(*gate.min)) : cat("at most ", shortest(*gate.max));
}

std::string number_text(const Gate& gate, const Finding& finding, double number) {
  return fixed(number, digits_of(gate, finding));
}

std::string sentence_of(const GateResult& result, double level) {
  return sentence_of(result, level, Limit::kSaid);
}

std::string number_sentence_of(const GateResult& result, double level) {
  return sentence_of(result, level, Limit::kElsewhere);
}

std::string waivers_text(const GateResult& result) {
  std::vector<Waiver> each;  // of several slices one may be the same
  for (const Finding& finding : result.findings) {
    if (finding.waiver && !std::ranges::count(each, finding.waiver->slice, &Waiver::slice))
      each.push_back(*finding.waiver);
  }
  std::string out;
  for (const Waiver& waiver : each) {
    out += cat(out.empty() ? "" : "; ", "waived by ", waiver.name, " until ", date_text(waiver.expires), ": ",
               waiver.reason);
  }
  return out;
}

}  // namespace espalier
