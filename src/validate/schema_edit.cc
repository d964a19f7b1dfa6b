#include "validate/schema_edit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "validate/schema_parts.h"
#include "validate/schema_tags.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;

struct ShortName {
  std::string_view name;
  const char* field;
};
constexpr std::array kShortNames = {
    ShortName{"min_count", "presence.min_count"},
    ShortName{"min_fraction", "presence.min_fraction"},
    ShortName{"min_domain_mass", "distribution_constraints.min_domain_mass"},
    ShortName{"least_values", "value_count.min"},
    ShortName{"most_values", "value_count.max"},
    ShortName{"least_unique", "unique_constraints.min"},
    ShortName{"most_unique", "unique_constraints.max"},
    ShortName{"drift", "drift_comparator.infinity_norm.threshold"},
    ShortName{"drift_jensen_shannon", "drift_comparator.jensen_shannon_divergence.threshold"},
    ShortName{"drift_difference", "drift_comparator.normalized_abs_difference.threshold"},
    ShortName{"skew", "skew_comparator.infinity_norm.threshold"},
    ShortName{"skew_jensen_shannon", "skew_comparator.jensen_shannon_divergence.threshold"},
    ShortName{"skew_difference", "skew_comparator.normalized_abs_difference.threshold"},
    ShortName{"lifecycle", "lifecycle_stage"},
};

// "min", "max", "disallow_nan" are fields of the domain of the feature's numbers.
std::string domain_field(const tfmd::Feature& feature, const std::string& field) {
  const bool real = feature.type() == tfmd::FLOAT || feature.has_float_domain();
  const bool whole = feature.type() == tfmd::INT || feature.has_int_domain();
  if (field != "min" && field != "max") return cat("float_domain.", field);
  if (real || whole) return cat(real ? "float_domain." : "int_domain.", field);
  throw ValueError("schema_edit.domain",
                   cat("feature \"", shortened(feature.name()), "\" is of type ",
                       tfmd::FeatureType_Name(feature.type()), ", which has no ", field),
                   cat("say which: int_domain.", field, " or float_domain.", field));
}

std::string full_name(const pb::Message& message, const std::string& field) {
  for (const ShortName& known : kShortNames) {
    if (known.name == field) return known.field;
  }
  const auto* feature = dynamic_cast<const tfmd::Feature*>(&message);
  const bool of_domain =
      field == "min" || field == "max" || field == "disallow_nan" || field == "disallow_inf";
  return feature && of_domain ? domain_field(*feature, field) : field;
}

template <class Number>
Number number_of(const std::string& text, const std::string& what) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw ValueError("schema_edit.value", cat(what, " takes a ", std::is_integral_v<Number> ? "whole " : "",
                                              "number, got \"", shortened(text), "\""));
  return value;
}

// Fields of numbers that cannot be any; what is beyond would switch a check off, or never hold.
constexpr std::string_view kShares[] = {"min_fraction",
                                        "min_domain_mass",
                                        "min_coverage",
                                        "minimum_supported_image_fraction",
                                        "min_fraction_of_sequences",
                                        "max_fraction_of_sequences"};
constexpr std::string_view kFromZero[] = {
    "threshold",          "min_fraction_threshold", "max_fraction_threshold",
    "min_examples_count", "max_examples_count",     "min_count"};

template <class Number>
Number limit_of(const pb::FieldDescriptor& field, const std::string& text, const std::string& what) {
  const Number value = number_of<Number>(text, what);
  const bool share = std::ranges::count(kShares, field.name()) > 0;
  const bool from_zero = share || std::ranges::count(kFromZero, field.name()) > 0;
  const auto number = static_cast<double>(value);
  if (!std::isfinite(number) || (from_zero && number < 0) || (share && number > 1))
    throw ValueError("schema_edit.value", cat(what, " is ",
                                              share       ? "a number from 0 to 1"
                                              : from_zero ? "a number from 0 on"
                                                          : "a finite number",
                                              ", got \"", shortened(text), "\""));
  return value;
}

