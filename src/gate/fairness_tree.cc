#include "gate/fairness_tree.h"

#include <algorithm>
#include <cmath>

#include "base/find_named.h"
#include "base/format.h"
#include "base/shortest.h"
#include "evaluate/rates.h"

namespace espalier {
namespace {

std::string text(double share) { return shortest(std::round(share * 1000) / 1000); }

const TreeQuestion& question(std::string_view key) {
  return *std::ranges::find(tree_questions(), key, &TreeQuestion::key);
}

}  // namespace

const std::vector<TreeQuestion>& tree_questions() {
  static const std::vector<TreeQuestion> all = {
      {"worry",
       "What can go wrong?",
       {{"selection", "too few or too many of a group are selected, right or wrong", {}, "selection_rate"},
        {"errors", "wrong decisions hit one group more than another", "labels", {}}}},
      {"labels",
       "Can the labels be trusted to say what is true, in each group alike?",
       {{"trustworthy", "yes", "action", {}},
        {"doubtful",
         "no, or they repeat old decisions: errors cannot be counted with them",
         {},
         "selection_rate"}}},
      {"action",
       "What does a positive decision do to a person?",
       {{"punitive", "it can hurt: a refusal, an inspection, an arrest", "hurt", {}},
        {"assistive", "it helps: a grant, a treatment, a job", "reach", {}}}},
      {"hurt",
       "Who must not be hurt more in one group than in another?",
       {{"everyone",
         "anyone of the group, whether deserving the action or not",
         {},
         "false_positives_per_row"},
        {"acted-upon", "those whom the action is taken upon", {}, "false_discovery_rate"},
        {"undeserving", "those who do not deserve it", {}, "false_positive_rate"}}},
      {"reach",
       "How many of those in need can be helped?",
       {{"few", "a small part of them", {}, "true_positive_rate"}, {"most", "most of them", "need", {}}}},
      {"need",
       "Who must not be passed over more in one group than in another?",
       {{"everyone", "anyone of the group, whether in need or not", {}, "false_negatives_per_row"},
        {"not-helped", "those who are not helped", {}, "false_omission_rate"},
        {"in-need", "those in need", {}, "false_negative_rate"}}},
  };
  return all;
}

TreePath follow(const TreeAnswers& answers) {
  TreePath out;
  for (std::string_view key = tree_questions()[0].key; out.metric.empty();) {
    const TreeQuestion& open = *out.asked.emplace_back(&question(key));
    const auto answer = answers.find(std::string(key));
    if (answer == answers.end()) return out;
    const auto choice = std::ranges::find(open.choices, answer->second, &TreeChoice::word);
    if (choice == open.choices.end()) {
      std::vector<std::string> known;
      for (const TreeChoice& one : open.choices) known.emplace_back(one.word);
      throw_unknown("fairness.answer", cat("answer to ", key, ","), answer->second, known);
    }
    out.because.push_back(&*choice);
    out.metric = choice->metric;
    key = choice->question;
  }
  return out;
}

ModelRates model_rates(const Confusion& confusion) {
  const auto value = [&](std::string_view name) {
    const std::optional<double> out = rate(name)(confusion);
    if (!out)
      throw ValueError("fairness.rates",
                       cat("the ", name, " of all rows is 0 / 0, and nothing follows from it for groups"));
    return *out;
  };
  return {.base_rate = value("prevalence"),
          .selection_rate = value("selection_rate"),
          .tpr = value("true_positive_rate"),
          .fpr = value("false_positive_rate"),
          .ppv = value("positive_predictive_value"),
          .npv = value("negative_predictive_value")};
}

ModelRates usual_rates(double base_rate) {
  constexpr double kTpr = 0.8, kPpv = 0.8;
  const double p = base_rate, fpr = p / (1 - p) * (1 - kPpv) / kPpv * kTpr;
  const double unsaid = (1 - fpr) * (1 - p) + (1 - kTpr) * p;
  return {.base_rate = p,
          .selection_rate = kTpr * p / kPpv,
          .tpr = kTpr,
          .fpr = fpr,
          .ppv = kPpv,
          .npv = (1 - fpr) * (1 - p) / unsaid};
}

// A. Chouldechova, Fair prediction with disparate impact (2017): FPR = p / (1 - p) (1 - PPV) / PPV TPR; the
// others are the same identity, solved for another rate.
FairnessPrice price_of(std::string_view metric, const std::vector<GroupRate>& groups, const ModelRates& all) {
  FairnessPrice out;
  const auto each = [&](auto f) {
    for (const GroupRate& group : groups) out.of_groups.push_back(f(group.base_rate));
  };
  if (metric == "selection_rate") {
    out.sentence = cat("with the selection rate ", text(all.selection_rate),
                       " in all groups, at least this share of each is decided wrongly, by whatever model");
    out.what = "least error rate";
    each([&](double p) { return std::abs(p - all.selection_rate); });
  } else if (metric == "false_discovery_rate") {
    out.sentence = cat("with precision ", text(all.ppv), " and true positive rate ", text(all.tpr),
                       " in all groups, their false positive rates are fixed");
    out.what = "false positive rate";
    each([&](double p) { return p / (1 - p) * (1 - all.ppv) / all.ppv * all.tpr; });
  } else if (metric == "false_omission_rate") {
    out.sentence = cat("with false omission rate ", text(1 - all.npv), " and false positive rate ",
                       text(all.fpr), " in all groups, their false negative rates are fixed");
    out.what = "false negative rate";
    each([&](double p) { return (1 - p) / p * (1 - all.npv) / all.npv * (1 - all.fpr); });
  } else if (metric == "false_positives_per_row") {
    const double c = all.fpr * (1 - all.base_rate);
    out.sentence =
        cat("with ", text(c), " false positives a row in all groups, their false positive rates are fixed");
    out.what = "false positive rate";
    each([&](double p) { return c / (1 - p); });
  } else if (metric == "false_negatives_per_row") {
    const double c = (1 - all.tpr) * all.base_rate;
    out.sentence =
        cat("with ", text(c), " false negatives a row in all groups, their false negative rates are fixed");
    out.what = "false negative rate";
    each([&](double p) { return c / p; });
  } else {
    out.sentence = cat("with true positive rate ", text(all.tpr), " and false positive rate ", text(all.fpr),
                       " in all groups, their precisions are fixed");
    out.what = "precision";
    each([&](double p) { return p * all.tpr / (p * all.tpr + (1 - p) * all.fpr); });
  }
  return out;
}

}  // namespace espalier
