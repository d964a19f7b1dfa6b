// Rows that a model is given, held against a schema: --schema and --quarantine.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common.h"
#include "espalier/csv.h"
#include "validate/row_judgement.h"

namespace espalier::cli {

struct RowFlags {
  std::string schema = {}, environment = {}, quarantine = {};

  void add(CLI::App& verb);
};

// Holds rows of tables against a schema, and writes those that are set aside.
class RowChecks {
 public:
  // Without a schema every row is good. `inputs` are files that the verb reads. Raises IoError, FormatError,
  // ValueError[results.out].
  RowChecks(const RowFlags& flags, const std::vector<std::string>& inputs);

  // `names`: the table's columns, as the schema knows them. Lines on standard error say what was found. The
  // judgement lives as long as this. Raises ValueError: rows.refused with lines, columns and limits;
  // rows.quarantine for rows to set aside without a file for them; as RowValidator.
  const RowJudgement& check(const std::string& path, const CsvTable& table, std::vector<std::string> names,
                            const std::vector<std::string>& missing,
                            const std::vector<std::string>& passed_over, const Results& results);
  // Writes the rows that were set aside, none among them: file, line, reason and their cells.
  void write() const;
  // What was found in each table; null without a schema.
  nlohmann::ordered_json json() const;

 private:
  struct Checked {
    std::string path;  // "-" is standard input
    CsvTable table;
    std::vector<std::string> names;
    std::vector<std::string> new_columns = {};
    std::vector<SchemaRule> left_out = {};
    RowJudgement judgement = {};
  };
  [[noreturn]] void refuse(const Checked& of) const;
  void say(const Checked& of, const Results& results) const;

  RowFlags flags_;
  std::optional<tfmd::Schema> schema_;
  std::deque<Checked> tables_;
};

}  // namespace espalier::cli