bool bool_of(const std::string& text, const std::string& what) {
  if (text == "true" || text == "false") return text == "true";
  throw ValueError("schema_edit.value", cat(what, " is true or false, got \"", shortened(text), "\""));
}

const pb::EnumValueDescriptor* enum_of(const pb::FieldDescriptor& field, const std::string& text,
                                       const std::string& what) {
  std::vector<std::string> known;
  for (int i = 0; i < field.enum_type()->value_count(); ++i)
    known.push_back(field.enum_type()->value(i)->name());
  const pb::EnumValueDescriptor* value = field.enum_type()->FindValueByName(text);
  if (!value) throw_unknown("schema_edit.value", what, text, known);
  return value;
}

// To the value, or one more of them where the field has several.
void set_value(pb::Message& message, const pb::FieldDescriptor& field, const std::string& text,
               const std::string& what) {
  const pb::Reflection& to = *message.GetReflection();
  const bool list = field.is_repeated();
  const auto put = [&](auto set, auto add, auto value) {
    list ? (to.*add)(&message, &field, value) : (to.*set)(&message, &field, value);
  };
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return put(&pb::Reflection::SetInt64, &pb::Reflection::AddInt64, limit_of<int64_t>(field, text, what));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&pb::Reflection::SetDouble, &pb::Reflection::AddDouble, limit_of<double>(field, text, what));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return put(&pb::Reflection::SetFloat, &pb::Reflection::AddFloat, limit_of<float>(field, text, what));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return put(&pb::Reflection::SetBool, &pb::Reflection::AddBool, bool_of(text, what));
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return put(&pb::Reflection::SetString, &pb::Reflection::AddString, text);
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value = enum_of(field, text, what);
      return list ? to.AddEnum(&message, &field, value) : to.SetEnum(&message, &field, value);
    }
    default:
      throw ValueError("schema_edit.field", cat(what, " holds fields of its own, it takes no value"));
  }
}

// `path` is "presence.min_fraction".
void set_field(pb::Message& message, std::string_view path, const std::string& text,
               const std::string& what) {
  const std::string name(path.substr(0, path.find('.')));
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (!field) {
    std::vector<std::string> known;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i)
      known.push_back(message.GetDescriptor()->field(i)->name());
    if (dynamic_cast<const tfmd::Feature*>(&message)) {
      for (const ShortName& each : kShortNames) known.emplace_back(each.name);
      for (const std::string& key : feature_tags()) known.push_back(key);
    }
    throw_unknown("schema_edit.field", "field", name, known);
  }
  if (path.size() == name.size()) {
    if (text.empty()) return message.GetReflection()->ClearField(&message, field);
    return set_value(message, *field, text, what);
  }
  if (!field->message_type() || field->is_repeated())
    throw ValueError("schema_edit.field", cat(what, ": ", name, " has no fields that have a name"));
  const pb::Reflection& reflection = *message.GetReflection();
  const std::string_view rest = path.substr(name.size() + 1);
  if (text.empty() && !reflection.HasField(message, field)) {
    const std::unique_ptr<pb::Message> none(reflection.GetMessage(message, field).New());
    return set_field(*none, rest, text, what);
  }
  set_field(*reflection.MutableMessage(&message, field), rest, text, what);
}

// Raises where both are set, and no number lies between them.
template <class Number>
void check_ends(const std::string& of, const char* least, std::optional<Number> from, const char* most,
                std::optional<Number> to) {
  if (!from || !to || *from <= *to) return;
  const auto text = [](Number end) {
    if constexpr (std::is_integral_v<Number>)
      return cat(end);
    else
      return plain_number(end);
  };
  throw ValueError("schema_edit.limits", cat(of, ".", least, " is at most ", of, ".", most, ", got ",
                                             text(*from), " and ", text(*to)));
}

// Of a message with min and max.
template <class Message>
void check_ends(const std::string& of, const char* least, const char* most, const Message& its) {
  using Number = decltype(its.min());
  check_ends<Number>(of, least, its.has_min() ? std::optional(its.min()) : std::nullopt, most,
                     its.has_max() ? std::optional(its.max()) : std::nullopt);
}

