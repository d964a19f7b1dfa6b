#include "gate/data_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <ranges>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "evaluate/monk.h"
#include "report/table.h"
#include "validate/statistics_column.h"

namespace espalier {
namespace {

// Six digits; all of a whole number.
std::string digits(double value) {
  constexpr double kWhole = 1e15;
  const bool whole = value == std::trunc(value) && std::abs(value) < kWhole;
  char text[32];
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.6g", value);
  return text;
}

std::string joined(const auto& words, const char* between) {
  std::string out;
  for (const auto& word : words) out += cat(out.empty() ? "" : between, word);
  return out;
}

// Of two bounds, each of which may be missing.
std::string range(bool from, const std::string& low, bool to, const std::string& high) {
  if (from && to) return low == high ? low : cat(low, " to ", high);
  return from ? cat(low, " or more") : to ? cat("at most ", high) : "any";
}

std::string range(const auto& limits) {
  return range(limits.has_min(), cat(limits.min()), limits.has_max(), cat(limits.max()));
}

std::string text_of(const tfmd::FloatDomain& domain) {
  std::string out = range(domain.has_min(), shortest(domain.min()), domain.has_max(), shortest(domain.max()));
  if (domain.disallow_nan()) out += ", no nan";
  if (domain.disallow_inf()) out += ", no inf";
  return out;
}
std::string text_of(const tfmd::IntDomain& domain) {
  return range(domain) + (domain.is_categorical() ? ", categories" : "");
}
std::string text_of(const tfmd::StringDomain& domain) {
  return cat(counted(domain.value_size(), "value"), domain.value_size() ? ": " : "",
             shortened(joined(domain.value(), ", ")));
}

// The domain of the schema that a feature names.
std::string named_domain(const std::string& name, const tfmd::Schema& schema) {
  const auto find = [&](const auto& domains) -> std::string {
    for (const auto& domain : domains) {
      if (domain.name() == name) return text_of(domain);
    }
    return "";
  };
  std::string out = find(schema.string_domain());
  if (out.empty()) out = find(schema.int_domain());
  if (out.empty()) out = find(schema.float_domain());
  return cat(shortened(name), ": ", out.empty() ? "not in the schema" : out);
}

std::string domain_text(const tfmd::Feature& feature, const tfmd::Schema& schema) {
  switch (feature.domain_info_case()) {
    case tfmd::Feature::DOMAIN_INFO_NOT_SET:
      return "-";
    case tfmd::Feature::kDomain:
      return named_domain(feature.domain(), schema);
    case tfmd::Feature::kIntDomain:
      return text_of(feature.int_domain());
    case tfmd::Feature::kFloatDomain:
      return text_of(feature.float_domain());
    case tfmd::Feature::kStringDomain:
      return text_of(feature.string_domain());
    case tfmd::Feature::kBoolDomain: {
      const tfmd::BoolDomain& domain = feature.bool_domain();
      return cat(domain.has_true_value() ? shortened(domain.true_value()) : "true", " or ",
                 domain.has_false_value() ? shortened(domain.false_value()) : "false");
    }
    case tfmd::Feature::kTimeDomain: {
      const tfmd::TimeDomain& domain = feature.time_domain();
      return cat("time ", domain.has_integer_format()
                              ? tfmd::TimeDomain::IntegerTimeFormat_Name(domain.integer_format())
                              : shortened(domain.string_format()));
    }
    case tfmd::Feature::kTimeOfDayDomain:
      return cat("time of day ", shortened(feature.time_of_day_domain().string_format()));
    case tfmd::Feature::kNaturalLanguageDomain:
      return "natural language";
    case tfmd::Feature::kImageDomain:
      return "images";
    case tfmd::Feature::kMidDomain:
      return "Knowledge Graph ids";
    case tfmd::Feature::kUrlDomain:
      return "URLs";
    case tfmd::Feature::kStructDomain:
      return cat(counted(feature.struct_domain().feature_size(), "feature"));
  }
  return "-";
}

std::string presence_text(const tfmd::Feature& feature) {
  if (feature.has_group_presence())
    return feature.group_presence().required() ? "required in group" : "optional";
  const tfmd::FeaturePresence& presence = feature.presence();
  std::string out = presence.min_fraction() >= 1  ? "required"
                    : presence.min_fraction() > 0 ? cat("in ", percent(presence.min_fraction()))
                                                  : "optional";
  if (presence.min_count() > 1) out += cat(", ", presence.min_count(), " rows");
  return out;
}

std::string valency_text(const tfmd::Feature& feature) {
  if (feature.has_shape()) {
    std::vector<int64_t> sizes;
    for (const auto& dim : feature.shape().dim()) sizes.push_back(dim.size());
    return sizes.empty() ? "1" : cat("[", joined(sizes, ","), "]");
  }
  if (feature.has_value_count()) return range(feature.value_count());
  std::vector<std::string> levels;
  for (const tfmd::ValueCount& level : feature.value_counts().value_count()) levels.push_back(range(level));
  return levels.empty() ? "any" : joined(levels, " / ");
}

void add_comparator(const char* what, const tfmd::FeatureComparator& comparator,
                    std::vector<std::string>& notes) {
  const auto add = [&](bool has, const char* distance, double threshold) {
    if (has) notes.push_back(cat(what, " ", distance, " <= ", digits(threshold)));
  };
  add(comparator.has_infinity_norm(), "L-infinity", comparator.infinity_norm().threshold());
  add(comparator.has_jensen_shannon_divergence(), "Jensen-Shannon",
      comparator.jensen_shannon_divergence().threshold());
  add(comparator.has_normalized_abs_difference(), "difference",
      comparator.normalized_abs_difference().threshold());
}

// "policy=quarantine", as they are written: nobody has looked whether they mean something.
std::vector<std::string> tags_text(const tfmd::Annotation& annotation) {
  constexpr std::string_view kOurs = "espalier.";
  std::vector<std::string> out;
  for (const std::string& tag : annotation.tag()) {
    if (tag.starts_with(kOurs)) out.push_back(printable(tag.substr(kOurs.size())));
  }
  return out;
}

std::string notes_text(const tfmd::Feature& feature) {
  std::vector<std::string> out;
  if (feature.has_lifecycle_stage()) out.push_back(tfmd::LifecycleStage_Name(feature.lifecycle_stage()));
  if (feature.in_environment_size()) out.push_back(cat("in ", joined(feature.in_environment(), ", ")));
  if (feature.not_in_environment_size())
    out.push_back(cat("not in ", joined(feature.not_in_environment(), ", ")));
  if (feature.distribution_constraints().min_domain_mass() < 1)
    out.push_back(cat(percent(feature.distribution_constraints().min_domain_mass()), " in the domain"));
  if (feature.has_unique_constraints()) out.push_back(cat(range(feature.unique_constraints()), " unique"));
  add_comparator("drift", feature.drift_comparator(), out);
  add_comparator("skew", feature.skew_comparator(), out);
  for (const std::string& tag : tags_text(feature.annotation())) out.push_back(tag);
  return joined(out, "; ");
}

using Row = std::vector<std::string>;

void add_features(const auto& features, const std::string& path, const tfmd::Schema& schema,
                  std::vector<Row>& rows) {
  for (const tfmd::Feature& feature : features) {
    const std::string name = path + shortened(feature.name());
    const std::string type = feature.has_type() ? tfmd::FeatureType_Name(feature.type()) : "-";
    rows.push_back({name, type, presence_text(feature), valency_text(feature), domain_text(feature, schema),
                    notes_text(feature)});
    add_features(feature.struct_domain().feature(), name + ".", schema, rows);
  }
}

std::string table_of(std::vector<std::string> header, const std::vector<Row>& rows,
                     const Terminal& terminal) {
  if (rows.empty()) return "";
  Table table(std::move(header));
  for (const Row& row : rows) table.row({row.begin(), row.end()});
  return table.text(terminal);
}

// How the tones look that features hold which are tagged so; "" without any.
std::string tones_text(const tfmd::Schema& schema, const Terminal& terminal) {
  const auto is_tone = [](const tfmd::Feature& feature) {
    return std::ranges::count(feature.annotation().tag(), "espalier.scale=monk") > 0;
  };
  std::string names;
  for (const tfmd::Feature& feature : schema.feature()) {
    if (is_tone(feature)) names += cat(names.empty() ? "" : ", ", shortened(feature.name()));
  }
  if (names.empty()) return "";
  std::vector<uint8_t> all(kMonkTones.size());
  std::iota(all.begin(), all.end(), uint8_t{1});
  const CategoryColumn groups = monk_tones("", all, MonkGroups::kThree);
  Table table({"tone", "group", "colour"});
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string colour(kMonkTones[i]), swatch = terminal.swatch(colour);
    table.row({i + 1, groups.values[groups.codes[i]], cat(colour, swatch.empty() ? "" : " ", swatch)});
  }
  return cat("\n", names, ": tones of the Monk Skin Tone Scale\n", table.text(terminal));
}

std::string name_of(const tfmd::FeatureNameStatistics& feature) {
  return shortened(feature.has_path() ? joined(feature.path().step(), ".") : feature.name());
}

const tfmd::CommonStatistics& common(const tfmd::FeatureNameStatistics& feature) {
  return feature.has_string_stats()  ? feature.string_stats().common_stats()
         : feature.has_bytes_stats() ? feature.bytes_stats().common_stats()
                                     : feature.struct_stats().common_stats();
}

// A custom statistic that says how far a figure may be off, or 0.
double error_of(const tfmd::FeatureNameStatistics& feature, const char* name) {
  for (const tfmd::CustomStatistic& custom : feature.custom_stats()) {
    if (custom.name() == name) return custom.num();
  }
  return 0;
}
std::string about(bool approximate, const std::string& figure) { return (approximate ? "~" : "") + figure; }

// What "~" before figures of these features means; "" when none has it.
std::string approximation_text(const tfmd::DatasetFeatureStatistics& data) {
  double rank = 0, unique = 0, missed = 0;
  for (const tfmd::FeatureNameStatistics& feature : data.features()) {
    rank = std::max(rank, error_of(feature, kQuantileRankError));
    unique = std::max(unique, error_of(feature, kUniqueError));
    missed = std::max(missed, error_of(feature, kTopValuesMissed));
  }
  std::vector<std::string> out;
  if (rank > 0) out.push_back(cat("ranks of medians within ", percent(rank, 2)));
  if (unique > 0) out.push_back(cat("unique within ", percent(3 * unique, 1), " (three deviations)"));
  if (missed > 0) out.push_back(cat("times at most ", digits(missed), " more"));
  return out.empty() ? "" : cat("\n~ is approximate: ", joined(out, ", "), "\n");
}

Row number_row(const tfmd::FeatureNameStatistics& feature) {
  const tfmd::NumericStatistics& stats = feature.num_stats();
  return {name_of(feature),
          cat(stats.common_stats().num_non_missing()),
          cat(stats.common_stats().num_missing()),
          digits(stats.mean()),
          digits(stats.std_dev()),
          cat(stats.num_zeros()),
          digits(stats.min()),
          about(error_of(feature, kQuantileRankError) > 0, digits(stats.median())),
          digits(stats.max())};
}

Row text_row(const tfmd::FeatureNameStatistics& feature) {
  Row row{name_of(feature), tfmd::FeatureNameStatistics::Type_Name(feature.type()),
          cat(common(feature).num_non_missing()), cat(common(feature).num_missing())};
  Row figures(4, "-");
  if (feature.has_string_stats()) {
    const tfmd::StringStatistics& stats = feature.string_stats();
    figures[0] = about(error_of(feature, kUniqueError) > 0, cat(stats.unique()));
    if (stats.top_values_size()) {
      figures[1] = shortened(stats.top_values(0).value());
      figures[2] = about(error_of(feature, kTopValuesMissed) > 0, digits(stats.top_values(0).frequency()));
    }
    figures[3] = digits(stats.avg_length());
  } else if (feature.has_bytes_stats()) {
    figures[0] = cat(feature.bytes_stats().unique());
    figures[3] = digits(feature.bytes_stats().avg_num_bytes());
  }
  row.insert(row.end(), figures.begin(), figures.end());
  return row;
}

// The pairs whose numbers go together most; nothing where no pairs were asked for.
std::string crosses_text(const tfmd::DatasetFeatureStatistics& data, const Terminal& terminal) {
  constexpr size_t kShown = 20;
  const auto correlation = [](const tfmd::CrossFeatureStatistics* cross) {
    return std::fabs(cross->num_cross_stats().correlation());
  };
  std::vector<const tfmd::CrossFeatureStatistics*> all;
  for (const tfmd::CrossFeatureStatistics& cross : data.cross_features()) all.push_back(&cross);
  std::ranges::stable_sort(all, std::greater(), correlation);
  std::vector<Row> rows;
  for (const tfmd::CrossFeatureStatistics* cross : all | std::views::take(kShown)) {
    rows.push_back({shortened(joined(cross->path_x().step(), ".")),
                    shortened(joined(cross->path_y().step(), ".")), cat(cross->count()),
                    digits(cross->num_cross_stats().covariance()),
                    digits(cross->num_cross_stats().correlation())});
  }
  if (rows.empty()) return "";
  return cat("\n", table_of({"column", "and", "rows", "covariance", "correlation"}, rows, terminal),
             all.size() > kShown ? cat("the ", kShown, " strongest of ", all.size(), " pairs\n") : "");
}

}  // namespace

