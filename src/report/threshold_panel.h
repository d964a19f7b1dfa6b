// Thresholds that a person moves, and what becomes of the rates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/html.h"

namespace espalier {

// Rows whose scores pass so many thresholds.
struct ScoreBin {
  int64_t rows = 0;
  double weight = 0, squares = 0;  // of the weights
};
struct PanelSlice {
  std::string name, note = {};
  std::string grey = {};                      // why it is in no gap; "" where it is
  std::vector<std::array<ScoreBin, 2>> bins;  // [passed thresholds][label]: of 0, 0.001, ..., 1, so 1,002
};
// A share of outcomes, which are counted TP, FP, TN, FN.
struct PanelRate {
  std::string name, formula;
  std::array<int, 4> part, whole;
};
struct ThresholdPanel {
  std::string id, caption;
  std::vector<PanelSlice> slices;
  std::vector<PanelRate> rates;
  double threshold = 0.5;             // where sliders stand at first, cut to thousandths
  double level = 0.95, width = 1.96;  // of intervals, and the standard deviations to each side
};
// REQUIRES: each slice has 1,002 bins.
Html drawn(const ThresholdPanel& panel);

}  // namespace espalier
