#include "validate/schema_tags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "format/csv_writer.h"
#include "format/decimal.h"

namespace espalier {
namespace {

constexpr std::string_view kPrefix = "espalier.";
constexpr std::string_view kPolicy = "policy", kDefault = "default", kRule = "rule", kWarning = "warning",
                           kRole = "role", kScale = "scale", kTagBuckets = "buckets",
                           kSensitive = "sensitive", kMonk = "monk", kMonkGroups = "monk3";

struct TextKey {
  std::string_view name;
  std::string FeatureTags::*text;
};
constexpr std::array kTextKeys = {TextKey{"unit", &FeatureTags::unit},
                                  TextKey{"favourable", &FeatureTags::favourable}};

struct LimitKey {
  std::string_view name;
  NumberLimits FeatureTags::*limits;
  std::optional<double> NumberLimits::*end;
};
constexpr std::array kLimitKeys = {
    LimitKey{"min_mean", &FeatureTags::mean, &NumberLimits::least},
    LimitKey{"max_mean", &FeatureTags::mean, &NumberLimits::most},
    LimitKey{"min_deviation", &FeatureTags::deviation, &NumberLimits::least},
    LimitKey{"max_deviation", &FeatureTags::deviation, &NumberLimits::most},
    LimitKey{"min_zeros", &FeatureTags::zeros, &NumberLimits::least},
    LimitKey{"max_zeros", &FeatureTags::zeros, &NumberLimits::most},
};

std::vector<std::string> names_of_tags(bool of_feature) {
  if (!of_feature) return {std::string(kPolicy), std::string(kRule), std::string(kWarning)};
  std::vector<std::string> out;
  for (const std::string_view key : {kPolicy, kDefault, kRole, kScale, kTagBuckets}) out.emplace_back(key);
  for (const TextKey& each : kTextKeys) out.emplace_back(each.name);
  for (const LimitKey& each : kLimitKeys) out.emplace_back(each.name);
  return out;
}

// Lines of a table stay lines, whatever stands in a cell.
bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

// Whether these are edges in ascending order, or a scale's groups.
bool are_buckets(std::string_view text) {
  if (text == kMonk || text == kMonkGroups) return true;
  std::optional<double> last;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<double> edge = parse_decimal(text.substr(begin, end - begin));
    if (!edge || (last && !(*edge > *last))) return false;
    last = edge;
    begin = end + 1;
  }
  return true;
}

// Into what a feature's tags say; false where the value is none.
bool take(FeatureTags& tags, std::string_view key, const std::string& value) {
  if (key == kPolicy) {
    const auto found = std::ranges::find(kRowPolicies, value);
    if (found == std::end(kRowPolicies)) return false;
    tags.policy = static_cast<RowPolicy>(found - std::begin(kRowPolicies));
    return true;
  }
  if (key == kDefault) {
    tags.value = value;
    return !value.empty() && is_one_line(value);
  }
  if (key == kRole) return tags.sensitive = value == kSensitive;
  if (key == kScale) return tags.monk = value == kMonk;
  if (key == kTagBuckets) {
    tags.buckets = value;
    return are_buckets(value);
  }
  const auto text = std::ranges::find(kTextKeys, key, &TextKey::name);
  if (text != kTextKeys.end()) {
    tags.*(text->text) = value;
    return !value.empty() && is_one_line(value);
  }
  const auto limit = std::ranges::find(kLimitKeys, key, &LimitKey::name);
  if (limit == kLimitKeys.end()) return false;
  const std::optional<double> number = parse_decimal(value);
  tags.*(limit->limits).*(limit->end) = number;
  return number.has_value();
}

std::string allowed(std::string_view key) {
  if (key == kPolicy) return "refuse, default or quarantine";
  if (key == kRole) return std::string(kSensitive);
  if (key == kScale) return std::string(kMonk);
  if (key == kTagBuckets) return "edges in ascending order, as 18,25,45, or monk or monk3";
  const bool text = key == kDefault || std::ranges::count(kTextKeys, key, &TextKey::name);
  return text ? "text of one line" : "a finite number";
}

// Calls f(key, value) with each tag of ours, in their order; `of` names their owner.
template <class F>
void for_tags(const tfmd::Annotation& annotation, bool of_feature, const std::string& of, F f) {
  const std::vector<std::string> known = names_of_tags(of_feature);
  std::map<std::string, int> times;
  for (const std::string& tag : annotation.tag()) {
    if (!tag.starts_with(kPrefix)) continue;
    const size_t equals = std::min(tag.find('='), tag.size());
    const std::string key = tag.substr(kPrefix.size(), equals - std::min(equals, kPrefix.size()));
    const std::string value = tag.substr(std::min(equals + 1, tag.size()));
    const auto fail = [&](const std::string& message) {
      throw FormatError("schema.tag", cat(of, ": tag \"", shortened(tag), "\" ", message));
    };
    if (std::ranges::find(known, key) == known.end()) {
      std::string all;
      for (const std::string& name : known) all += cat(all.empty() ? "" : ", ", kPrefix, name);
      fail(cat("has no meaning; known are ", all));
    }
    if (++times[key] > 1 && (of_feature || key == kPolicy)) fail("is there a second time");
    if (!f(key, value)) fail(cat("takes ", allowed(key)));
  }
}

template <class Message>
void put(Message& message, const std::string& key, const std::string& value) {
  auto& tags = *message.mutable_annotation()->mutable_tag();
  const std::string start = cat(kPrefix, key, "=");
  tags.erase(std::remove_if(tags.begin(), tags.end(),
                            [&](const std::string& tag) { return tag.starts_with(start); }),
             tags.end());
  if (!value.empty()) *tags.Add() = start + value;
}

[[noreturn]] void throw_value(const std::string& of, const std::string& key, const std::string& value) {
  throw ValueError("schema_edit.value",
                   cat(of, ".", key, " is ", allowed(key), ", got \"", shortened(value), "\""));
}

std::string tag_name(const tfmd::Feature& feature) {
  return cat("feature \"", shortened(feature.name()), "\"");
}

}  // namespace

