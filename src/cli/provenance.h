// Where a model comes from: its files by content, and the rows that were kept from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/split.h"
#include "cli/table_data.h"

namespace espalier::cli {

// The rows of the file it learned from that judge it: their numbers, a line each.
inline constexpr const char* kHeldOutFile = "held_out.csv";

// What training.json keeps as "lineage". Standard input has no name to find it by, and no digest.
nlohmann::ordered_json lineage_of(const TrainPlan& plan, const CsvTable& table, const CsvTable& test,
                                  const Split& rows);
std::string held_out_csv(const Split& rows);

// Of a model: nothing for one that says nothing of it. Raises FormatError[model.lineage].
struct Source {
  std::string file, sha256, licence, origin;
  uint64_t bytes = 0;
  std::optional<int64_t> rows = {};  // of tables
};
struct Lineage {
  Source data;
  std::optional<Source> test, schema;
  std::string environment;                 // of the schema; "": none
  int64_t learn = 0, stop = 0, judge = 0;  // rows
  std::string split;
  uint64_t seed = 0;
};
std::optional<Lineage> read_lineage(const LoadedModel& model, const std::string& path);

// --all-rows.
void add_all_rows(CLI::App& verb, bool& all);
// Of `rows`, those with a label of the table at `data`, the ones that may judge the model at `path`: all of
// them, unless it is the very file that the model learned from; a line on standard error says so, and names
// the `flag`.
std::vector<int64_t> judging_rows(const TableModel& saved, const std::string& path, const CsvTable& table,
                                  const std::string& data, std::vector<int64_t> rows, bool all,
                                  const Results& results, const char* flag = "; --all-rows takes all");
// How many of these rows the model learned from, as far as it says.
int64_t rows_learned(const TableModel& saved, const std::string& path, const CsvTable& table,
                     const std::string& data, const std::vector<int64_t>& rows);

}  // namespace espalier::cli
