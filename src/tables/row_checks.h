// Rows that a model is given, held against a schema.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/messages.h"
#include "data/missing_words.h"
#include "espalier/csv.h"
#include "validate/row_judgement.h"

namespace espalier {

struct RowCheckOptions {
  std::string schema = {}, environment = {}, quarantine = {}, slice = {};
  bool none = false;  // not even the schema that a model keeps
};

// The schema that a model keeps of its training rows, a file of its folder.
inline constexpr const char* kSchemaFile = "schema.pbtxt";
struct KeptSchema {
  std::string name, text;
};

// Holds rows of tables against a schema, and writes those that are set aside.
class RowChecks {
 public:
  // `kept` counts where no other schema is named; without any every row is good. `inputs` are files that the
  // verb reads. Raises IoError, FormatError, ValueError[results.out], [rows.schema] for flags that want a
  // schema.
  RowChecks(const RowCheckOptions& options, const std::vector<std::string>& inputs,
            const std::optional<KeptSchema>& kept = {});

  // `names`: the table's columns, as the schema knows them. Lines on standard error say what was found. The
  // judgement lives as long as this. Raises ValueError: rows.refused with lines, columns and limits;
  // rows.quarantine for rows to set aside without a file for them; rows.slice; as RowValidator.
  const RowJudgement& check(const std::string& path, const CsvTable& table, std::vector<std::string> names,
                            const MissingWords& missing, const std::vector<std::string>& passed_over,
                            const Messages& messages);
  // These words, without those that the schema lists as values of a column.
  MissingWords missing(const std::vector<std::string>& words) const;
  // Writes the rows that were set aside, none among them: file, line, reason and their cells.
  void write() const;
  // What was found in each table; null without a schema.
  nlohmann::ordered_json json() const;
  // What the schema calls favourable of this label; "" where it says nothing, or there is none.
  std::string favourable(const std::string& label) const;
  // The schema as text; "" without one.
  std::string schema_text() const;

 private:
  struct Checked {
    std::string path;  // "-" is standard input
    CsvTable table;
    std::vector<std::string> names;
    std::vector<std::string> new_columns = {};
    std::vector<SchemaRule> left_out = {};
    RowJudgement judgement = {};
    std::map<std::string, std::array<int64_t, 4>, std::less<>> slices = {};  // rows by RowOutcome
  };
  void count_slices(Checked& of) const;
  [[noreturn]] void refuse(const Checked& of, bool may_set_aside) const;
  void say(const Checked& of, const Messages& messages) const;

  RowCheckOptions options_;
  std::string name_;  // of the schema
  std::optional<tfmd::Schema> schema_;
  std::deque<Checked> tables_;
};

}  // namespace espalier