FeatureTags tags_of(const tfmd::Feature& feature) {
  FeatureTags out;
  for_tags(feature.annotation(), true, tag_name(feature),
           [&](const std::string& key, const std::string& value) { return take(out, key, value); });
  return out;
}

SchemaTags tags_of(const tfmd::Schema& schema) {
  SchemaTags out;
  for_tags(schema.annotation(), false, "the schema", [&](const std::string& key, const std::string& value) {
    if (key != kPolicy) {
      out.rules.push_back({Expression(value), key == kWarning});
      return true;
    }
    FeatureTags tags;
    const bool good = take(tags, key, value);
    out.policy = tags.policy;
    return good;
  });
  return out;
}

ColumnTypes column_types(const tfmd::Schema& schema) {
  std::unordered_map<std::string, ColumnType> types;
  for (const tfmd::Feature& feature : schema.feature()) {
    const bool number = feature.type() == tfmd::INT || feature.type() == tfmd::FLOAT ||
                        feature.has_int_domain() || feature.has_float_domain();
    if (feature.has_type() || number)
      types.emplace(feature.name(), number ? ColumnType::kNumber : ColumnType::kText);
  }
  return [types](const std::string& name) {
    const auto found = types.find(name);
    return found == types.end() ? ColumnType::kByCells : found->second;
  };
}

void check_rule(const tfmd::Schema& schema, const Expression& condition) {
  CsvWriter names;
  for (const tfmd::Feature& feature : schema.feature()) {
    if (feature.type() != tfmd::STRUCT) names.cell(feature.name());
  }
  names.end_row();
  const CsvTable none = parse_csv(names.text(), {.delimiter = ',', .header = CsvHeader::kYes});
  truths(
      condition, none, [](std::string_view cell, const std::string&) { return cell.empty(); },
      column_types(schema));
}

const std::vector<std::string>& feature_tags() {
  static const std::vector<std::string> keys = names_of_tags(true);
  return keys;
}

void set_tag(tfmd::Feature& feature, const std::string& key, const std::string& value) {
  FeatureTags tags;
  if (!value.empty() && !take(tags, key, value)) throw_value(feature.name(), key, value);
  put(feature, key, value);
}
void set_tag(tfmd::Schema& schema, const std::string& key, const std::string& value) {
  FeatureTags tags;
  if (!value.empty() && !take(tags, key, value)) throw_value("dataset", key, value);
  put(schema, key, value);
}

void add_rule(tfmd::Schema& schema, const std::string& condition, bool warning) {
  const Expression parsed(condition);
  check_rule(schema, parsed);
  auto& tags = *schema.mutable_annotation()->mutable_tag();
  const std::string text = parsed.canonical();
  const std::array starts = {cat(kPrefix, kRule, "="), cat(kPrefix, kWarning, "=")};
  tags.erase(std::remove_if(
                 tags.begin(), tags.end(),
                 [&](const std::string& tag) { return tag == starts[0] + text || tag == starts[1] + text; }),
             tags.end());
  *tags.Add() = starts[warning] + text;
}

void drop_rule(tfmd::Schema& schema, const std::string& condition) {
  const std::string text = Expression(condition).canonical();
  auto& tags = *schema.mutable_annotation()->mutable_tag();
  std::vector<std::string> known;
  bool found = false;
  for (auto tag = tags.begin(); tag != tags.end();) {
    const bool rule =
        tag->starts_with(cat(kPrefix, kRule, "=")) || tag->starts_with(cat(kPrefix, kWarning, "="));
    const std::string its = rule ? tag->substr(tag->find('=') + 1) : "";
    if (rule) known.push_back(its);
    const bool same = rule && Expression(its).canonical() == text;
    found = found || same;
    tag = same ? tags.erase(tag) : tag + 1;
  }
  if (!found) throw_unknown("schema_edit.rule", "rule", text, known);
}

}  // namespace espalier
