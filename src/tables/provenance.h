// Where a model comes from: its files by content, and its test rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/messages.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance_text.h"
#include "tables/split.h"

namespace espalier {

// What messages, and training.json, call tables that lie in no file.
inline constexpr const char *kInMemory = "the table", *kTestInMemory = "the test table";

// What training.json keeps as "lineage"; `alike` as of Lineage. Standard input has no name to find it by, and
// no digest, nor has a table in memory.
nlohmann::ordered_json lineage_of(const TrainPlan& plan, const CsvTable& table, const CsvTable& test,
                                  const TrainingSplit& rows, int64_t alike);
std::string held_out_csv(const TrainingSplit& rows);

// Of a model: nothing for one that says nothing of it. Raises FormatError[model.lineage].
std::optional<Lineage> read_lineage(const LoadedModel& model, const std::string& path);

// The same of a model of images; nothing where it does not say where they lie.
std::optional<ImageSource> read_image_source(const LoadedModel& model, const std::string& path);

// Of `rows`, those with a label of the table at `data`, the ones to evaluate the model at `path` on: all of
// them, unless it is the very file that the model was trained on: then its test rows, and those that came
// later. A line on standard error says so, and names the `flag`, or that the model does not say what it was
// trained on.
std::vector<int64_t> rows_to_evaluate(const LoadedTableModel& saved, const std::string& path,
                                      const CsvTable& table, const std::string& data,
                                      std::vector<int64_t> rows, bool all, const Messages& messages,
                                      const char* flag = "; --all-rows takes all");
// How many of these rows the model was trained on, as far as it says.
int64_t rows_learned(const LoadedTableModel& saved, const std::string& path, const CsvTable& table,
                     const std::string& data, const std::vector<int64_t>& rows);

}  // namespace espalier
