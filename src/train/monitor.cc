#include "train/monitor.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace espalier {
namespace {

// Whether more is better; none when the name does not say.
std::optional<bool> direction(std::string_view name) {
  if (name.starts_with("val_")) name.remove_prefix(4);
  // Alone, or behind the name of an output.
  const auto is = [&](std::string_view metric) { return name == metric || name.ends_with(cat("_", metric)); };
  if (name.ends_with("loss") || name.ends_with("error") || is("mae") || is("mse") || is("rmse")) return false;
  if (is("acc") || name.ends_with("accuracy") || name.ends_with("precision") || name.ends_with("recall") ||
      name.ends_with("auc") || name.starts_with("r2") || is("r2_score"))
    return true;
  return std::nullopt;
}

}  // namespace

Monitor::Monitor(std::string rule, std::string name, const std::string& mode, double min_delta)
    : rule_(std::move(rule)), name_(std::move(name)), min_delta_(std::fabs(min_delta)) {
  if (!std::isfinite(min_delta))
    throw ValueError(cat(rule_, ".min_delta"), cat("min_delta must be a number, got ", min_delta));
  if (mode != "auto" && mode != "min" && mode != "max")
    throw_unknown(cat(rule_, ".mode"), "mode", mode, {"auto", "min", "max"});
  maximise_ = mode == "auto" ? direction(name_) : std::optional(mode == "max");
}

void Monitor::require(const Callback::Run& run) const {
  const auto logged = [&](const std::string& name) {
    return std::ranges::find(run.logs, name) != run.logs.end();
  };
  if (name_.starts_with("val_") && logged(name_.substr(4)) && !logged(name_)) {
    throw ValueError(
        cat(rule_, ".monitor"), cat("\"", name_, "\" is of validation rows, and this run has none"),
        cat("monitor \"", name_.substr(4), "\", or give fit validation data or a validation_split"));
  }
  if (!logged(name_)) throw_unknown(cat(rule_, ".monitor"), "value of this run", name_, run.logs);
  if (!maximise_) {
    throw ValueError(cat(rule_, ".mode"), cat("\"", name_, "\" does not say whether less or more is better"),
                     "set .mode = \"min\" or \"max\"");
  }
}

bool Monitor::improves(double value, const std::optional<double>& reference) const {
  if (std::isnan(value)) return false;
  if (!reference || std::isnan(*reference)) return true;
  return *maximise_ ? value - min_delta_ > *reference : value + min_delta_ < *reference;
}

}  // namespace espalier
