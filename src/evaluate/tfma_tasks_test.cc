// Regressions, classes, churn, areas and calibration errors against the figures of
// tests/golden/tfma_tasks.py.
#include <gtest/gtest.h>

#include "evaluate/churn.h"
#include "evaluate/classes.h"
#include "evaluate/estimates_test.h"
#include "evaluate/golden_rows_test.h"
#include "evaluate/ranking.h"
#include "evaluate/regression.h"
#include "evaluate/subgroups.h"

namespace espalier {
namespace {

using nlohmann::json;

constexpr const char* kTwoWeights[] = {"plain", "weighted"};

json tfma_tasks(const char* task) { return read_golden("tfma_tasks.json").at(task); }

std::span<const double> weights_or_none(const std::string& weighted, const std::vector<double>& weights) {
  return weighted == "plain" ? std::span<const double>() : weights;
}

// Undefined where TFMA says NaN, or 0 of what no row is or was said to be.
void expect_same(const Estimate& ours, const json& theirs) {
  if (!ours.value) {
    EXPECT_TRUE(theirs.is_null() || theirs == 0) << ours.metric << " " << theirs;
    return;
  }
  const double value = theirs;
  EXPECT_NEAR(*ours.value, value, 1e-12 * std::max(1.0, std::abs(value))) << ours.metric;
}

void expect_same(const std::vector<Estimates>& parts, const json& theirs) {
  ASSERT_EQ(parts.size(), theirs.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const auto& [name, value] : theirs[i].items()) {
      SCOPED_TRACE(i);
      expect_same(estimate(parts[i], name), value);
    }
  }
}

TEST(TfmaTasks, RegressionsAreTfmas) {
  const json theirs = tfma_tasks("regression"), golden = read_golden("regression.json"),
             &rows = golden["rows"];
  const std::vector<double> truths = rows["label"], predictions = rows["prediction"],
                            weights = rows["weight"];
  const CategoryColumn group{"group", golden["groups"], rows["group"]};
  for (const char* weighted : kTwoWeights) {
    const NumberRows numbers(predictions, truths, weights_or_none(weighted, weights));
    std::vector<Estimates> parts = regression_estimates(numbers, overall(truths.size()));
    for (const Estimates& part : regression_estimates(numbers, slice_by({&group}))) parts.push_back(part);
    expect_same(parts, theirs.at(weighted));
  }
}

TEST(TfmaTasks, ClassesAreTfmas) {
  const json theirs = tfma_tasks("classes"), golden = read_golden("classes.json"), &rows = golden["rows"];
  const std::vector<std::string> classes = golden["classes"];
  const std::vector<uint32_t> labels = rows["label"], said = rows["said"];
  const std::vector<double> weights = rows["weight"];
  const CategoryColumn group{"group", golden["groups"], rows["group"]};
  for (const char* weighted : kTwoWeights) {
    const ClassRows of(classes, labels, said, {}, weights_or_none(weighted, weights));
    std::vector<Estimates> parts = class_estimates(of, overall(of.size()));
    for (const Estimates& part : class_estimates(of, slice_by({&group}))) parts.push_back(part);
    expect_same(parts, theirs.at(weighted));
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(json(parts[i].matrix), theirs.at("matrix")[i]) << i;
  }
}

TEST(TfmaTasks, ChurnIsTfmasRateOfFlips) {
  const json theirs = tfma_tasks("churn");
  const GoldenRows data;
  std::vector<uint32_t> truths(data.labels.begin(), data.labels.end()), now, before;
  for (size_t i = 0; i < truths.size(); ++i) {
    now.push_back(data.scores[i] > 0.5);
    before.push_back(data.scores[(i + 1) % truths.size()] > 0.5);
  }
  for (const char* weighted : kTwoWeights) {
    const auto parts = churn({truths, before, now, weights_or_none(weighted, data.weights)}, {{&data.group}});
    ASSERT_EQ(parts.size(), 5u);
    for (size_t i = 0; i < parts.size(); ++i) expect_same(parts[i].changed, theirs.at(weighted)[i]);
  }
}

TEST(TfmaTasks, AreasAgainstTheRestAreTfmas) {
  const json theirs = tfma_tasks("areas");
  const GoldenRows data;
  for (const char* weighted : kTwoWeights) {
    const auto areas =
        background_aucs(data.rows(weighted), order_by_score(data.scores), slice_by({&data.group}));
    const json& of = theirs.at(weighted);
    for (size_t i = 0; i < areas.size(); ++i) {
      expect_same(areas[i].bpsn, of.at("bpsn_auc")[i]);
      expect_same(areas[i].bnsp, of.at("bnsp_auc")[i]);
    }
  }
}

TEST(TfmaTasks, CalibrationErrorsAreOfTfmasBins) {
  const json theirs = tfma_tasks("calibration_error");
  GoldenRows data;
  for (double& score : data.scores) score -= 0.001;
  for (const char* weighted : kTwoWeights) {
    std::vector<Estimate> errors = calibration_errors(data.rows(weighted), overall(data.scores.size()));
    for (const Estimate& one : calibration_errors(data.rows(weighted), slice_by({&data.group})))
      errors.push_back(one);
    ASSERT_EQ(errors.size(), theirs.at(weighted).size());
    for (size_t i = 0; i < errors.size(); ++i) expect_same(errors[i], theirs.at(weighted)[i]);
  }
}

}  // namespace
}  // namespace espalier
