// Mutated schemas, statistics and anomalies, as text, bytes and TFRecords: refused with an error, or a
// message that writes and reads back.
#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "validate/metadata_files.h"

using namespace espalier;

namespace {

const char* const kSchema =
    R"(feature { name: "age" type: INT presence { min_fraction: 1.0 min_count: 1 } shape {} }
feature { name: "fare" value_count { min: 1 } float_domain { min: -inf max: 1e+16 } lifecycle_stage: BETA }
feature { name: "job" domain: "job" drift_comparator { infinity_norm { threshold: 0.01 } } not_in_environment: "serving" }
feature { name: "trip" struct_domain { feature { name: "day" annotation { tag: "t" } } } }
string_domain { name: "job" value: "clerk" value: "\303\251" }
tensor_representation_group { key: "" value { tensor_representation { key: "x" value { dense_tensor {} } } } }
)";
const char* const kStatistics = R"(datasets { name: "train" num_examples: 3
  features { path { step: "age" } type: INT num_stats {
    common_stats { num_non_missing: 3 avg_num_values: 1.0 num_values_histogram { buckets { low_value: 1.0 } type: QUANTILES } }
    mean: 2.5 max: nan histograms { buckets { low_value: -inf high_value: 1.0 sample_count: 2.0 } } } }
  features { name: "job" type: STRING string_stats {
    unique: 2 top_values { value: "clerk" frequency: 2.0 } rank_histogram { buckets { label: "clerk" } } }
    custom_stats { name: "x" rank_histogram {} } } }
)";
const char* const kAnomalies = R"(baseline { feature { name: "age" } } data_missing: true
anomaly_info { key: "age" value { severity: ERROR reason { type: INT_TYPE_BIG_INT description: "d" } path { step: "age" } } }
drift_skew_info { path { step: "age" } drift_measurements { type: L_INFTY value: 0.5 } }
)";

template <class Message>
bool accept_as(const std::string& bytes) {
  try {
    Message message, again;
    parse_metadata(bytes, message);
    const std::string binary = metadata_bytes(message, MetadataForm::kBinary);
    parse_metadata(metadata_bytes(message, MetadataForm::kRecord), again);
    if (metadata_bytes(again, MetadataForm::kBinary) != binary) throw std::runtime_error("bytes differ");
    parse_metadata(metadata_bytes(message, MetadataForm::kText), again);
    return true;
  } catch (const FormatError&) {
    return false;
  } catch (const UnsupportedError&) {
    return false;
  }
}

template <class Message>
void add_seeds(const char* text, std::vector<std::string>& seeds) {
  Message message;
  parse_metadata(text, message);
  for (const MetadataForm form : {MetadataForm::kText, MetadataForm::kBinary, MetadataForm::kRecord})
    seeds.push_back(metadata_bytes(message, form));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  add_seeds<tfmd::Schema>(kSchema, seeds);
  add_seeds<tfmd::DatasetFeatureStatisticsList>(kStatistics, seeds);
  add_seeds<tfmd::Anomalies>(kAnomalies, seeds);
  return fuzz::run(
      argc, argv, "fuzz_metadata", seeds,
      {"feature {", "}", "<", "[1, 2]", "\"", "\\377", "inf", "nan", "1e999", "# ", "struct_domain {",
       "extra_metadata { [type.googleapis.com/tensorflow.metadata.v0.Schema] { } }", std::string("\x0a\0", 2),
       "\x0b\x0c", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\x07"},
      [](const std::string& bytes) {
        const bool schema = accept_as<tfmd::Schema>(bytes);
        const bool statistics = accept_as<tfmd::DatasetFeatureStatisticsList>(bytes);
        return accept_as<tfmd::Anomalies>(bytes) || statistics || schema;
      },
      fuzz::kTenfold);
}
