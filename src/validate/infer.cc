#include "validate/infer.h"

#include <algorithm>
#include <array>

#include "espalier/error.h"
#include "validate/message_text.h"
#include "validate/schema_parts.h"
#include "validate/text_values.h"

namespace espalier {
namespace {

using Statistics = tfmd::FeatureNameStatistics;
using Counts = std::map<std::string, double>;

void infer_shape(const FeatureView& view, tfmd::Feature& feature) {
  if (view.type() == Statistics::STRUCT) return;
  const std::vector<double> missing = view.missing_by_level();
  if (std::ranges::any_of(missing, [](double count) { return count != 0; })) return;
  tfmd::FixedShape shape;
  for (const FeatureView::Valency& level : view.valencies()) {
    if (level.least != level.most || level.least <= 0) return;
    shape.add_dim()->set_size(level.least);
  }
  *feature.mutable_shape() = shape;
}

void infer_presence(const FeatureView& view, tfmd::Feature& feature) {
  feature.mutable_presence()->set_min_count(view.present() < 1 ? 0 : 1);
  if (view.present() > 0 && view.missing() == 0) feature.mutable_presence()->set_min_fraction(1);
}

constexpr std::array kTrue = {"TRUE", "true", "SET", "set", "1", ""};
constexpr std::array kFalse = {"FALSE", "false", "CLEAR", "clear", "0"};

// One text that says true, one that says false, or either.
bool infer_bool_of_texts(const Counts& counts, tfmd::Feature& feature) {
  if (counts.empty() || counts.size() > 2) return false;
  tfmd::BoolDomain domain;
  for (const auto& [text, count] : counts) {
    if (!domain.has_true_value() && std::ranges::find(kTrue, text) != kTrue.end())
      domain.set_true_value(text);
    else if (!domain.has_false_value() && std::ranges::find(kFalse, text) != kFalse.end())
      domain.set_false_value(text);
    else
      return false;
  }
  *feature.mutable_bool_domain() = domain;
  return true;
}

bool infer_whole_numbers(const Counts& counts, tfmd::Feature& feature) {
  const auto whole = [](const auto& each) { return whole_number(each.first).has_value(); };
  if (counts.empty() || !std::ranges::all_of(counts, whole)) return false;
  feature.mutable_int_domain();
  return true;
}

void infer_domain(const FeatureView& view, const InferOptions& options, tfmd::Feature& feature,
                  tfmd::Schema& schema) {
  if (view.type() == Statistics::INT && view.numbers().min() >= 0 && view.numbers().max() == 1)
    feature.mutable_bool_domain();
  if (view.type() != Statistics::STRING || view.has_broken_text()) return;
  const Counts counts = view.counts();
  if (infer_bool_of_texts(counts, feature) || infer_whole_numbers(counts, feature)) return;
  if (counts.empty() || static_cast<int64_t>(counts.size()) > options.most_values) return;
  tfmd::StringDomain& domain = add_string_domain(schema, path_text(view.path()));
  for (const auto& [text, count] : counts) domain.add_value(text);
  feature.set_domain(domain.name());
}

}  // namespace

void infer_valency(const FeatureView& view, tfmd::Feature& feature) {
  const auto fill = [](const FeatureView::Valency& level, tfmd::ValueCount& count) {
    if (level.least <= 0) return;
    count.set_min(level.least == level.most ? level.least : 1);
    if (level.least == level.most) count.set_max(level.most);
  };
  const std::vector<FeatureView::Valency> levels = view.valencies();
  if (levels.size() > 1) {
    for (const auto& level : levels) fill(level, *feature.mutable_value_counts()->add_value_count());
  } else if (levels[0].least > 0) {
    fill(levels[0], *feature.mutable_value_count());
  }
}

bool take_named_domain(const FeatureView& view, tfmd::Feature& feature) {
  const auto& all = view.data().custom_stats();
  const auto named = [](const tfmd::CustomStatistic& each) { return each.name() == "domain_info"; };
  const tfmd::CustomStatistic* domain = view.custom("domain_info");
  if (!domain || std::ranges::count_if(all, named) != 1 ||
      feature.domain_info_case() != tfmd::Feature::DOMAIN_INFO_NOT_SET)
    return false;
  tfmd::Feature parsed;
  try {
    parse_message_text(domain->str(), parsed);
  } catch (const FormatError&) {
    return false;
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  parsed.GetReflection()->ListFields(parsed, &fields);
  if (fields.size() != 1 || parsed.domain_info_case() == tfmd::Feature::DOMAIN_INFO_NOT_SET) return false;
  feature.MergeFrom(parsed);
  return true;
}

void mark_derived(const FeatureView& view, tfmd::Feature& feature) {
  feature.set_lifecycle_stage(tfmd::VALIDATION_DERIVED);
  *feature.mutable_validation_derived_source() = view.data().validation_derived_source();
}

void infer_feature(const FeatureView& view, const InferOptions& options, tfmd::Schema& schema) {
  tfmd::Feature& feature = add_feature(schema, view.path());
  feature.set_type(view.schema_type());
  infer_presence(view, feature);
  if (view.present() > 0) {
    if (options.shapes) infer_shape(view, feature);
    if (!feature.has_shape()) infer_valency(view, feature);
  }
  if (view.data().has_validation_derived_source()) mark_derived(view, feature);
  if (!take_named_domain(view, feature)) infer_domain(view, options, feature, schema);
}

void infer_features(const DatasetView& data, const FeatureView& view, const InferOptions& options,
                    tfmd::Schema& schema) {
  // Features made of others have statistics of their own kind only.
  if (view.data().stats_case() == Statistics::STATS_NOT_SET) return;
  infer_feature(view, options, schema);
  for (const FeatureView* child : data.children(view.path())) infer_features(data, *child, options, schema);
}

tfmd::Schema infer_schema(const tfmd::DatasetFeatureStatisticsList& list, const InferOptions& options) {
  const tfmd::DatasetFeatureStatistics& statistics = all_examples(list);
  const DatasetView data(statistics, has_weights(statistics));
  tfmd::Schema schema;
  for (const FeatureView* root : data.roots()) infer_features(data, *root, options, schema);
  return schema;
}

}  // namespace espalier
