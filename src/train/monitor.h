// What callbacks share that watch one value of a run.
#pragma once

#include <optional>
#include <string>

#include "espalier/model.h"

namespace espalier {

class Monitor {
 public:
  // Raises ValueError[rule.mode] for an unknown mode, [rule.min_delta] unless it is a number.
  Monitor(std::string rule, std::string name, const std::string& mode, double min_delta);

  // Raises ValueError[rule.monitor] when the run does not log the value, [rule.mode] for "auto" where its
  // name does not say which way is better.
  void require(const Callback::Run& run) const;
  double value(const Logs& logs) const { return logs.at(name_); }
  // Whether `value` is better by more than min_delta; any number is better than none, NaN is never better.
  bool improves(double value, const std::optional<double>& reference) const;

 private:
  std::string rule_, name_;
  std::optional<bool> maximise_;  // nothing: not known
  double min_delta_;
};

}  // namespace espalier
