// JSON Lines as a table of rows.
#pragma once

#include <memory>

#include "format/byte_source.h"
#include "validate/row_values.h"

namespace espalier {

// Rows are lines, of one object each; empty lines are none. A number, a text or a boolean (1 or 0) is a
// value; null is missing, as what is not there; a list has its elements as values, of which nulls are none.
// What is in an object within is named as by pandas' json_normalize(): {"trip": {"day": 1}} has "trip.day".
// Whole numbers of 64 bits are whole, others are numbers; a column has no numbers beside texts. rows() raises
// FormatError[json.*], [rows.twice], [rows.type] with the line.
std::unique_ptr<NamedBlocks> open_json_lines(std::unique_ptr<ByteSource> text, size_t block);

}  // namespace espalier
