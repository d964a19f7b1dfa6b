// What data is, what it should be, and whether it is that: `espalier data stats`, `data schema` and
// `data validate`, from a program.
//
//     const DataStatistics train = DataStatistics::of_files({"train.csv"});
//     const DataSchema schema = DataSchema::infer(train).edited({.set = {"age.max=120"}});
//     schema.save("schema.pbtxt");
//
//     const DataFindings found = schema.check(DataStatistics::of_files({"new.csv"}), {.previous = train});
//     std::cout << found.text();
//     return found.has_errors() ? 1 : 0;
//
// The files are those of tensorflow_metadata, which TensorFlow Data Validation reads and writes too; the
// definitions are its own where docs/formats.md and docs/anomalies.md do not say otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier {

// How tables are read of which statistics are wanted.
struct DataStatisticsOptions {
  CsvOptions csv = {};                    // of CSV alone, as the next two
  std::vector<std::string> missing = {};  // words beside no text that mean that a cell is missing
  bool empty_is_present = false;          // a cell without text is present and holds no value
  std::string weight = {};  // a column of numbers from 0 to 1e9 by which rows count; "": all are 1
  std::string slice = {};   // a column; the rows of each of its values, at most 200, have statistics too
  bool semantic_domains = false;  // asks of columns whether their values are times
};

// What statistics say of a feature, unweighted.
struct FeatureSummary {
  std::string name;                // "trip.fare" of a feature within another
  std::string type;                // INT, FLOAT, STRING, BYTES or STRUCT
  int64_t count = 0, missing = 0;  // rows with the feature, and without
  // Of numbers; none where there are none.
  std::optional<double> mean = {}, deviation = {}, min = {}, median = {}, max = {};
  int64_t zeros = 0;
  // Of texts; the most frequent ones first.
  std::optional<int64_t> unique = {};
  std::vector<std::pair<std::string, double>> top = {};
  // Whether all of it is exact: beyond some thousands of different values quantiles, unique and top values
  // are not.
  bool exact = true;
};

// Immutable; copies share.
class DataStatistics {
 public:
  // Of all rows of files of one form and of equal columns: CSV, JSON Lines or TFRecords of tf.Example, gzip
  // too. They are read in blocks on all threads; the same files give the same statistics on any number of
  // them. Raises IoError, FormatError and ValueError with the file and the line: csv.*, rows.*, stats.*,
  // record.*.
  static DataStatistics of_files(const std::vector<std::string>& paths,
                                 const DataStatisticsOptions& options = {}, Location at = Location::here());
  // Of a table that was read already; options.csv is passed over. Raises ValueError: stats.*.
  static DataStatistics of_table(const CsvTable& table, const DataStatisticsOptions& options = {},
                                 Location at = Location::here());
  // A DatasetFeatureStatisticsList as protobuf's text, bytes or TFRecord, gzip too. Raises IoError,
  // FormatError: metadata.*, statistics.*.
  static DataStatistics load(const std::string& path, Location at = Location::here());

  int64_t rows() const;
  // Of all rows, in the order of the statistics.
  std::vector<FeatureSummary> features() const;
  // The tables of `espalier data stats`.
  std::string text() const;
  // As text, bytes or TFRecord, by the ending: .pbtxt, .pb, .tfrecord. Raises ValueError[metadata.name] for
  // another one, IoError.
  void save(const std::string& path, Location at = Location::here()) const;

  struct State;

 private:
  friend class DataSchema;
  explicit DataStatistics(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

struct InferenceOptions {
  int64_t most_values = 100;  // a text of at most so many different values has them as its domain
  bool shapes = true;         // features that always have as many values get a shape, not a number of values
};

// Changes in words, in this order; docs/rows.md and `espalier data schema --help` name the fields.
struct SchemaChanges {
  std::vector<std::string> environments = {};  // that the schema lists from now on
  std::vector<std::string> set = {};           // "FEATURE.FIELD=VALUE", as "age.max=120"; no value clears it
  std::vector<std::string> allow = {};         // "FEATURE=VALUE": one more value of its domain of texts
  std::vector<std::string> in = {}, not_in = {};  // "ENVIRONMENT:FEATURE"
  std::vector<std::string> dropped_rules = {};
  std::vector<std::string> rules = {};          // conditions that rows must fulfil; docs/expressions.md
  std::vector<std::string> warning_rules = {};  // or are worth a warning where they do not
};

// What statistics are held against beside the schema.
struct DataCheckOptions {
  std::string environment = {};                         // one of the schema's; "": of none in particular
  std::optional<DataStatistics> previous = {};          // the data before, for drift
  std::optional<DataStatistics> serving = {};           // what a model serves, for skew
  std::optional<DataStatistics> previous_version = {};  // for the number of rows
  std::vector<std::string> warnings = {};  // anomalies that are no errors, as "SCHEMA_NEW_COLUMN"
};

// One reason why data is not as a schema says; docs/anomalies.md names all.
struct DataAnomaly {
  std::string feature;               // "" of the data set
  std::string type;                  // "ENUM_TYPE_UNEXPECTED_STRING_VALUES"
  bool error = true;                 // else a warning
  std::string summary, description;  // those of TensorFlow Data Validation
  std::string observed, limit;       // what the data has, and what the schema asks for
};

// Immutable; copies share.
class DataFindings {
 public:
  // Whether one of them is no warning, or there are no rows at all.
  bool has_errors() const;
  // Of the data set first, then of features by their paths.
  std::vector<DataAnomaly> anomalies() const;
  // "2 things are not as the schema says: age (Out-of-range values: 99); ..."
  std::string sentence() const;
  // The sentence, and the tables of `espalier data validate`.
  std::string text() const;
  // The fields `errors`, `data_missing`, `anomalies` and `measured` of `data validate --json`.
  std::string json() const;
  // The Anomalies of tensorflow_metadata, by the ending as DataStatistics::save().
  void save(const std::string& path, Location at = Location::here()) const;

  struct State;

 private:
  friend class DataSchema;
  explicit DataFindings(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Immutable; copies share.
class DataSchema {
 public:
  // By the rules of TensorFlow Data Validation. Raises FormatError[statistics.*], [data.rows] without rows.
  static DataSchema infer(const DataStatistics& statistics, const InferenceOptions& options = {},
                          Location at = Location::here());
  // Raises IoError, FormatError: metadata.*.
  static DataSchema load(const std::string& path, Location at = Location::here());
  // The same of its content.
  static DataSchema parse(const std::string& content, Location at = Location::here());

  // Raises ValueError[schema_edit.*] with the nearest names; of rules FormatError and
  // ValueError[expression.*].
  DataSchema edited(const SchemaChanges& changes, Location at = Location::here()) const;
  // Raises ValueError: validate.environment, data.warn for an anomaly that there is not.
  DataFindings check(const DataStatistics& statistics, const DataCheckOptions& options = {},
                     Location at = Location::here()) const;
  // The schema that this data fits: with the fixes of all anomalies, each with the reason in its annotation.
  // Raises as check().
  DataSchema fixed(const DataStatistics& statistics, const DataCheckOptions& options = {},
                   const std::string& reason = {}, Location at = Location::here()) const;

  // The table of `espalier data schema --show`.
  std::string text() const;
  // Protobuf's text of it, which RowGuard::parse() (rows.h) takes.
  std::string proto_text() const;
  // By the ending as DataStatistics::save().
  void save(const std::string& path, Location at = Location::here()) const;

  struct State;

 private:
  explicit DataSchema(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace espalier
