#include "gate/anomaly_tables.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "report/table.h"
#include "validate/feature_path.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;
using nlohmann::ordered_json;

std::string anomaly_name(const FeatureAnomaly& anomaly) {
  return anomaly.path.empty() ? "(data set)" : path_text(anomaly.path);
}

std::vector<const FeatureAnomaly*> all_of(const Validation& validation) {
  std::vector<const FeatureAnomaly*> out;
  if (validation.dataset) out.push_back(&*validation.dataset);
  for (const FeatureAnomaly& anomaly : validation.features) out.push_back(&anomaly);
  return out;
}

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

// "max: 10 -> max: 17"; what is added alone has a plus before it, what goes a minus.
std::string fix_text(const FeatureAnomaly& anomaly) {
  std::string out;
  const auto add = [&](const std::string& text) { out += cat(out.empty() ? "" : ", ", text); };
  for (const TextChange& change : anomaly.fix) {
    const size_t pairs = std::min(change.removed.size(), change.added.size());
    for (size_t i = 0; i < pairs; ++i) add(cat(trimmed(change.removed[i]), " -> ", trimmed(change.added[i])));
    for (size_t i = pairs; i < change.removed.size(); ++i) add("-" + trimmed(change.removed[i]));
    for (size_t i = pairs; i < change.added.size(); ++i) add("+" + trimmed(change.added[i]));
  }
  return shortened(out);
}

std::string distances(const Validation& validation, const Terminal& terminal) {
  if (validation.measured.empty()) return "";
  Table table({"feature", "compared with", "distance", "value", "at most"});
  const auto add = [&](const tfmd::DriftSkewInfo& info, const char* with, const auto& measurements) {
    const FeaturePath path(info.path().step().begin(), info.path().step().end());
    for (const auto& each : measurements)
      table.row({shortened(path_text(path)),
                 with,
                 tfmd::DriftSkewInfo::Measurement::Type_Name(each.type()),
                 {six_digits(each.value()), each.value() > each.threshold() ? Ink::kBad : Ink::kPlain},
                 six_digits(each.threshold())});
  };
  for (const tfmd::DriftSkewInfo& info : validation.measured) {
    add(info, "previous", info.drift_measurements());
    add(info, "serving", info.skew_measurements());
  }
  return "\n" + table.text(terminal);
}

ordered_json feature_json(const FeatureAnomaly& anomaly) {
  ordered_json out = {{"feature", anomaly_name(anomaly)},
                      {"path", anomaly.path},
                      {"severity", Info::Severity_Name(anomaly.severity)},
                      {"reasons", ordered_json::array()},
                      {"fix", ordered_json::array()}};
  for (const AnomalyReason& reason : anomaly.reasons)
    out["reasons"].push_back({{"type", Info::Type_Name(reason.type)},
                              {"short_description", reason.brief},
                              {"description", reason.description},
                              {"observed", reason.observed},
                              {"limit", reason.limit}});
  for (const TextChange& change : anomaly.fix)
    out["fix"].push_back({{"removed", change.removed}, {"added", change.added}});
  return out;
}

}  // namespace

std::string anomaly_sentence(const Validation& validation, const ValidateInputs& inputs) {
  if (validation.data_missing) return "There is no data: the statistics are of 0 rows.";
  const size_t features = static_cast<size_t>(inputs.statistics->features_size());
  const std::string of =
      cat(counted(features, "feature"), ", ", counted(inputs.statistics->num_examples(), "row"));
  const std::vector<const FeatureAnomaly*> all = all_of(validation);
  if (all.empty()) return cat("No anomalies: ", of, ".");
  std::string worst;
  constexpr size_t kNamed = 3;
  for (size_t i = 0; i < std::min(all.size(), kNamed); ++i) {
    const AnomalyReason& reason = all[i]->reasons[0];
    worst += cat(i == 0 ? "" : "; ", shortened(anomaly_name(*all[i])), " (", reason.brief, ": ",
                 shortened(reason.observed), ")");
  }
  if (all.size() > kNamed) worst += cat("; and ", all.size() - kNamed, " more");
  return cat(counted(all.size(), "thing"), all.size() == 1 ? " is" : " are",
             validation.has_errors() ? " not as the schema says: " : " worth a warning: ", worst, "; of ", of,
             ".");
}

std::string anomaly_table(const Validation& validation, const Terminal& terminal) {
  const std::vector<const FeatureAnomaly*> all = all_of(validation);
  std::string out;
  if (!all.empty()) {
    Table table({"feature", "severity", "anomaly", "observed", "limit", "fix"});
    for (const FeatureAnomaly* anomaly : all) {
      for (size_t i = 0; i < anomaly->reasons.size(); ++i) {
        const AnomalyReason& reason = anomaly->reasons[i];
        table.row({i == 0 ? shortened(anomaly_name(*anomaly)) : "",
                   {Info::Severity_Name(anomaly->severity),
                    anomaly->severity == Info::ERROR ? Ink::kBad : Ink::kPlain},
                   Info::Type_Name(reason.type),
                   shortened(reason.observed),
                   shortened(reason.limit),
                   i == 0 ? fix_text(*anomaly) : ""});
      }
    }
    out = "\n" + table.text(terminal);
  }
  return out + distances(validation, terminal);
}

nlohmann::ordered_json anomaly_json(const Validation& validation) {
  ordered_json out = {{"errors", validation.has_errors()},
                      {"data_missing", validation.data_missing},
                      {"anomalies", ordered_json::array()},
                      {"measured", ordered_json::array()}};
  for (const FeatureAnomaly* anomaly : all_of(validation)) out["anomalies"].push_back(feature_json(*anomaly));
  const auto measure = [&](const FeaturePath& path, const char* with, const auto& measurements) {
    for (const auto& each : measurements)
      out["measured"].push_back({{"feature", path_text(path)},
                                 {"compared_with", with},
                                 {"type", tfmd::DriftSkewInfo::Measurement::Type_Name(each.type())},
                                 {"value", each.value()},
                                 {"threshold", each.threshold()}});
  };
  for (const tfmd::DriftSkewInfo& info : validation.measured) {
    const FeaturePath path(info.path().step().begin(), info.path().step().end());
    measure(path, "previous", info.drift_measurements());
    measure(path, "serving", info.skew_measurements());
  }
  return out;
}

}  // namespace espalier
