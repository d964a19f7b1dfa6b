// TFRecords of tf.Example as a table of rows.
#pragma once

#include <memory>
#include <string>

#include "validate/table_rows.h"

namespace espalier {

// Whether the first record of a file of records is a tf.Example. Raises FormatError[record.*].
bool holds_examples(const std::string& path);

// Rows are records. A feature of another kind than before is a mistake, as it is where TensorFlow reads it;
// one without a kind, or that an example does not name, is missing; an empty list is present and has no
// value. Numbers are the nearest f64. rows() raises FormatError[record.*], [examples.record], [rows.type].
std::unique_ptr<TableBlocks> open_examples(const std::string& path, const TableOptions& options);

}  // namespace espalier
