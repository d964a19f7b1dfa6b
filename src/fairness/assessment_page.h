// The page of an assessment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fairness/assessment.h"
#include "fairness/rare_slices.h"
#include "fairness/slicing_gaps.h"
#include "report/page.h"

namespace espalier {

struct AssessmentPageOptions {
  std::string title = "Assessment";
  std::string subject = {};  // what was evaluated: "scores.csv"
  // What a gate said; without one the largest gaps come first, unjudged. Where its texts name a slice that is
  // hidden they say "(rare)" instead.
  std::optional<VerdictBanner> verdict = {};
  size_t threshold = 0;  // which of the assessment's the figures are at
  // None: of two classes selection_rate, true_positive_rate, false_positive_rate, positive_predictive_value,
  // accuracy and auc, else those that are compared unasked, which of each of many classes none are.
  std::vector<std::string> metrics = {};
  std::vector<CriterionLimit> criteria = {{"demographic_parity"},
                                          {"equal_opportunity"},
                                          {"equalised_odds"},
                                          {"predictive_parity"},
                                          {"accuracy_equality"}};
  int64_t k = kRareRows;                   // slices of fewer rows are folded
  std::vector<PageSection> sections = {};  // behind those of the assessment
  int64_t rows = 0;                        // that stand in `sections`: then a notice says so
};
// HTML of at most kMostPageBytes: where slices are many, the ones furthest from all rows, and the names of
// the rest. Thresholds move where the assessment has histograms. Criteria are of two classes; of several
// there is a confusion matrix, of numbers the tenths where the assessment has them. Raises ValueError:
// evaluate.metric and fairness.criterion for unknown names, page.threshold for one that the assessment does
// not have.
std::string assessment_page(const Assessment& assessment, const AssessmentPageOptions& options = {});

}  // namespace espalier
