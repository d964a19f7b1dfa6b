// The rows of tests/golden/fairness.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"
#include "evaluate/thresholds.h"
#include "ir/golden_test.h"

namespace espalier {

struct GoldenRows {
  nlohmann::json golden = read_golden("fairness.json");
  std::vector<double> scores = column<double>("score"), weights = column<double>("weight");
  std::vector<uint8_t> labels = column<uint8_t>("label");
  CategoryColumn group{"group", golden.at("groups").get<std::vector<std::string>>(),
                       column<uint32_t>("group")};
  double threshold = golden.at("threshold");

  template <class T>
  std::vector<T> column(const char* name) const {
    return golden.at("rows").at(name).get<std::vector<T>>();
  }
  // `weights` "plain" or "weighted".
  ScoredRows rows(const std::string& weighted) const {
    return {scores, labels, weighted == "plain" ? std::span<const double>() : weights};
  }
  std::vector<Confusion> confusions_of(const Slicing& slicing, const std::string& weighted,
                                       Positive positive) const {
    const std::vector<double> thresholds{threshold};
    return confusions(rows(weighted), pass_thresholds(rows(weighted), thresholds, positive), slicing);
  }
  std::vector<Confusion> of_groups(const std::string& weighted, Positive positive) const {
    return confusions_of(slice_by({&group}), weighted, positive);
  }
  Confusion of_all(const std::string& weighted, Positive positive) const {
    return confusions_of(overall(scores.size()), weighted, positive)[0];
  }
};

}  // namespace espalier
