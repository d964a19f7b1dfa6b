#include "validate/row_validator.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "validate/anomaly_reason.h"
#include "validate/schema_parts.h"
#include "validate/statistics_cells.h"
#include "validate/text_values.h"

namespace espalier {
namespace {

using Kind = RowFeature::Kind;

std::string quoted(const tfmd::Feature& feature) {
  return cat("feature \"", shortened(feature.name()), "\"");
}

// A cell holds one value.
void check_one_value(const tfmd::Feature& feature) {
  int64_t values = 1;
  for (const tfmd::FixedShape::Dim& dim : feature.shape().dim())
    __builtin_mul_overflow(values, dim.size(), &values);
  const tfmd::ValueCount& count = feature.value_count();
  const bool many = values != 1 || count.min() > 1 || (count.has_max() && count.max() < 1) ||
                    feature.value_counts().value_count_size() > 1;
  if (feature.type() == tfmd::STRUCT || many)
    throw ValueError("rows.feature",
                     cat(quoted(feature), feature.type() == tfmd::STRUCT ? " holds features" : " has other",
                         feature.type() == tfmd::STRUCT ? "" : " than one value a row",
                         ", and a cell of a table holds one value"));
}

// What is read of a column of this type: a domain that does not fit it says nothing.
Kind kind_of(const tfmd::Feature& feature) {
  if (feature.type() == tfmd::INT) return Kind::kWhole;
  if (feature.type() == tfmd::FLOAT) return Kind::kReal;
  if (feature.has_int_domain()) return Kind::kWholeText;
  if (feature.has_float_domain()) return Kind::kRealText;
  const bool open = feature.distribution_constraints().has_min_domain_mass() &&
                    feature.distribution_constraints().min_domain_mass() < 1;
  const bool listed = feature.has_domain() || feature.has_string_domain() || feature.has_bool_domain();
  return listed && !open ? Kind::kTexts : Kind::kAny;
}

void take_texts(const tfmd::Schema& schema, const tfmd::Feature& feature, RowFeature& out) {
  if (feature.has_bool_domain()) {
    const tfmd::BoolDomain& domain = feature.bool_domain();
    if (domain.has_true_value()) out.texts.insert(domain.true_value());
    if (domain.has_false_value()) out.texts.insert(domain.false_value());
    return;
  }
  const tfmd::StringDomain* const domain = string_domain_of(schema, feature);
  if (!domain)
    throw FormatError("rows.domain", cat(quoted(feature), " has the domain \"", shortened(feature.domain()),
                                         "\", and the schema has none of this name"));
  out.texts.insert(domain->value().begin(), domain->value().end());
}

void take_limits(const tfmd::Feature& feature, RowFeature& out) {
  const bool whole = out.kind == Kind::kWhole || out.kind == Kind::kWholeText;
  out.bools = feature.has_bool_domain();
  if (whole && feature.has_int_domain()) {
    if (feature.int_domain().has_min()) out.least_whole = feature.int_domain().min();
    if (feature.int_domain().has_max()) out.most_whole = feature.int_domain().max();
  } else if (!whole && feature.has_float_domain()) {
    const tfmd::FloatDomain& domain = feature.float_domain();
    if (domain.has_min()) out.least = domain.min();
    if (domain.has_max()) out.most = domain.max();
    out.allow_nan = !domain.disallow_nan();
    out.allow_inf = !domain.disallow_inf();
  }
}

template <class Number>
std::optional<RowRule> outside(Number value, Number least, Number most) {
  if (value < least) return RowRule::kBelow;
  if (value > most) return RowRule::kAbove;
  return std::nullopt;
}

std::optional<RowRule> fault_of_whole(const RowFeature& feature, std::optional<int64_t> value) {
  if (!value) return RowRule::kWhole;
  if (feature.bools && *value != 0 && *value != 1) return RowRule::kCategory;
  return outside(*value, feature.least_whole, feature.most_whole);
}

std::optional<RowRule> fault_of_real(const RowFeature& feature, std::optional<double> value) {
  if (!value) return RowRule::kNumber;
  if (feature.bools && *value != 0 && *value != 1) return RowRule::kCategory;
  if (std::isnan(*value)) return feature.allow_nan ? std::nullopt : std::optional(RowRule::kNan);
  if (std::isinf(*value) && !feature.allow_inf) return RowRule::kInfinite;
  return outside(static_cast<float>(*value), feature.least, feature.most);
}

[[noreturn]] void throw_absent(const std::string& name, const std::vector<std::string>& columns) {
  const std::vector<std::string> near = nearest(name, columns);
  throw ValueError("rows.column",
                   cat("the schema asks for column \"", shortened(name), "\", and the table has none"),
                   near.empty() ? "" : cat("is it \"", shortened(near[0]), "\" here?"));
}

}  // namespace

std::string RowFeature::text_of(RowRule rule) const {
  const bool whole = kind == Kind::kWhole || kind == Kind::kWholeText;
  switch (rule) {
    case RowRule::kMissing:
      return "missing";
    case RowRule::kWhole:
      return "no whole number";
    case RowRule::kNumber:
      return "no number";
    case RowRule::kNan:
      return "nan";
    case RowRule::kInfinite:
      return "infinite";
    case RowRule::kBelow:
      return cat("below ", whole ? cat(least_whole) : six_digits(least));
    case RowRule::kAbove:
      return cat("above ", whole ? cat(most_whole) : six_digits(most));
    case RowRule::kCategory:
      if (bools) return "neither 0 nor 1";
      return cat("none of the ", texts.size(), " values of its domain");
  }
  return "";
}

RowValidator::RowValidator(const tfmd::Schema& schema, const std::vector<std::string>& columns,
                           const RowOptions& options)
    : missing_(with_domains(options.missing, schema)), types_(column_types(schema)) {
  require_environment(schema, options.environment);
  const SchemaTags tags = tags_of(schema);
  const RowPolicy policy = tags.policy.value_or(options.policy);
  rule_policy_ = policy == RowPolicy::kDefault ? RowPolicy::kRefuse : policy;
  const auto has = [](const auto& all, const std::string& word) {
    return std::ranges::find(all, word) != all.end();
  };
  std::unordered_set<std::string> known;
  for (const tfmd::Feature& feature : schema.feature()) {
    if (!known.insert(feature.name()).second)
      throw FormatError("rows.twice", cat(quoted(feature), " is there a second time"));
    if (is_deprecated(feature) || !is_in_environment(schema, feature, options.environment) ||
        has(options.passed_over, feature.name()))
      continue;
    const tfmd::FeaturePresence& presence = feature.presence();
    const auto found = std::ranges::find(columns, feature.name());
    if (found == columns.end()) {
      const bool expected = presence.min_count() > 0 || presence.min_fraction() > 0;
      if (expected) throw_absent(feature.name(), columns);
      continue;
    }
    check_one_value(feature);
    const FeatureTags its = tags_of(feature);
    RowFeature& out = features_.emplace_back();
    out.name = feature.name();
    out.column = static_cast<size_t>(found - columns.begin());
    out.required = presence.min_fraction() >= 1 || feature.has_shape();
    out.kind = kind_of(feature);
    out.policy = its.policy.value_or(policy);
    out.value = its.value.value_or("");
    if (out.kind == Kind::kTexts)
      take_texts(schema, feature, out);
    else
      take_limits(feature, out);
    const std::optional<RowRule> bad = fault_of(out, out.value);
    if (!bad || out.policy != RowPolicy::kDefault) continue;
    out.policy = RowPolicy::kRefuse;
    if (its.policy || its.value)
      throw ValueError(
          "rows.default",
          cat(quoted(feature), ": its default ",
              out.value.empty() ? "is not set, and a cell that is missing is not as the schema says"
                                : cat("\"", shortened(out.value), "\" is ", out.text_of(*bad))),
          cat("--set ", shell_words({cat(name_in_list(feature.name()), ".default=VALUE")})));
  }
  for (const std::string& column : columns) {
    if (!known.contains(column)) new_columns_.push_back(column);
  }
  for (const SchemaRule& rule : tags.rules) {
    const bool whole = std::ranges::all_of(rule.condition.columns(),
                                           [&](const std::string& column) { return has(columns, column); });
    (whole ? rules_ : left_out_).push_back(rule);
  }
}

std::optional<RowRule> RowValidator::fault_of(const RowFeature& feature, std::string_view cell) const {
  if (feature.kind == Kind::kTexts && feature.texts.contains(cell)) return std::nullopt;
  if (missing_.contains(cell)) return feature.required ? std::optional(RowRule::kMissing) : std::nullopt;
  switch (feature.kind) {
    case Kind::kAny:
      return std::nullopt;
    case Kind::kTexts:
      return RowRule::kCategory;
    case Kind::kWhole:
      return fault_of_whole(feature, whole_cell(cell));
    case Kind::kWholeText:
      return fault_of_whole(feature, whole_number(cell));
    case Kind::kReal:
      return fault_of_real(feature, real_cell(cell));
    case Kind::kRealText:
      return fault_of_real(feature, real_number(cell));
  }
  return std::nullopt;
}

void RowValidator::check(std::span<const std::string_view> cells, std::vector<CellFault>& out) const {
  for (uint32_t i = 0; i < features_.size(); ++i) {
    if (const auto rule = fault_of(features_[i], cells[features_[i].column])) out.push_back({i, *rule});
  }
}

}  // namespace espalier
