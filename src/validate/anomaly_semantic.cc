#include <algorithm>

#include "base/format.h"
#include "validate/anomaly_rules.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;
using Language = tfmd::NaturalLanguageStatistics;

AnomalyReason no_statistics() {
  return {
      Info::STATS_NOT_AVAILABLE, "Natural language stats are not computed.",
      "Constraints specified in natural language domain cannot be verified because natural language stats "
      "have not been computed.",
      "no statistics", "natural language statistics"};
}

void check_coverage(const Language& statistics, tfmd::FeatureCoverageConstraints& limits,
                    AnomalyReasons& out) {
  if (limits.has_min_coverage() && limits.min_coverage() > statistics.feature_coverage()) {
    const std::string found = six_digits(statistics.feature_coverage()),
                      limit = six_digits(limits.min_coverage());
    out.push_back({Info::FEATURE_COVERAGE_TOO_LOW, "Feature coverage is too low.",
                   cat("Fraction of tokens in the vocabulary: ", found,
                       " is lower than the threshold set in the Schema: ", limit, "."),
                   found, cat(limit, " or more")});
    limits.set_min_coverage(static_cast<float>(statistics.feature_coverage()));
  }
  if (limits.has_min_avg_token_length() && statistics.avg_token_length() < limits.min_avg_token_length()) {
    const std::string found = six_digits(statistics.avg_token_length()),
                      limit = six_digits(limits.min_avg_token_length());
    out.push_back({Info::FEATURE_COVERAGE_TOO_SHORT_AVG_TOKEN_LENGTH, "Average token length is too short.",
                   cat("Average token length is: ", found,
                       " which is lower than the threshold set in the Schema: ", limit, "."),
                   found, cat(limit, " or more")});
    limits.set_min_avg_token_length(static_cast<float>(statistics.avg_token_length()));
  }
}

void check_token_fractions(const Language::TokenStatistics& token, const std::string& name,
                           tfmd::SequenceValueConstraints& limits, AnomalyReasons& out) {
  const double fraction = token.fraction_of_sequences();
  const auto add = [&](Info::Type type, const char* brief, const char* relation, float limit,
                       std::string allowed) {
    out.push_back(
        {type, brief,
         cat("Fraction of sequences with value: ", name, " is: ", six_digits(fraction), " which is ",
             relation, " than the threshold set in the Schema: ", six_digits(limit), "."),
         cat(name, " in ", six_digits(fraction)), std::move(allowed)});
  };
  if (limits.has_min_fraction_of_sequences() && limits.min_fraction_of_sequences() > fraction) {
    const float limit = limits.min_fraction_of_sequences();
    add(Info::SEQUENCE_VALUE_TOO_SMALL_FRACTION, "Value occurs in too small a fraction of sequences.",
        "lower", limit, cat(six_digits(limit), " or more"));
    limits.set_min_fraction_of_sequences(static_cast<float>(fraction));
  }
  if (limits.has_max_fraction_of_sequences() && limits.max_fraction_of_sequences() < fraction) {
    const float limit = limits.max_fraction_of_sequences();
    add(Info::SEQUENCE_VALUE_TOO_LARGE_FRACTION, "Value occurs in too large a fraction of sequences.",
        "higher", limit, cat("at most ", six_digits(limit)));
    limits.set_max_fraction_of_sequences(static_cast<float>(fraction));
  }
}

void check_occurrences(const Language::TokenStatistics& token, const std::string& name,
                       tfmd::SequenceValueConstraints& limits, AnomalyReasons& out) {
  const auto add = [&](Info::Type type, const char* brief, const char* bound, double found,
                       const char* relation, int64_t limit, std::string allowed) {
    out.push_back({type, brief,
                   cat("Value: ", name, " occurs at ", bound, ": ", six_digits(found),
                       " times within a sequence, which is ", relation,
                       " than the threshold set in the Schema: ", limit, "."),
                   cat(name, " ", six_digits(found), " times"), std::move(allowed)});
  };
  if (limits.has_min_per_sequence() &&
      static_cast<double>(limits.min_per_sequence()) > token.per_sequence_min_frequency()) {
    const int64_t limit = limits.min_per_sequence();
    add(Info::SEQUENCE_VALUE_TOO_FEW_OCCURRENCES, "Value has too few per-sequence occurrences.", "least",
        token.per_sequence_min_frequency(), "lower", limit, cat(limit, " or more"));
    limits.set_min_per_sequence(whole_part(token.per_sequence_min_frequency()));
  }
  if (limits.has_max_per_sequence() &&
      static_cast<double>(limits.max_per_sequence()) < token.per_sequence_max_frequency()) {
    const int64_t limit = limits.max_per_sequence();
    add(Info::SEQUENCE_VALUE_TOO_MANY_OCCURRENCES, "Value has too many per-sequence occurrences.", "most",
        token.per_sequence_max_frequency(), "higher", limit, cat("at most ", limit));
    limits.set_max_per_sequence(whole_part(token.per_sequence_max_frequency()));
  }
}

