// Mutated schemas, statistics and edits in words, one below the other: refused with an error, or judged, and
// the schema that all fixes make can be written and judged again.
#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "validate/anomalies.h"
#include "validate/infer.h"
#include "validate/schema_edit.h"
#include "validate/statistics_view.h"

using namespace espalier;

namespace {

const char* const kSeed =
    R"(feature { name: "age" type: INT presence { min_fraction: 1.0 min_count: 1 } shape { dim { size: 1 } }
  int_domain { min: 0 max: 90 } drift_comparator { jensen_shannon_divergence { threshold: 0.1 } }
  annotation { tag: "espalier.max_mean=40" tag: "espalier.min_zeros=0.1" } }
feature { name: "fare" type: FLOAT value_count { min: 1 max: 1 } float_domain { min: 0 disallow_nan: true } }
feature { name: "job" type: BYTES domain: "job" unique_constraints { min: 1 max: 2 } skew_comparator {
  infinity_norm { threshold: 0.01 } normalized_abs_difference { threshold: 0.01 } } }
feature { name: "trip" type: STRUCT struct_domain { feature { name: "day" type: BYTES int_domain { max: 7 } } } }
feature { name: "text" type: BYTES natural_language_domain { coverage { min_coverage: 0.5 } } }
sparse_feature { name: "sparse" } weighted_feature { name: "weighted" }
string_domain { name: "job" value: "clerk" } default_environment: "serving"
dataset_constraints { min_examples_count: 7 num_examples_drift_comparator { max_fraction_threshold: 0.5 } }
---
datasets { num_examples: 10 weighted_num_examples: 5
  features { name: "age" type: INT num_stats { common_stats { num_non_missing: 9 num_missing: 1 max_num_values: 2 }
    min: -1 max: 99 histograms { buckets { low_value: -1 high_value: 7 sample_count: 3 } num_nan: 1 } } }
  features { name: "fare" type: FLOAT num_stats { common_stats { num_non_missing: 10 } min: nan max: inf } }
  features { name: "job" type: STRING string_stats { common_stats { num_non_missing: 10 tot_num_values: 10 }
    unique: 3 rank_histogram { buckets { label: "smith" sample_count: 10 } } } }
  features { name: "trip" type: STRUCT struct_stats { common_stats { num_non_missing: 10 } } }
  features { name: "trip.day" type: STRING string_stats { rank_histogram { buckets { label: "8" } } } }
  features { name: "sparse" custom_stats { name: "missing_index" rank_histogram { buckets { sample_count: 2 } } } }
  features { name: "weighted" custom_stats { name: "missing_value" num: 2 } }
  features { name: "new" type: INT num_stats { common_stats { num_non_missing: 10 presence_and_valency_stats {
    min_num_values: 1 } } } custom_stats { name: "domain_info" str: "mid_domain {}" } } }
---
age.max=99)";

std::string part_of(const std::string& bytes, int part) {
  const std::string between = "\n---\n";
  size_t start = 0;
  for (; part > 0; --part) {
    const size_t end = bytes.find(between, start);
    if (end == std::string::npos) return "";
    start = end + between.size();
  }
  return bytes.substr(start, bytes.find(between, start) - start);
}

void judge(const tfmd::Schema& schema, const tfmd::DatasetFeatureStatisticsList& list) {
  const tfmd::DatasetFeatureStatistics* data = &all_examples(list);
  ValidateInputs inputs{data, data, data, data};
  if (schema.default_environment_size() > 0) inputs.environment = schema.default_environment(0);
  const Validation found = validate(schema, inputs);
  metadata_bytes(anomalies_of(found, schema), MetadataForm::kBinary);
  std::set<FeaturePath> paths;
  for (const FeatureAnomaly& anomaly : found.features) paths.insert(anomaly.path);
  const tfmd::Schema fixed = fixed_schema(schema, inputs, paths, true, "why");
  metadata_bytes(fixed, MetadataForm::kBinary);
  validate(fixed, inputs);
}

bool accept(const std::string& bytes) {
  try {
    tfmd::Schema schema;
    tfmd::DatasetFeatureStatisticsList list;
    parse_metadata(part_of(bytes, 1), list);
    const tfmd::Schema inferred = infer_schema(list);
    judge(inferred, list);
    parse_metadata(part_of(bytes, 0), schema);
    judge(schema, list);
    const std::string words = part_of(bytes, 2);
    edited_schema(schema, {.set = {words}, .allow = {}, .in = {}, .not_in = {}, .environments = {"serving"}});
    return true;
  } catch (const FormatError&) {
    return false;
  } catch (const ValueError&) {
    return false;
  } catch (const UnsupportedError&) {
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_validate", {kSeed},
                   {"feature {",
                    "}",
                    "---",
                    "name: \"age\"",
                    "name: \"\"",
                    "path { step: \"a\" }",
                    "type: STRING",
                    "type: BYTES",
                    "bool_domain {}",
                    "shape {}",
                    "nan",
                    "inf",
                    "-1e300",
                    "18446744073709551615",
                    "lifecycle_stage: ALPHA",
                    "domain: \"job\"",
                    "invalid_utf8_count: 1",
                    "age.drift=",
                    "trip.day.min=1",
                    "job.string_domain.value=x",
                    "age.max_deviation=1",
                    "espalier.",
                    "'",
                    "."},
                   accept);
}
