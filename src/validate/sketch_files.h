// Statistics of tables in files from which more can be merged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "validate/statistics.h"

namespace espalier {

// A file of all that TableStatistics hold: a TFRecord of one record.
std::string sketch_file(const TableStatistics& statistics);
// Whether a file is one, by its content. Raises IoError, FormatError[gzip.*].
bool is_sketch_file(const std::string& path);

// The statistics of all rows of all tables whose sketches these are, the same in any order of the files:
// those of the tables read together, as long as these are exact. A column without values in a file, or of
// whole numbers beside other ones, gets the type that all have. Raises FormatError[record.*], [sketch.*];
// ValueError[sketch.columns], [sketch.flags], [sketch.type] for sketches that do not go together.
TableStatistics merged_sketches(const std::vector<TableFile>& files);

}  // namespace espalier
