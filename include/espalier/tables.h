// Tables of any form in which people keep rows.
#pragma once

#include <string>

#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier {

// A file as a table: CSV as read_csv() has it; JSON Lines, where the name ends in .jsonl, .ndjson or .json,
// or does not in .csv or .tsv and the text begins with "{"; TFRecords of tf.Example; gzip of any of them.
//
// Rows that name their values have the columns that any of them names, in the order in which JSON Lines first
// do, sorted from tf.Examples; what a row does not name, null and an empty list are empty cells. Whole
// numbers have all their digits and others are as written, those of f32 with the fewest digits; booleans are
// 1 and 0; {"trip": {"day": 1}} has "trip.day". A line of the table is the line, or the record, of the file.
//
// Memory is at most 16 times the text and 64 MiB. Raises IoError; for CSV as parse_csv(); FormatError with
// the name and the line or record: json.*, record.*, examples.record, rows.twice, rows.several for a list of
// several values, rows.name for an empty name, rows.text for text that is not UTF-8 or has a NUL,
// rows.names beyond 100,000 names, rows.sparse where hardly a cell of many is there, rows.empty without a
// row; ValueError[csv.form] where delimiter, header or names are given for what is no CSV.
CsvTable read_table(const std::string& path, const CsvOptions& options = {}, Location at = Location::here());
// The same of the bytes that a file of this name holds.
CsvTable parse_table(std::string bytes, const std::string& name, const CsvOptions& options = {},
                     Location at = Location::here());

}  // namespace espalier
