#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "base/format.h"
#include "validate/anomaly_rules.h"
#include "validate/text_values.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;
using Statistics = tfmd::FeatureNameStatistics;
using Counts = std::map<std::string, double>;

template <class Number>
struct Range {
  Number least, most;
};
// Nothing to say, a range, or a text that is no number.
template <class Number>
using Found = std::variant<std::monostate, Range<Number>, std::string>;

template <class Number, class Read>
Found<Number> range_of(const Counts& counts, const Read& read) {
  Found<Number> out;
  for (const auto& [text, count] : counts) {
    const std::optional<Number> value = read(text);
    if (!value) return text;
    if (auto* range = std::get_if<Range<Number>>(&out)) {
      if (*value < range->least) range->least = *value;
      if (*value > range->most) range->most = *value;
    } else {
      out = Range<Number>{*value, *value};
    }
  }
  return out;
}

constexpr double kBeyond = 0x1p63;  // the first whole number that 64 bits have not

Found<int64_t> whole_range(const FeatureView& view) {
  const Counts counts = view.counts();
  if (view.type() == Statistics::INT && counts.empty()) {
    for (const double edge : {view.numbers().min(), view.numbers().max()}) {
      // TensorFlow Data Validation lets 2^63 pass; it does not fit, either.
      if (!(edge >= -kBeyond && edge < kBeyond)) return std::to_string(edge);
    }
    return Range<int64_t>{whole_part(view.numbers().min()), whole_part(view.numbers().max())};
  }
  if (view.type() != Statistics::INT && !view.is_text()) return {};
  return range_of<int64_t>(counts, whole_number);
}

Found<float> real_range(const FeatureView& view) {
  if (view.type() == Statistics::FLOAT)
    return Range<float>{static_cast<float>(view.numbers().min()), static_cast<float>(view.numbers().max())};
  if (!view.is_text()) return {};
  return range_of<float>(view.counts(), real_number);
}

AnomalyReasons no_whole_number(const FeatureView& view, const std::string& text, tfmd::Feature& feature) {
  const tfmd::IntDomain& domain = feature.int_domain();
  const bool of_text = view.schema_type() == tfmd::BYTES;
  if (!of_text && !domain.has_min() && !domain.has_max()) return {};
  feature.clear_domain_info();
  if (of_text)
    return {{Info::INT_TYPE_NOT_INT_STRING, "Invalid values",
             cat("String values that were not ints were found, such as \"", text, "\"."), text,
             "whole numbers"}};
  return {{Info::DOMAIN_INVALID_FOR_TYPE, "Invalid values",
           cat("Integer had values that were not valid Int64, such as \"", text, "\"."), text,
           "whole numbers of 64 bits"}};
}

bool has_nan(const FeatureView& view) {
  if (view.type() == Statistics::FLOAT) {
    return std::ranges::any_of(view.numbers().histograms(),
                               [](const tfmd::Histogram& histogram) { return histogram.num_nan() > 0; });
  }
  if (view.type() != Statistics::STRING) return false;
  return std::ranges::any_of(
      view.counts(), [](const auto& each) { return std::isnan(real_number(each.first).value_or(0)); });
}

void check_range(const Range<float>& range, tfmd::FloatDomain& domain, AnomalyReasons& out) {
  const auto add = [&](Info::Type type, const char* what, float value, const char* sign, float limit,
                       const char* direction) {
    out.push_back({type, "Out-of-range values",
                   cat(what, six_digits(value), sign, six_digits(limit), "(upto six significant digits)"),
                   six_digits(value), cat(direction, six_digits(limit))});
  };
  if (domain.has_min() && range.least < domain.min()) {
    add(Info::FLOAT_TYPE_SMALL_FLOAT, "Unexpectedly low values: ", range.least, "<", domain.min(), ">= ");
    domain.set_min(range.least);
  }
  if (domain.has_max() && range.most > domain.max()) {
    add(Info::FLOAT_TYPE_BIG_FLOAT, "Unexpectedly high value: ", range.most, ">", domain.max(), "<= ");
    domain.set_max(range.most);
  }
  if (domain.disallow_inf() && (std::isinf(range.least) || std::isinf(range.most))) {
    out.push_back(
        {Info::FLOAT_TYPE_HAS_INF, "Invalid values", "Float feature has Inf values.", "inf", "no inf"});
    domain.set_disallow_inf(false);
  }
}

AnomalyReasons no_bools(Info::Type type, std::string description, std::string observed) {
  return {{type, "Non-boolean values", std::move(description), std::move(observed), "0 or 1"}};
}

AnomalyReasons check_whole_bools(const tfmd::NumericStatistics& numbers, tfmd::Feature& feature) {
  const bool low = numbers.min() < 0;
  if (!low && !(numbers.max() > 1)) return {};
  feature.mutable_int_domain()->set_min(whole_part(numbers.min()));
  feature.mutable_int_domain()->set_max(whole_part(numbers.max()));
  const std::string value = six_digits(low ? numbers.min() : numbers.max());
  return no_bools(low ? Info::BOOL_TYPE_SMALL_INT : Info::BOOL_TYPE_BIG_INT,
                  cat("Integers (such as ", value, ") not in {0, 1}: converting to an integer."), value);
}