std::string schema_table(const tfmd::Schema& schema, const Terminal& terminal) {
  std::vector<Row> rows;
  add_features(schema.feature(), "", schema, rows);
  for (const tfmd::SparseFeature& feature : schema.sparse_feature())
    rows.push_back({shortened(feature.name()), "sparse", "-", "-",
                    cat("values of ", shortened(feature.value_feature().name())), ""});
  for (const tfmd::WeightedFeature& feature : schema.weighted_feature())
    rows.push_back({shortened(feature.name()), "weighted", "-", "-",
                    cat(shortened(joined(feature.feature().step(), ".")), " by ",
                        shortened(joined(feature.weight_feature().step(), "."))),
                    ""});
  std::vector<std::string> header{"feature", "type", "presence", "valency", "domain", "notes"};
  bool notes = false;
  for (const Row& row : rows) notes = notes || !row.back().empty();
  if (!notes) {
    header.pop_back();
    for (Row& row : rows) row.pop_back();
  }
  std::string rules;
  for (const std::string& tag : tags_text(schema.annotation())) rules += tag + "\n";
  return cat(table_of(std::move(header), rows, terminal), rules.empty() ? "" : "\n", rules,
             tones_text(schema, terminal));
}

std::string statistics_tables(const tfmd::DatasetFeatureStatisticsList& list, const Terminal& terminal) {
  std::string out;
  for (const tfmd::DatasetFeatureStatistics& data : list.datasets()) {
    std::vector<Row> numbers, texts;
    for (const tfmd::FeatureNameStatistics& feature : data.features()) {
      if (feature.has_num_stats())
        numbers.push_back(number_row(feature));
      else
        texts.push_back(text_row(feature));
    }
    out += cat(out.empty() ? "" : "\n", data.name().empty() ? "" : shortened(data.name()) + ": ",
               counted(static_cast<int64_t>(data.num_examples()), "row"), ", ",
               counted(data.features_size(), "feature"), "\n");
    for (const std::string& table :
         {table_of({"feature", "count", "missing", "mean", "deviation", "zeros", "min", "median", "max"},
                   numbers, terminal),
          table_of({"feature", "type", "count", "missing", "unique", "top", "times", "mean bytes"}, texts,
                   terminal)}) {
      if (!table.empty()) out += "\n" + table;
    }
    out += crosses_text(data, terminal) + approximation_text(data);
  }
  return out;
}

}  // namespace espalier
