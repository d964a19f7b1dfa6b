// TFRecords of tf.Example as a table of rows.
#pragma once

#include <memory>

#include "format/byte_source.h"
#include "validate/row_values.h"

namespace espalier {

// Whether the first record of a file of records is a tf.Example. Raises FormatError[record.*].
bool holds_examples(std::unique_ptr<ByteSource> bytes);

// Rows are records. A feature of another kind than before is a mistake, as it is where TensorFlow reads it;
// one without a kind, or that an example does not name, is missing; an empty list is present and has no
// value. Numbers are the nearest f64. rows() raises FormatError[record.*], [examples.record], [rows.type].
std::unique_ptr<NamedBlocks> open_examples(std::unique_ptr<ByteSource> bytes, size_t block);

}  // namespace espalier
