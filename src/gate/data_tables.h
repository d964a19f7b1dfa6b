// Schemas and statistics as tables for people.
#pragma once

#include <string>

#include "report/terminal.h"
#include "validate/metadata_files.h"

namespace espalier {

// A line for each feature: type, presence, valency, domain, and notes where some feature has one. Features
// within others have paths, "trip.day".
std::string schema_table(const tfmd::Schema& schema, const Terminal& terminal);

// For each data set its rows, then numbers and texts in a table each.
std::string statistics_tables(const tfmd::DatasetFeatureStatisticsList& list, const Terminal& terminal);

}  // namespace espalier