// The statistics of the token that is constrained, or null.
const Language::TokenStatistics* find_token(const Language& statistics,
                                            const tfmd::SequenceValueConstraints& wanted) {
  for (const auto& token : statistics.token_statistics()) {
    const bool same = wanted.has_int_value()
                          ? token.token_case() == Language::TokenStatistics::kIntToken &&
                                token.int_token() == wanted.int_value()
                          : token.token_case() == Language::TokenStatistics::kStringToken &&
                                token.string_token() == wanted.string_value();
    if (same) return &token;
  }
  return nullptr;
}

}  // namespace

AnomalyReasons check_images(const FeatureView& view, tfmd::Feature& feature) {
  tfmd::ImageDomain& domain = *feature.mutable_image_domain();
  AnomalyReasons out;
  const tfmd::CustomStatistic* formats = view.custom("image_format_histogram");
  if (domain.has_minimum_supported_image_fraction() && formats) {
    float known = 0, unknown = 0;
    for (const auto& bucket : formats->rank_histogram().buckets())
      (bucket.label() == "UNKNOWN" ? unknown : known) += static_cast<float>(bucket.sample_count());
    const float fraction = known / (known + unknown), wanted = domain.minimum_supported_image_fraction();
    if (fraction < wanted) {
      domain.set_minimum_supported_image_fraction(fraction);
      out.push_back({Info::LOW_SUPPORTED_IMAGE_FRACTION, "Low supported image fraction",
                     cat("Fraction of values containing TensorFlow supported images: ", fraction,
                         " is lower than the threshold set in the Schema: ", wanted, "."),
                     six_digits(fraction), cat(six_digits(wanted), " or more")});
    }
  }
  const int64_t largest = view.data().bytes_stats().max_num_bytes_int(), most = domain.max_image_byte_size();
  if (domain.has_max_image_byte_size() && largest > most) {
    domain.set_max_image_byte_size(largest);
    out.push_back(
        {Info::MAX_IMAGE_BYTE_SIZE_EXCEEDED, "Num bytes exceeds the max byte size.",
         cat("The largest image has bytes: ", largest, ". The max allowed byte size is: ", most, "."),
         cat(largest, " bytes"), cat("at most ", most)});
  }
  return out;
}

AnomalyReasons check_language(const FeatureView& view, tfmd::Feature& feature) {
  tfmd::NaturalLanguageDomain& domain = *feature.mutable_natural_language_domain();
  const bool limited = domain.coverage().has_min_coverage() || domain.coverage().has_min_avg_token_length() ||
                       domain.token_constraints_size() > 0;
  const tfmd::CustomStatistic* packed = view.custom("nl_statistics");
  Language statistics;
  if (!limited || (packed && !packed->any().UnpackTo(&statistics))) return {};
  AnomalyReasons out;
  const auto give_up = [&] {
    out.push_back(no_statistics());
    feature.clear_natural_language_domain();
    return out;
  };
  if (!packed) return give_up();
  if (domain.has_coverage()) check_coverage(statistics, *domain.mutable_coverage(), out);
  for (tfmd::SequenceValueConstraints& limits : *domain.mutable_token_constraints()) {
    if (limits.value_case() == tfmd::SequenceValueConstraints::VALUE_NOT_SET) continue;
    const Language::TokenStatistics* token = find_token(statistics, limits);
    if (!token) return give_up();
    const std::string name = limits.has_int_value() ? cat(limits.int_value()) : limits.string_value();
    check_token_fractions(*token, name, limits, out);
    check_occurrences(*token, name, limits, out);
  }
  return out;
}

}  // namespace espalier
