// The gates of a release: what has to hold of an Assessment, as a person writes it in TOML. docs/gates.md
// says what each key means.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fairness/assessment.h"
#include "fairness/gaps.h"
#include "format/expression.h"
#include "gate/data_faults.h"

namespace espalier {

enum class Where {
  kOverall,
  kSlice,    // one slice, "sex=Female"
  kEach,     // every slice of "sex" or "sex*age"
  kBetween,  // the lowest with the highest of these
  kData,     // no slice: columns of the tables
};
// What an interval has to prove.
enum class Decide { kEstimate, kProvenOver, kProvenUnder };
enum class Severity { kError, kWarn };
enum class Change { kNone, kAbsolute, kRelative };
// What becomes of slices of too few rows.
enum class Thin { kUndecided, kLeftOut };

// What `against` calls all rows.
inline constexpr std::string_view kAllRows = "overall";

struct Gate {
  std::string name;                  // no other gate has it
  std::string of;                    // the metric or criterion; of kData "drift"
  std::vector<SliceMetric> metrics;  // one, or the rates of the criterion
  FaultOf fault = FaultOf::kSchema;  // of kData
  std::string column = {};           // of kData: the one whose faults count; "": any
  Where where = Where::kOverall;
  std::string slice = {};  // "sex=Female"; of kEach and kBetween "sex*age"
  // The slice that others are less by: "sex=Male", "overall", or none.
  std::string against = {};
  // Of kBetween: columns in whose values rows must be alike to be compared.
  std::vector<std::string> given = {};
  Measure measure = Measure::kDifference;
  Change change = Change::kNone;  // against the baseline
  // Both are allowed themselves.
  std::optional<double> min = {}, max = {};
  Decide decide = Decide::kEstimate;
  Severity severity = Severity::kError;
  double threshold = 0.5;
  int64_t least_rows = 0;  // that a number counts
  Thin thin = Thin::kUndecided;
  std::string place = {};  // of `slice`: "gates.toml, line 3, column 9"

  std::vector<std::string> columns() const;  // that slices are by, those of `given` last
  std::vector<std::string> against_columns() const;
  // Whether no row is in both a slice and the one that it is against.
  bool apart() const;
  std::string within() const;  // " within job", or "" where nothing is given
};
// Who lets a gate, or one slice of it, pass until when.
struct Waiver {
  std::string gate, slice, name, reason;
  std::chrono::year_month_day expires = {};  // the last day
};
struct Gates {
  double level = kLevel;  // of intervals
  std::vector<Gate> gates = {};
  std::vector<Waiver> waivers = {};
  std::optional<Expression> where = {};           // of which rows all gates are
  std::map<std::string, Expression> slices = {};  // "name=yes" and "name=no" by what is true of a row
  std::map<std::string, std::vector<double>> buckets = {};  // edges, ascending, at which numbers are parted
  std::map<std::string, std::string> answers = {};  // why they are as they are: `espalier fairness choose`
  std::string positive = {};          // of two classes the one that rates count; "": it is not said
  std::string positive_place = {};    // "gates.toml, line 2, column 12"
  std::string positive_comment = {};  // of files of earlier versions, which have no such key: "paid=yes"

  // What is positive of this label; "" where the file does not say it.
  std::string positive_of(const std::string& label) const;
  // What they ask of an Assessment; thresholds ascend.
  std::vector<double> thresholds() const;
  bool ask_data() const;
  std::vector<std::vector<std::string>> slicings() const;
};

// Raises FormatError with `source`, line and column: gates.size beyond 1 MiB, gates.syntax, gates.key,
// gates.type, gates.range, gates.choice, gates.required, gates.slice, gates.name for two of one name,
// gates.options for keys that do not fit together, gates.waiver, and expression.* for conditions.
Gates read_gates(const std::string& text, const std::string& source);
// A column that a gate names and the table lacks, unless it is one of these conditions, is a mistake of the
// file of gates: raises ValueError[csv.column] with the place of the gate.
void check_columns(const Gates& gates, const std::map<std::string, Expression>& conditions,
                   const CsvTable& table);
// Whether the metric, or a gate, counts from the positive one of two classes, so that another one gives
// another figure: not accuracy, log loss or the area under the curve.
bool counts_positives(const SliceMetric& metric, double threshold);
bool counts_positives(const Gate& gate);
// What gates and rows say of it. Raises FormatError[gates.positive] for the key where rows are not of two
// classes.
void check_positive(const Gates& gates, const Assessment& assessment);
// A first file: gates that this release passes and those of fairness that it may not, with the numbers of
// today beside each. `of`: where, slices, buckets and positive, that the file keeps; of `data` unless null,
// there are gates too; `remarks`: comments at the top. Raises ValueError[toml.utf8] for the name of a column.
// REQUIRES: thresholds in [0, 1].
std::string gates_of(const Assessment& assessment, const Gates& of = {}, const DataAnswer* data = nullptr,
                     const std::vector<std::string>& remarks = {});

}  // namespace espalier
