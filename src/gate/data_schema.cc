#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "espalier/validation.h"
#include "gate/anomaly_tables.h"
#include "gate/data_tables.h"
#include "validate/infer.h"
#include "validate/schema_edit.h"
#include "validate/statistics.h"
#include "validate/statistics_view.h"

namespace espalier {

struct DataStatistics::State {
  tfmd::DatasetFeatureStatisticsList list;
  const tfmd::DatasetFeatureStatistics& all() const { return all_examples(list); }
};

struct DataSchema::State {
  tfmd::Schema schema;
  // Of statistics that outlive them.
  static ValidateInputs inputs_of(const DataStatistics& statistics, const DataCheckOptions& options);
};

struct DataFindings::State {
  tfmd::Schema schema;
  Validation validation;
  std::string sentence;
};

namespace {

StatisticsOptions statistics_options(const DataStatisticsOptions& given) {
  return {.csv = given.csv,
          .empty = {.missing = given.missing, .present = given.empty_is_present},
          .weight = given.weight,
          .slice = given.slice,
          .semantic_domains = given.semantic_domains};
}

void write_message(const google::protobuf::Message& message, const std::string& path) {
  const MetadataForm form = metadata_form(path);
  posix_env().write_file(path, metadata_bytes(message, form));
}

bool is_exact(const FeatureView& view) {
  return std::ranges::none_of(
      std::initializer_list<const char*>{kQuantileRankError, kUniqueError, kTopValuesMissed},
      [&](const char* name) { return view.custom(name) && view.custom(name)->num() > 0; });
}

FeatureSummary summary_of(const FeatureView& view) {
  const tfmd::FeatureNameStatistics& feature = view.data();
  FeatureSummary out{.name = path_text(view.path()),
                     .type = tfmd::FeatureNameStatistics::Type_Name(feature.type()),
                     .exact = is_exact(view)};
  const auto take = [&](const tfmd::CommonStatistics& common) {
    out.count = static_cast<int64_t>(common.num_non_missing());
    out.missing = static_cast<int64_t>(common.num_missing());
  };
  if (feature.has_num_stats()) {
    const tfmd::NumericStatistics& numbers = feature.num_stats();
    take(numbers.common_stats());
    out.zeros = static_cast<int64_t>(numbers.num_zeros());
    if (numbers.common_stats().tot_num_values() == 0) return out;
    out.mean = numbers.mean();
    out.deviation = numbers.std_dev();
    out.min = numbers.min();
    out.median = numbers.median();
    out.max = numbers.max();
  } else if (feature.has_string_stats()) {
    const tfmd::StringStatistics& texts = feature.string_stats();
    take(texts.common_stats());
    out.unique = static_cast<int64_t>(texts.unique());
    for (const auto& each : texts.top_values()) out.top.emplace_back(each.value(), each.frequency());
  } else if (feature.has_bytes_stats()) {
    take(feature.bytes_stats().common_stats());
    out.unique = static_cast<int64_t>(feature.bytes_stats().unique());
  } else if (feature.has_struct_stats()) {
    take(feature.struct_stats().common_stats());
  }
  return out;
}

}  // namespace

DataStatistics DataStatistics::of_files(const std::vector<std::string>& paths,
                                        const DataStatisticsOptions& options, Location at) {
  const CallScope scope(at);
  if (paths.empty()) throw ValueError("stats.files", "there is no file to read");
  std::vector<TableFile> files;
  for (const std::string& path : paths) files.push_back({path, path});
  return DataStatistics(
      std::make_shared<State>(State{statistics_of_tables(files, statistics_options(options)).list()}));
}

DataStatistics DataStatistics::of_table(const CsvTable& table, const DataStatisticsOptions& options,
                                        Location at) {
  const CallScope scope(at);
  return DataStatistics(
      std::make_shared<State>(State{statistics_of_table(table, statistics_options(options)).list()}));
}

DataStatistics DataStatistics::load(const std::string& path, Location at) {
  const CallScope scope(at);
  auto state = std::make_shared<State>(State{read_metadata<tfmd::DatasetFeatureStatisticsList>(path)});
  if (state->list.datasets_size() == 0)
    throw FormatError("data.stats", cat(path, " holds statistics of no data"));
  const DatasetView check(state->all(), false);
  return DataStatistics(std::move(state));
}

int64_t DataStatistics::rows() const { return static_cast<int64_t>(state_->all().num_examples()); }

std::vector<FeatureSummary> DataStatistics::features() const {
  std::vector<FeatureSummary> out;
  const DatasetView all(state_->all(), false);
  for (const FeatureView& view : all.features()) out.push_back(summary_of(view));
  return out;
}

std::string DataStatistics::text() const { return statistics_tables(state_->list, Terminal{}); }

void DataStatistics::save(const std::string& path, Location at) const {
  const CallScope scope(at);
  write_message(state_->list, path);
}

DataSchema DataSchema::infer(const DataStatistics& statistics, const InferenceOptions& options, Location at) {
  const CallScope scope(at);
  if (statistics.rows() == 0) throw ValueError("data.rows", "no row, and so nothing to infer from");
  return DataSchema(std::make_shared<State>(State{infer_schema(
      statistics.state_->list, {.most_values = options.most_values, .shapes = options.shapes})}));
}

DataSchema DataSchema::load(const std::string& path, Location at) {
  const CallScope scope(at);
  return DataSchema(std::make_shared<State>(State{read_metadata<tfmd::Schema>(path)}));
}

DataSchema DataSchema::parse(const std::string& content, Location at) {
  const CallScope scope(at);
  auto state = std::make_shared<State>();
  parse_metadata(content, state->schema);
  return DataSchema(std::move(state));
}

DataSchema DataSchema::edited(const SchemaChanges& changes, Location at) const {
  const CallScope scope(at);
  const SchemaEdits edits{.set = changes.set,
                          .allow = changes.allow,
                          .in = changes.in,
                          .not_in = changes.not_in,
                          .environments = changes.environments,
                          .rules = changes.rules,
                          .warning_rules = changes.warning_rules,
                          .dropped_rules = changes.dropped_rules};
  return DataSchema(std::make_shared<State>(State{edited_schema(state_->schema, edits)}));
}

ValidateInputs DataSchema::State::inputs_of(const DataStatistics& statistics,
                                            const DataCheckOptions& options) {
  ValidateInputs out;
  const auto all = [](const std::optional<DataStatistics>& given) {
    return given ? &given->state_->all() : nullptr;
  };
  out.statistics = &statistics.state_->all();
  out.previous = all(options.previous);
  out.serving = all(options.serving);
  out.previous_version = all(options.previous_version);
  if (!options.environment.empty()) out.environment = options.environment;
  for (const std::string& word : options.warnings)
    out.severities[anomaly_type(word)] = tfmd::AnomalyInfo::WARNING;
  return out;
}

DataFindings DataSchema::check(const DataStatistics& statistics, const DataCheckOptions& options,
                               Location at) const {
  const CallScope scope(at);
  const ValidateInputs inputs = State::inputs_of(statistics, options);
  Validation found = validate(state_->schema, inputs);
  std::string sentence = anomaly_sentence(found, inputs);
  return DataFindings(std::make_shared<DataFindings::State>(
      DataFindings::State{state_->schema, std::move(found), std::move(sentence)}));
}

DataSchema DataSchema::fixed(const DataStatistics& statistics, const DataCheckOptions& options,
                             const std::string& reason, Location at) const {
  const CallScope scope(at);
  const ValidateInputs inputs = State::inputs_of(statistics, options);
  const Validation found = validate(state_->schema, inputs);
  std::set<FeaturePath> features;
  for (const FeatureAnomaly& anomaly : found.features) features.insert(anomaly.path);
  return DataSchema(std::make_shared<State>(
      State{fixed_schema(state_->schema, inputs, features, found.dataset.has_value(), reason)}));
}

std::string DataSchema::text() const { return schema_table(state_->schema, Terminal{}); }
std::string DataSchema::proto_text() const { return metadata_bytes(state_->schema, MetadataForm::kText); }

void DataSchema::save(const std::string& path, Location at) const {
  const CallScope scope(at);
  write_message(state_->schema, path);
}

bool DataFindings::has_errors() const {
  return state_->validation.data_missing || state_->validation.has_errors();
}

std::vector<DataAnomaly> DataFindings::anomalies() const {
  using Info = tfmd::AnomalyInfo;
  std::vector<DataAnomaly> out;
  const auto add = [&](const FeatureAnomaly& anomaly) {
    for (const AnomalyReason& reason : anomaly.reasons)
      out.push_back({path_text(anomaly.path), Info::Type_Name(reason.type), anomaly.severity == Info::ERROR,
                     reason.brief, reason.description, reason.observed, reason.limit});
  };
  if (state_->validation.dataset) add(*state_->validation.dataset);
  for (const FeatureAnomaly& anomaly : state_->validation.features) add(anomaly);
  return out;
}

std::string DataFindings::sentence() const { return state_->sentence; }
std::string DataFindings::text() const {
  return cat(state_->sentence, "\n", anomaly_table(state_->validation, Terminal{}));
}
std::string DataFindings::json() const {
  return anomaly_json(state_->validation).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

void DataFindings::save(const std::string& path, Location at) const {
  const CallScope scope(at);
  write_message(anomalies_of(state_->validation, state_->schema), path);
}

}  // namespace espalier
