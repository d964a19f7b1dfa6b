#include "gate/verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/format.h"
#include "espalier/error.h"
#include "gate/measure.h"
#include "gate/sentence.h"

namespace espalier {
namespace {

// How far it lies beyond the limits; negative within.
double beyond(const Gate& gate, double value) {
  return std::max(gate.max ? value - *gate.max : -INFINITY, gate.min ? *gate.min - value : -INFINITY);
}

Ruling ruling_of(const Gate& gate, Finding& finding) {
  if (!finding.judged) return Ruling::kUndecided;
  if (gate.decide == Decide::kEstimate)
    return beyond(gate, *finding.judged) > kRounding ? Ruling::kBlocked : Ruling::kPass;
  if (!finding.interval) {
    finding.reason = "it has no interval";
    return Ruling::kUndecided;
  }
  Ruling out = Ruling::kPass;
  // By how much the interval is at least and at most beyond a limit.
  const auto limit = [&](double least, double most, Decide proof_of_good) {
    if (least > kRounding) {
      out = Ruling::kBlocked;
    } else if (most > kRounding) {
      finding.reason = "its interval straddles the limit";
      if (gate.decide == proof_of_good) out = std::max(out, Ruling::kUndecided);
    }
  };
  if (gate.max)
    limit(finding.interval->low - *gate.max, finding.interval->high - *gate.max, Decide::kProvenUnder);
  if (gate.min)
    limit(*gate.min - finding.interval->high, *gate.min - finding.interval->low, Decide::kProvenOver);
  if (out == Ruling::kBlocked) finding.reason.clear();
  return out;
}

void apply(const std::vector<Waiver>& waivers, std::chrono::year_month_day today, GateResult& result) {
  for (const Waiver& waiver : waivers) {
    if (waiver.gate != result.gate.name) continue;
    if (waiver.expires < today) {
      result.expired.push_back(waiver);
      continue;
    }
    for (Finding& finding : result.findings) {
      const bool meant = waiver.slice.empty() || waiver.slice == finding.slice;
      if (meant && finding.ruling != Ruling::kPass && !finding.waiver) finding.waiver = waiver;
    }
  }
}

GateResult result_of(const Gate& gate, const Gates& gates, const Assessment& assessment,
                     const Assessment* baseline, std::chrono::year_month_day today, const DataAnswer* data) {
  GateResult out{.gate = gate, .findings = {}, .sentence = {}};
  Measured measured = gate.where == Where::kData ? measure_data(gate, data)
                                                 : measure(gate, assessment, baseline, gates.level);
  out.findings = std::move(measured.findings);
  out.left_out = std::move(measured.left_out);
  for (Finding& finding : out.findings) finding.ruling = ruling_of(gate, finding);
  apply(gates.waivers, today, out);
  std::ranges::stable_sort(out.findings, std::greater{}, [&](const Finding& finding) {
    return std::tuple(finding.waiver ? Ruling::kPass : finding.ruling, finding.ruling,
                      finding.judged ? beyond(gate, *finding.judged) : -INFINITY);
  });
  const Finding& worst = out.findings[0];
  out.ruling = worst.waiver ? Ruling::kPass : worst.ruling;
  if (!out.expired.empty()) out.ruling = Ruling::kBlocked;
  out.sentence = sentence_of(out, gates.level);
  return out;
}

// What its results say together.
void conclude(Verdict& verdict) {
  const GateResult* first = nullptr;
  verdict.ruling = Ruling::kPass;
  for (const GateResult& result : verdict.results) {
    if (result.is_warning() || result.ruling <= verdict.ruling) continue;
    verdict.ruling = result.ruling;
    first = &result;
  }
  if (first) {
    const char* const word = verdict.ruling == Ruling::kBlocked ? "Blocked: " : "Undecided: ";
    verdict.sentence = cat(word, first->sentence, ".");
    return;
  }
  const Verdict::Counts counts = verdict.counts();
  const auto gates_text = [](int64_t n) { return cat(n, n == 1 ? " gate" : " gates"); };
  verdict.sentence = cat("Pass: ", gates_text(counts.pass), counts.pass == 1 ? " holds" : " hold");
  if (counts.waived) verdict.sentence += cat(", ", counts.waived, " of them by a waiver");
  if (counts.warnings)
    verdict.sentence += cat(", ", counts.warnings, counts.warnings == 1 ? " warns" : " warn");
  verdict.sentence += ".";
}

}  // namespace

std::string_view name(Ruling ruling) {
  return ruling == Ruling::kPass ? "pass" : ruling == Ruling::kBlocked ? "blocked" : "undecided";
}

int exit_code(Ruling ruling) { return ruling == Ruling::kPass ? 0 : ruling == Ruling::kBlocked ? 1 : 3; }

Verdict::Counts Verdict::counts() const {
  Counts out;
  for (const GateResult& result : results) {
    if (result.ruling == Ruling::kPass) {
      ++out.pass;
      out.waived +=
          std::ranges::any_of(result.findings, [](const Finding& x) { return x.waiver.has_value(); });
      continue;
    }
    ++(result.ruling == Ruling::kBlocked ? out.blocked : out.undecided);
    out.warnings += result.is_warning();
  }
  return out;
}

void check_proofs(const Gates& gates, const Assessment& assessment) {
  const std::vector<std::string> known = slice_metrics(assessment);
  for (const Gate& gate : gates.gates) {
    if (gate.decide == Decide::kEstimate) continue;
    for (const SliceMetric& metric : gate.metrics) {
      if (!std::ranges::count(known, metric.name()) || metric.has_interval(assessment)) continue;
      throw FormatError("gates.options",
                        cat("gate \"", gate.name, "\": ", metric.name(),
                            " has no interval on such rows that could prove it, so it would stay undecided"),
                        "decide = \"estimate\"");
    }
  }
}

Verdict judge(const Gates& gates, const Assessment& assessment, const Assessment* baseline,
              std::chrono::year_month_day today, const DataAnswer* data) {
  Verdict out{.sentence = {}, .level = gates.level, .today = today, .results = {}};
  for (const Gate& gate : gates.gates)
    out.results.push_back(result_of(gate, gates, assessment, baseline, today, data));
  conclude(out);
  return out;
}

Verdict without_figures(Verdict verdict, const std::vector<std::string>& names) {
  const auto named = [&](const std::string& name) { return std::ranges::count(names, name) > 0; };
  for (GateResult& result : verdict.results) {
    for (Finding& finding : result.findings)
      finding.withheld = named(finding.slice) || named(finding.other) || named(finding.metric);
    result.sentence = sentence_of(result, verdict.level);
  }
  conclude(verdict);
  return verdict;
}

}  // namespace espalier