// What of these numbers is neither 0 nor 1, as far as the buckets of histograms tell: {its description, it}.
std::optional<std::pair<std::string, std::string>> other_than_bools(const tfmd::NumericStatistics& numbers) {
  for (const double edge : {numbers.min(), numbers.max()}) {
    if (edge != 0 && edge != 1) return {{cat("Floats (such as ", six_digits(edge), ")"), six_digits(edge)}};
  }
  for (const tfmd::Histogram& histogram : numbers.histograms()) {
    if (histogram.num_nan() > 0) return {{"Floats (such as NaN)", "nan"}};
    for (const auto& bucket : histogram.buckets()) {
      if (bucket.sample_count() <= 0) continue;
      if (bucket.high_value() < 0) return {{"Float values < 0", "below 0"}};
      if (bucket.low_value() > 1) return {{"Float values > 1", "above 1"}};
      if (histogram.type() == tfmd::Histogram::QUANTILES && bucket.low_value() > 0 && bucket.high_value() < 1)
        return {{"Float values falling between 0 and 1", "between 0 and 1"}};
    }
  }
  return std::nullopt;
}

AnomalyReasons check_real_bools(const tfmd::NumericStatistics& numbers, tfmd::Feature& feature) {
  const auto other = other_than_bools(numbers);
  if (!other) return {};
  feature.mutable_float_domain()->set_min(static_cast<float>(numbers.min()));
  feature.mutable_float_domain()->set_max(static_cast<float>(numbers.max()));
  const bool between = other->second == "between 0 and 1";
  return no_bools(Info::BOOL_TYPE_UNEXPECTED_FLOAT,
                  cat(other->first, between ? "" : " not in {0, 1}", ": converting to float_domain."),
                  other->second);
}

AnomalyReasons check_text_bools(const FeatureView& view, tfmd::Feature& feature) {
  const tfmd::BoolDomain domain = feature.bool_domain();
  Counts valid;
  if (domain.has_true_value()) valid.emplace(domain.true_value(), 0);
  if (domain.has_false_value()) valid.emplace(domain.false_value(), 0);
  for (const auto& [text, count] : view.counts()) {
    if (valid.contains(text)) continue;
    std::string set;
    for (const auto& [value, unused] : valid) set += cat(set.empty() ? "" : ", ", "\"", value, "\"");
    feature.clear_bool_domain();
    return {{Info::BOOL_TYPE_UNEXPECTED_STRING, "Non-boolean values",
             cat("Saw unexpected value \"", text, "\" instead of {", set, "}."), text, cat("{", set, "}")}};
  }
  return {};
}

}  // namespace

AnomalyReasons check_whole_numbers(const FeatureView& view, tfmd::Feature& feature) {
  const Found<int64_t> found = whole_range(view);
  if (const auto* text = std::get_if<std::string>(&found)) return no_whole_number(view, *text, feature);
  const auto* range = std::get_if<Range<int64_t>>(&found);
  if (!range) return {};
  tfmd::IntDomain& domain = *feature.mutable_int_domain();
  AnomalyReasons out;
  if (domain.has_min() && range->least < domain.min()) {
    out.push_back({Info::INT_TYPE_SMALL_INT, "Out-of-range values",
                   cat("Unexpectedly small value: ", range->least, "."), cat(range->least),
                   cat(">= ", domain.min())});
    domain.set_min(range->least);
  }
  if (domain.has_max() && range->most > domain.max()) {
    out.push_back({Info::INT_TYPE_BIG_INT, "Out-of-range values",
                   cat("Unexpectedly large value: ", range->most, "."), cat(range->most),
                   cat("<= ", domain.max())});
    domain.set_max(range->most);
  }
  return out;
}

AnomalyReasons check_real_numbers(const FeatureView& view, tfmd::Feature& feature) {
  tfmd::FloatDomain& domain = *feature.mutable_float_domain();
  AnomalyReasons out;
  if (domain.disallow_nan() && has_nan(view)) {
    out.push_back(
        {Info::FLOAT_TYPE_HAS_NAN, "Invalid values", "Float feature has NaN values.", "nan", "no nan"});
    domain.set_disallow_nan(false);
  }
  const Found<float> found = real_range(view);
  if (const auto* range = std::get_if<Range<float>>(&found)) check_range(*range, domain, out);
  if (const auto* text = std::get_if<std::string>(&found)) {
    out.push_back({Info::FLOAT_TYPE_STRING_NOT_FLOAT, "Invalid values",
                   cat("String values that were not floats were found, such as \"", *text, "\"."), *text,
                   "numbers"});
    feature.clear_domain_info();
  }
  return out;
}

AnomalyReasons check_bools(const FeatureView& view, tfmd::Feature& feature) {
  switch (view.type()) {
    case Statistics::INT:
      return check_whole_bools(view.numbers(), feature);
    case Statistics::FLOAT:
      return check_real_bools(view.numbers(), feature);
    case Statistics::STRING:
      return check_text_bools(view, feature);
    default:
      return {};
  }
}

}  // namespace espalier
