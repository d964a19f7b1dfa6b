#include "evaluate/rates.h"

#include <cmath>

#include "base/find_named.h"
#include "base/format.h"
#include "evaluate/entropy.h"

namespace espalier {
namespace {

constexpr OutcomeCounts kPositives{1, 0, 0, 1}, kNegatives{0, 1, 1, 0}, kSaid{1, 1, 0, 0},
    kUnsaid{0, 0, 1, 1}, kAll{1, 1, 1, 1};
constexpr OutcomeCounts kTp{1, 0, 0, 0}, kFp{0, 1, 0, 0}, kTn{0, 0, 1, 0}, kFn{0, 0, 0, 1};
constexpr Fraction kTpr{kTp, kPositives}, kFnr{kFn, kPositives}, kFpr{kFp, kNegatives}, kTnr{kTn, kNegatives},
    kPpv{kTp, kSaid}, kNpv{kTn, kUnsaid};

std::optional<double> divide(double part, double whole) {
  if (whole == 0) return std::nullopt;
  return part / whole;
}

double weight_of(const OutcomeCounts& counts, const Confusion& confusion) {
  double out = 0;
  for (size_t i = 0; i < kOutcomes; ++i) out += counts[i] * confusion.of[i].weight;
  return out;
}

std::optional<double> share(const Fraction& fraction, const Confusion& confusion) {
  return divide(weight_of(fraction.part, confusion), weight_of(fraction.whole, confusion));
}

// `combine` of two fractions, where both are defined.
template <class Combine>
std::optional<double> both(const Confusion& confusion, const Fraction& a, const Fraction& b,
                           Combine&& combine) {
  const std::optional<double> x = share(a, confusion), y = share(b, confusion);
  if (!x || !y) return std::nullopt;
  return combine(*x, *y);
}

std::optional<double> balanced_accuracy(const Confusion& c) {
  return both(c, kTpr, kTnr, [](double tpr, double tnr) { return (tpr + tnr) / 2; });
}
std::optional<double> informedness(const Confusion& c) {
  return both(c, kTpr, kTnr, [](double tpr, double tnr) { return tpr + tnr - 1; });
}
std::optional<double> markedness(const Confusion& c) {
  return both(c, kPpv, kNpv, [](double ppv, double npv) { return ppv + npv - 1; });
}
std::optional<double> fowlkes_mallows(const Confusion& c) {
  return both(c, kPpv, kTpr, [](double ppv, double tpr) { return std::sqrt(ppv * tpr); });
}
std::optional<double> prevalence_threshold(const Confusion& c) {
  return both(c, kTpr, kFpr,
              [](double tpr, double fpr) { return divide(std::sqrt(fpr), std::sqrt(tpr) + std::sqrt(fpr)); });
}
std::optional<double> positive_likelihood_ratio(const Confusion& c) { return both(c, kTpr, kFpr, divide); }
std::optional<double> negative_likelihood_ratio(const Confusion& c) { return both(c, kFnr, kTnr, divide); }
std::optional<double> diagnostic_odds_ratio(const Confusion& c) {
  return divide(c[kTruePositive].weight * c[kTrueNegative].weight,
                c[kFalsePositive].weight * c[kFalseNegative].weight);
}
std::optional<double> matthews_correlation(const Confusion& c) {
  const double tp = c[kTruePositive].weight, fp = c[kFalsePositive].weight;
  const double tn = c[kTrueNegative].weight, fn = c[kFalseNegative].weight;
  // Four roots, since the product of four sums of weights may overflow.
  return divide(tp * tn - fp * fn,
                std::sqrt(tp + fp) * std::sqrt(tp + fn) * std::sqrt(tn + fp) * std::sqrt(tn + fn));
}

std::string sum_text(const OutcomeCounts& counts) {
  constexpr std::array<const char*, kOutcomes> kNames{"TP", "FP", "TN", "FN"};
  std::string out;
  for (size_t i = 0; i < kOutcomes; ++i) {
    if (counts[i] == 0) continue;
    out += cat(out.empty() ? "" : " + ", counts[i] == 1 ? "" : cat(counts[i], " "), kNames[i]);
  }
  return out.find('+') == out.npos ? out : cat("(", out, ")");
}

}  // namespace

const std::vector<Rate>& rates() {
  static const std::vector<Rate> table{
      {"true_positive_rate", {"tpr", "recall", "sensitivity", "hit_rate"}, kTpr},
      {"false_negative_rate", {"fnr", "miss_rate"}, kFnr},
      {"false_positive_rate", {"fpr", "fall_out"}, kFpr},
      {"true_negative_rate", {"tnr", "specificity"}, kTnr},
      {"positive_predictive_value", {"ppv", "precision"}, kPpv},
      {"false_discovery_rate", {"fdr"}, {kFp, kSaid}},
      {"negative_predictive_value", {"npv"}, kNpv},
      {"false_omission_rate", {"for"}, {kFn, kUnsaid}},
      {"selection_rate", {"positive_rate", "predicted_positive_rate", "pprev"}, {kSaid, kAll}},
      {"negative_rate", {}, {kUnsaid, kAll}},
      {"accuracy", {}, {{1, 0, 1, 0}, kAll}},
      {"error_rate", {}, {{0, 1, 0, 1}, kAll}},
      {"prevalence", {"base_rate"}, {kPositives, kAll}},
      {"false_positives_per_row", {"fp_gs"}, {kFp, kAll}},
      {"false_negatives_per_row", {"fn_gs"}, {kFn, kAll}},
      {"f1", {"f1_score"}, {{2, 0, 0, 0}, {2, 1, 0, 1}}},
      {"threat_score", {"critical_success_index", "jaccard"}, {kTp, {1, 1, 0, 1}}},
      {"treatment_ratio", {}, {kFn, kFp}},
      {"balanced_accuracy", {}, {}, balanced_accuracy, "(TPR + TNR) / 2"},
      {"matthews_correlation",
       {"mcc"},
       {},
       matthews_correlation,
       "(TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN))"},
      {"fowlkes_mallows", {}, {}, fowlkes_mallows, "sqrt(PPV TPR)"},
      {"informedness", {"youden"}, {}, informedness, "TPR + TNR - 1"},
      {"markedness", {}, {}, markedness, "PPV + NPV - 1"},
      {"prevalence_threshold", {}, {}, prevalence_threshold, "sqrt(FPR) / (sqrt(TPR) + sqrt(FPR))"},
      {"positive_likelihood_ratio", {"lr_plus"}, {}, positive_likelihood_ratio, "TPR / FPR"},
      {"negative_likelihood_ratio", {"lr_minus"}, {}, negative_likelihood_ratio, "FNR / TNR"},
      {"diagnostic_odds_ratio", {}, {}, diagnostic_odds_ratio, "TP TN / (FP FN)"},
      {"generalised_entropy",
       {"ge"},
       {},
       [](const Confusion& c) { return generalised_entropy(c); },
       "mean of ((b / mean(b))^2 - 1) / 2, b = 1 + said - is"},
      {"theil_index",
       {"theil"},
       {},
       [](const Confusion& c) { return generalised_entropy(c, 1); },
       "mean of b / mean(b) ln(b / mean(b)), b = 1 + said - is"},
  };
  return table;
}

const Rate& rate(std::string_view name) { return find_named("evaluate.metric", "metric", name, rates()); }

std::optional<double> Rate::operator()(const Confusion& confusion) const {
  return of != nullptr ? of(confusion) : share(fraction, confusion);
}

bool Rate::is_proportion() const {
  for (size_t i = 0; i < kOutcomes; ++i) {
    if (fraction.part[i] > fraction.whole[i] || fraction.whole[i] > 1) return false;
  }
  return of == nullptr;
}

std::string Rate::formula() const {
  return of != nullptr ? std::string(formula_of)
                       : cat(sum_text(fraction.part), " / ", sum_text(fraction.whole));
}

std::optional<Proportion> proportion(const Rate& rate, const Confusion& confusion) {
  const std::optional<double> share = rate(confusion);
  if (!share) return std::nullopt;
  Tally whole;
  for (size_t i = 0; i < kOutcomes; ++i) {
    if (rate.fraction.whole[i] != 0) whole += confusion.of[i];
  }
  return Proportion{*share, whole.effective_rows()};
}

}  // namespace espalier