void check_ends(const std::string& of, const tfmd::Feature& feature) {
  check_ends(of, "min", "max", feature.float_domain());
  check_ends(of, "min", "max", feature.int_domain());
  check_ends(of, "least_values", "most_values", feature.value_count());
  check_ends(of, "least_unique", "most_unique", feature.unique_constraints());
  const FeatureTags tags = tags_of(feature);
  check_ends(of, "min_mean", tags.mean.least, "max_mean", tags.mean.most);
  check_ends(of, "min_deviation", tags.deviation.least, "max_deviation", tags.deviation.most);
  check_ends(of, "min_zeros", tags.zeros.least, "max_zeros", tags.zeros.most);
}

void check_ends(const tfmd::DatasetConstraints& data) {
  check_ends<int64_t>(
      "dataset", "min_examples_count",
      data.has_min_examples_count() ? std::optional(data.min_examples_count()) : std::nullopt,
      "max_examples_count",
      data.has_max_examples_count() ? std::optional(data.max_examples_count()) : std::nullopt);
}

void collect_paths(const auto& features, const FeaturePath& parent, std::vector<FeaturePath>& out) {
  for (const tfmd::Feature& feature : features) {
    out.push_back(child_of(parent, feature.name()));
    if (feature.has_struct_domain())
      collect_paths(feature.struct_domain().feature(), FeaturePath(out.back()), out);
  }
}

class Editor {
 public:
  explicit Editor(tfmd::Schema& schema) : schema_(schema) { collect_paths(schema.feature(), {}, paths_); }

  void set(const std::string& words) {
    const auto check = [&](size_t equals) {
      if (equals == std::string::npos)
        throw ValueError("schema_edit.set",
                         cat("FEATURE.FIELD=VALUE is asked for, got \"", shortened(words), "\""));
    };
    check(words.find('='));
    std::string rest;
    const FeaturePath* path = feature_at(words, '.', rest);
    const bool dataset = !path && words.starts_with("dataset.");
    if (!path && !dataset) throw_feature(unknown_name(words, ".="));
    if (dataset) rest = words.substr(std::string_view("dataset.").size());
    const size_t equals = rest.find('=');
    check(equals);
    const std::string field = rest.substr(0, equals), value = rest.substr(equals + 1);
    if (dataset && field == "policy") return set_tag(schema_, field, value);
    if (!dataset && std::ranges::count(feature_tags(), field))
      return set_tag(*find_feature(schema_, *path), field, value);
    const std::string what = words.substr(0, words.size() - rest.size() + equals);
    if (dataset) return set_of_dataset(field, value, what);
    tfmd::Feature& feature = *find_feature(schema_, *path);
    set_field(feature, full_name(feature, field), value, what);
  }

  // Of what was set; not while one end is set behind the other.
  void check_limits(const std::string& words) {
    std::string rest;
    if (const FeaturePath* path = feature_at(words, '.', rest))
      return check_ends(path_text(*path), *find_feature(schema_, *path));
    check_ends(schema_.dataset_constraints());
  }

  void allow(const std::string& words) {
    std::string value;
    const FeaturePath* path = feature_at(words, '=', value);
    if (!path) throw_feature(unknown_name(words, "="));
    tfmd::Feature& feature = *find_feature(schema_, *path);
    tfmd::StringDomain* domain = feature.has_domain()          ? find_string_domain(schema_, feature.domain())
                                 : feature.has_string_domain() ? feature.mutable_string_domain()
                                                               : nullptr;
    if (!domain)
      throw ValueError("schema_edit.allow", cat("feature \"", path_text(*path), "\" has no domain of texts"));
    if (std::ranges::find(domain->value(), value) == domain->value().end()) domain->add_value(value);
  }

