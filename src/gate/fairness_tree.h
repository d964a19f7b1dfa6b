// Which metric of fairness fits a decision: the questions of the fairness tree (P. Saleiro and others,
// Aequitas: a bias and fairness audit toolkit, 2018), and what the metric costs where base rates differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/confusion.h"

namespace espalier {

struct TreeChoice {
  std::string_view word, text;
  // What it leads to: the key of the next question, or a metric.
  std::string_view question = {}, metric = {};
};
struct TreeQuestion {
  std::string_view key, text;
  std::vector<TreeChoice> choices;
};
const std::vector<TreeQuestion>& tree_questions();

// By the keys of questions, words of choices.
using TreeAnswers = std::map<std::string, std::string>;
// Where answers lead to.
struct TreePath {
  std::vector<const TreeQuestion*> asked;  // in this order, the last open where there is no metric
  std::vector<const TreeChoice*> because;  // what was said to them
  std::string_view metric = {};            // empty as long as a question is open
};
// Raises ValueError[fairness.answer] for a word that is no choice, with the nearest.
TreePath follow(const TreeAnswers& answers);

struct GroupRate {
  std::string group;
  int64_t rows = 0;
  double base_rate = 0;  // the share of its rows that are positive
};
// Rates of a model, of all rows.
struct ModelRates {
  double base_rate = 0, selection_rate = 0, tpr = 0, fpr = 0, ppv = 0, npv = 0;
};
// Raises ValueError[fairness.rates] where one is 0 / 0.
ModelRates model_rates(const Confusion& confusion);
// Of a model that finds 80 % of the positives, where 80 % of those said positive are.
ModelRates usual_rates(double base_rate);

// What equal values of a metric force upon groups whose base rates differ.
struct FairnessPrice {
  std::string sentence;           // "with equal ... in all groups, ..."
  std::string what;               // "false positive rate"
  std::vector<double> of_groups;  // above 1: no model can do that
};
// REQUIRES: a metric of the tree; base rates between 0 and 1.
FairnessPrice price_of(std::string_view metric, const std::vector<GroupRate>& groups, const ModelRates& all);

}  // namespace espalier
