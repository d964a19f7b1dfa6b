// Whether the values of a column are times: TensorFlow Data Validation's semantic domain of time.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "validate/metadata_files.h"
#include "validate/sketch_bytes.h"

namespace espalier {

// The formats of texts that are looked for, in strptime's directives: dates, times, and dates with times
// behind "T" or a blank. Of several that fit equally often the first counts.
const std::vector<std::string>& time_formats();
// Whether a text is one of the format, as TensorFlow Data Validation has it: a directive takes digits or
// names as strptime does, %S a minute's seconds, the point before %f is any character.
bool fits_time_format(std::string_view format, std::string_view text);

// How many values fit each format: texts those above, whole numbers the seconds, milliseconds, microseconds,
// nanoseconds or days since 1970 of a time from 1990 to 2029. Merges in any order to the same.
class TimeCounts {
 public:
  void add(std::string_view text);
  void add(double whole);
  void merge(const TimeCounts& other);

  // Adds the custom statistics "domain_info", which schemas are inferred from, and "time_match_ratio" where
  // there are at least 100 `values` of which 0.8 fit one format. A text without characters among them spoils
  // all.
  void fill(uint64_t values, tfmd::FeatureNameStatistics& out) const;

  // As bytes. read() REQUIRES: nothing was added; `values` there are; raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in, uint64_t values);

 private:
  static constexpr size_t kUnits = 5;
  std::array<uint64_t, kUnits> units_{};
  std::vector<uint64_t> formats_ = std::vector<uint64_t>(time_formats().size());
  uint64_t empty_ = 0;
};

}  // namespace espalier
