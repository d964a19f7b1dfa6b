#include "gate/schema_faults.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/format.h"
#include "base/shortened.h"
#include "data/column_guess.h"
#include "validate/anomalies.h"
#include "validate/infer.h"
#include "validate/row_judgement.h"
#include "validate/schema_parts.h"
#include "validate/statistics.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;

tfmd::DatasetFeatureStatisticsList statistics(const CsvTable& table, const MissingWords& missing) {
  StatisticsOptions how;
  how.empty.missing = missing;
  return statistics_of_table(table, how).list();
}

bool of_comparator(const AnomalyReason& reason) {
  return Info::Type_Name(reason.type).starts_with("COMPARATOR_");
}

DataFault fault_of(const std::string& column, const AnomalyReason& reason, bool error) {
  std::string said = reason.brief;
  said[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(said[0])));
  if (said.ends_with('.')) said.pop_back();
  if (of_comparator(reason) && reason.type != Info::COMPARATOR_CONTROL_DATA_MISSING)
    said += cat(": ", reason.observed, ", ", reason.limit);
  return {FaultOf::kSchema, error, column, column.empty() ? said : cat("column \"", column, "\": ", said)};
}

class SchemaFaults {
 public:
  SchemaFaults(const CsvTable& train, const CsvTable& now, const DataFaultOptions& options,
               std::vector<NotJudged>& not_asked)
      : train_(train),
        now_(now),
        options_(options),
        schema_(options.schema ? without_dates(*options.schema) : infer_train_schema(train, options)),
        missing_(with_domains(options.missing, schema_)),
        not_asked_(not_asked) {}

  std::vector<DataFault> run() {
    anomalies();
    rules();
    return std::move(found_);
  }

 private:
  // Dates go on: the values that a schema lists of them, as `data schema` does, are not all there will be.
  tfmd::Schema without_dates(tfmd::Schema schema) const {
    for (tfmd::Feature& feature : *schema.mutable_feature()) {
      const auto place = std::ranges::find(train_.names(), feature.name());
      const bool texts = feature.has_domain() || feature.has_string_domain();
      if (!texts || place == train_.names().end()) continue;
      const ColumnProfile column = profile_column(train_, all_rows(train_), place - train_.names().begin(),
                                                  options_.missing.of(feature.name()));
      if (column.present() > 0 && date_style(feature.name(), column)) feature.clear_domain_info();
    }
    return schema;
  }

  void anomalies() {
    tfmd::Schema schema = schema_;
    if (schema.has_dataset_constraints()) {
      schema.mutable_dataset_constraints()->clear_num_examples_drift_comparator();
      schema.mutable_dataset_constraints()->clear_num_examples_version_comparator();
    }
    const auto any = [&](bool (tfmd::Feature::*has)() const) {
      return std::ranges::any_of(schema.feature(), has);
    };
    const bool skewed = any(&tfmd::Feature::has_skew_comparator);
    const auto after = statistics(now_, missing_);
    // Of the training rows only comparators ask.
    tfmd::DatasetFeatureStatisticsList train;
    if (skewed || any(&tfmd::Feature::has_drift_comparator)) train = statistics(train_, missing_);
    const auto* before = train.datasets_size() ? &train.datasets(0) : nullptr;
    const Validation drift = validate(
        schema, {.statistics = &after.datasets(0), .previous = before, .environment = options_.environment});
    if (drift.data_missing) {
      found_.push_back({.column = "", .text = "there are no rows"});
      return;
    }
    if (drift.dataset) add(*drift.dataset, "", [](const AnomalyReason&) { return true; });
    add_all(drift, [](const AnomalyReason&) { return true; });
    // Skew is of the training rows: of their other anomalies, which are not those of the new rows, nothing is
    // said.
    if (skewed)
      add_all(validate(schema, {.statistics = before, .serving = &after.datasets(0)}), of_comparator);
  }

  void add_all(const Validation& validation, auto&& said) {
    std::map<std::string, size_t> places;
    for (const CsvTable* table : {&train_, &now_}) {
      for (const std::string& name : table->names()) places.emplace(name, places.size());
    }
    std::vector<const FeatureAnomaly*> sorted;
    for (const FeatureAnomaly& anomaly : validation.features) sorted.push_back(&anomaly);
    std::ranges::stable_sort(sorted, {}, [&](const FeatureAnomaly* anomaly) {
      const auto found = places.find(path_text(anomaly->path));
      return found == places.end() ? places.size() : found->second;
    });
    for (const FeatureAnomaly* anomaly : sorted) add(*anomaly, path_text(anomaly->path), said);
  }

  void add(const FeatureAnomaly& anomaly, const std::string& column, auto&& said) {
    if (options_.ignored.contains(column)) return;
    for (const AnomalyReason& reason : anomaly.reasons) {
      if (said(reason)) found_.push_back(fault_of(column, reason, anomaly.severity == Info::ERROR));
    }
  }

  void rules() {
    if (tags_of(schema_).rules.empty()) return;
    const RowValidator validator = rules_alone(schema_, now_.names(), missing_);
    for (const RuleCount& each : count_rules(validator, now_)) {
      if (each.broken)
        add(each.rule,
            cat(each.broken, " of ", now_.rows(), each.broken == 1 ? " rows breaks " : " rows break "), "");
      if (each.undecided())
        not_asked_.push_back({.of = FaultOf::kSchema,
                              .what = {.column = "", .why = undecided_text(each)},
                              .undecided = !each.rule.warning,
                              .of_rule = true});
    }
    for (const SchemaRule& rule : validator.rules_left_out())
      add(rule, "", " cannot be asked: a column is not there");
  }
  void add(const SchemaRule& rule, const std::string& before, const char* after) {
    found_.push_back({FaultOf::kSchema, !rule.warning, "",
                      cat(before, "the rule \"", shortened(rule.condition.text()), "\"", after)});
  }

  const CsvTable& train_;
  const CsvTable& now_;
  const DataFaultOptions& options_;
  const tfmd::Schema schema_;
  const MissingWords missing_;
  std::vector<NotJudged>& not_asked_;
  std::vector<DataFault> found_;
};

}  // namespace

// Dates go on: those of new rows are no values of a domain.
tfmd::Schema infer_train_schema(const CsvTable& train, const DataFaultOptions& options) {
  const std::vector<int64_t> rows = all_rows(train);
  const MissingWords& missing = options.missing;
  tfmd::Schema out = infer_schema(statistics(train, options.missing), {.shapes = false});
  for (tfmd::Feature& feature : *out.mutable_feature()) {
    const ColumnProfile column = profile_column(train, rows, train.column(feature.name()), missing);
    // Of one number nobody knows whether it is a truth.
    if (date_style(feature.name(), column) || (feature.has_bool_domain() && column.different() < 2))
      feature.clear_domain_info();
  }
  return out;
}

std::vector<DataFault> find_schema_faults(const CsvTable& train, const CsvTable& now,
                                          const DataFaultOptions& options,
                                          std::vector<NotJudged>& not_asked) {
  return SchemaFaults(train, now, options, not_asked).run();
}

}  // namespace espalier
