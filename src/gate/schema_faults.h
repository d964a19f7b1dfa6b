// What a schema, one's own or that of the training rows, says of the rows that a model meets.
#pragma once

#include "gate/data_faults.h"

namespace espalier {

// What the training rows say of columns: types, presence, values of texts that are few.
tfmd::Schema infer_train_schema(const CsvTable& train, const DataFaultOptions& options);

// TensorFlow Data Validation's anomalies of `now`, first those of the data set, then in the order of the
// columns; drift comparators are held against the training rows, skew comparators too, by their own
// names: these rows are "previous" and "training". The ratios of numbers of rows are of spans and versions,
// which training rows and new rows are not, and are not asked. A missing word that a domain of texts lists is
// a value. Then rules: how many rows break each; one that lacks a column is a fault, and one that could be
// asked of no row is none: `not_asked` gets those. Raises ValueError[validate.environment],
// FormatError[schema.tag], FormatError and ValueError[expression.*].
std::vector<DataFault> find_schema_faults(const CsvTable& train, const CsvTable& now,
                                          const DataFaultOptions& options, std::vector<NotJudged>& not_asked);

}  // namespace espalier