  void place(const std::string& words, bool inside) {
    const std::optional<NamedPart> parts = named_part(words, ':');
    if (!parts)
      throw ValueError("schema_edit.environment",
                       cat("ENVIRONMENT:FEATURE is asked for, got \"", shortened(words), "\""));
    const std::string& environment = parts->name;
    if (std::ranges::find(schema_.default_environment(), environment) == schema_.default_environment().end())
      throw ValueError("schema_edit.environment",
                       cat("\"", shortened(environment), "\" is none of the schema's environments"),
                       cat("add --environment ", shell_words({environment})));
    auto path = std::ranges::find(paths_, parts->rest, path_text);
    if (path == paths_.end()) path = std::ranges::find(paths_, name_alone(parts->rest), path_text);
    if (path == paths_.end()) throw_feature(name_alone(parts->rest));
    tfmd::Feature& feature = *find_feature(schema_, *path);
    auto& to = inside ? *feature.mutable_in_environment() : *feature.mutable_not_in_environment();
    auto& from = inside ? *feature.mutable_not_in_environment() : *feature.mutable_in_environment();
    from.erase(std::remove(from.begin(), from.end(), environment), from.end());
    if (std::ranges::find(to, environment) == to.end()) *to.Add() = environment;
  }

 private:
  void set_of_dataset(const std::string& field, const std::string& value, const std::string& what) {
    tfmd::DatasetConstraints constraints = schema_.dataset_constraints();
    set_field(constraints, full_name(constraints, field), value, what);
    if (!value.empty() || schema_.has_dataset_constraints())
      *schema_.mutable_dataset_constraints() = std::move(constraints);
  }

  // The feature with the longest path that `words` begin with, as it is or in quotes, up to `end`; `rest` is
  // what stands behind that.
  const FeaturePath* feature_at(const std::string& words, char end, std::string& rest) const {
    const FeaturePath* best = nullptr;
    for (const FeaturePath& path : paths_) {
      const std::string start = path_text(path) + end;
      if (!words.starts_with(start) || (best && words.size() - start.size() >= rest.size())) continue;
      best = &path;
      rest = words.substr(start.size());
    }
    size_t behind = 0;
    const std::optional<std::string> name = best ? std::nullopt : name_in_quotes(words, behind);
    if (!name || behind == words.size() || words[behind] != end) return best;
    const auto path = std::ranges::find(paths_, *name, path_text);
    if (path == paths_.end()) return nullptr;
    rest = words.substr(behind + 1);
    return &*path;
  }
  // The name in the quotes that `words` begin with; `behind` is what follows them.
  static std::optional<std::string> name_in_quotes(const std::string& words, size_t& behind) {
    if (!words.starts_with('"') && !words.starts_with('`')) return std::nullopt;
    return read_quoted(words, behind);
  }
  static std::string unknown_name(const std::string& words, const char* ends) {
    size_t behind = 0;
    return name_in_quotes(words, behind).value_or(words.substr(0, words.find_first_of(ends)));
  }

  [[noreturn]] void throw_feature(const std::string& word) const {
    std::vector<std::string> known;
    for (const FeaturePath& path : paths_) known.push_back(path_text(path));
    throw_unknown("schema_edit.feature", "feature", word, known);
  }

  tfmd::Schema& schema_;
  std::vector<FeaturePath> paths_;
};

}  // namespace

bool SchemaEdits::empty() const {
  return set.empty() && allow.empty() && in.empty() && not_in.empty() && environments.empty() &&
         rules.empty() && warning_rules.empty() && dropped_rules.empty();
}

tfmd::Schema edited_schema(const tfmd::Schema& schema, const SchemaEdits& edits) {
  tfmd::Schema out = schema;
  for (const std::string& environment : edits.environments) {
    const auto& known = out.default_environment();
    if (std::ranges::find(known, environment) == known.end()) out.add_default_environment(environment);
  }
  Editor editor(out);
  for (const std::string& words : edits.set) editor.set(words);
  for (const std::string& words : edits.set) editor.check_limits(words);
  for (const std::string& words : edits.allow) editor.allow(words);
  for (const std::string& words : edits.in) editor.place(words, true);
  for (const std::string& words : edits.not_in) editor.place(words, false);
  for (const std::string& condition : edits.dropped_rules) drop_rule(out, condition);
  for (const std::string& condition : edits.rules) add_rule(out, condition, false);
  for (const std::string& condition : edits.warning_rules) add_rule(out, condition, true);
  return out;
}

}  // namespace espalier
