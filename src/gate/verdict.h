// Whether an Assessment passes the gates of a release. docs/gates.md says when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/release.h"
#include "gate/gates.h"

namespace espalier {

// By so much may the rounding of binary numbers miss a limit.
inline constexpr double kRounding = 1e-12;

// 0, 3, 1.
int exit_code(Ruling ruling);

// What a gate finds in a slice, or between two.
struct Finding {
  std::string metric;
  std::string slice;    // "overall", "sex=Female"; of a gap the lower one
  std::string other;    // of a gap the higher one
  size_t compared = 0;  // slices that the gap is of
  // None where it is undefined or absent: then there is a reason.
  std::optional<double> value = {}, other_value = {};
  // Of a change: the value, or gap, that it is of, now and in the baseline.
  std::optional<double> now = {}, before = {};
  std::optional<double> judged = {};      // what the limits are for: value, gap or change
  std::optional<Interval> interval = {};  // of it
  int64_t rows = 0;                       // that `value` counts
  std::string counted = {};               // what they are: "positives"
  Ruling ruling = Ruling::kUndecided;
  std::string reason = {};            // "its interval straddles the limit"
  std::optional<Waiver> waiver = {};  // that lets it pass
  bool withheld = false;              // its figures are not said
};
struct GateResult {
  Gate gate;
  Ruling ruling = Ruling::kPass;        // the worst of those that no waiver lets pass
  std::vector<Finding> findings;        // the worst first
  std::vector<Waiver> expired = {};     // each blocks
  std::set<std::string> left_out = {};  // slices of too few rows
  std::string sentence;                 // of the worst, without its ruling

  // Whether it cannot stop a release.
  bool is_warning() const { return gate.severity == Severity::kWarn && expired.empty(); }
};
struct Verdict {
  Ruling ruling = Ruling::kPass;  // the worst of gates that are no warnings
  std::string sentence;           // "Blocked: ...", "Pass: ..."
  double level = kLevel;
  std::chrono::year_month_day today = {};
  std::vector<GateResult> results;

  struct Counts {
    int64_t pass = 0, undecided = 0, blocked = 0;  // they add up to the gates
    int64_t warnings = 0;                          // of the latter two
    int64_t waived = 0;                            // of those that pass
  };
  Counts counts() const;
};

// Raises FormatError[gates.options] for a gate that asks for a proof of a figure of which such rows have no
// interval: it would never be decided.
void check_proofs(const Gates& gates, const Assessment& assessment);

// `baseline` is what changes are against, `data` what was found of the data. None is kept; of those that are
// null gates are undecided.
Verdict judge(const Gates& gates, const Assessment& assessment, const Assessment* baseline,
              std::chrono::year_month_day today, const DataAnswer* data = nullptr);

// The same in sentences without figures of what is about these slices or metrics, as where everybody reads
// them. Only the sentences differ.
Verdict without_figures(Verdict verdict, const std::vector<std::string>& names);

}  // namespace espalier
