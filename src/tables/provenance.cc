#include "tables/provenance.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/input_file.h"
#include "base/sha256.h"
#include "espalier/error.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

Json json_of_source(const std::string& file, const CsvTable* table = nullptr) {
  Json out = {{"file", file}};
  if (table) out["rows"] = table->rows();
  if (file == kInMemory || file == kTestInMemory || is_stream(file)) return out;
  const FileDigest digest = digest_file(file);
  out["bytes"] = digest.bytes;
  out["sha256"] = digest.sha256;
  return out;
}

// How the file at `data` begins: with these bytes and a line's end behind them, with these alone, or else.
enum class Begins { kElse, kWithMore, kAlone };
Begins begins(const std::string& data, const FileSource& source) {
  std::error_code none;
  if (source.sha256.empty() || is_stream(data)) return Begins::kElse;
  const uint64_t bytes = std::filesystem::file_size(data, none);
  if (none || bytes < source.bytes || digest_file(data, source.bytes).sha256 != source.sha256)
    return Begins::kElse;
  if (bytes == source.bytes) return Begins::kAlone;
  std::ifstream file(data, std::ios::binary);
  char around[2] = {};
  if (source.bytes == 0 || !file.seekg(static_cast<std::streamoff>(source.bytes) - 1) ||
      !file.read(around, 2))
    return Begins::kElse;
  const auto ends = [](char c) { return c == '\n' || c == '\r'; };
  return ends(around[0]) || ends(around[1]) ? Begins::kWithMore : Begins::kElse;
}

}  // namespace

Json lineage_of(const TrainPlan& plan, const CsvTable& table, const CsvTable& test, const TrainingSplit& rows,
                int64_t alike) {
  const DataPlan& data = plan.data;
  Json out = {{"data", json_of_source(data.file, &table)}};
  if (!data.licence.empty()) out["data"]["licence"] = data.licence;
  if (!data.origin.empty()) out["data"]["origin"] = data.origin;
  if (!data.test.empty()) out["test"] = json_of_source(data.test, &test);
  if (!data.schema.empty()) out["schema"] = json_of_source(data.schema);
  if (!data.environment.empty()) out["schema"]["environment"] = data.environment;
  out["split"] = {{"kind", data.test.empty() ? data.split : "test file"},
                  {"seed", plan.fit.seed},
                  {"learn", rows.train.size()},
                  {"stop", rows.validation.size()},
                  {"alike", alike},
                  {"judge", rows.test.size()}};
  return out;
}

std::string held_out_csv(const TrainingSplit& rows) {
  std::string out = "row\n";
  for (const int64_t row : rows.test) out += cat(row + 1, "\n");
  return out;
}

std::optional<Lineage> read_lineage(const LoadedModel& model, const std::string& path) {
  if (!model.has_file(kHistoryFile)) return std::nullopt;
  return lineage_in(json_file(model, kHistoryFile, path), path);
}

std::optional<ImageSource> read_image_source(const LoadedModel& model, const std::string& path) {
  if (!model.has_file(kHistoryFile)) return std::nullopt;
  return image_source_in(json_file(model, kHistoryFile, path), path);
}

namespace {

struct HeldOut {
  std::vector<int64_t> rows = {};
  int64_t later = 0;  // of them: how many came later
};
// Of `rows` the test rows and those that came later, where the table at `data` is the one that the model
// was trained on, or begins with it.
std::optional<HeldOut> held_out(const LoadedTableModel& saved, const std::optional<Lineage>& lineage,
                                const std::string& path, const CsvTable& table, const std::string& data,
                                const std::vector<int64_t>& rows) {
  const Begins as = lineage ? begins(data, lineage->data) : Begins::kElse;
  if (as == Begins::kElse) return std::nullopt;
  const int64_t before = lineage->data.rows.value_or(-1);
  if (as == Begins::kAlone ? before != table.rows() : before < 0 || before > table.rows()) return HeldOut();
  const auto is_later = [before](int64_t row) { return row >= before; };
  HeldOut out;
  if (saved.model.has_file(kHeldOutFile))
    std::ranges::set_intersection(rows, held_out_rows(saved.model.file(kHeldOutFile), path),
                                  std::back_inserter(out.rows));
  std::erase_if(out.rows, is_later);
  out.later = std::ranges::count_if(rows, is_later);
  std::ranges::copy_if(rows, std::back_inserter(out.rows), is_later);
  return out;
}

}  // namespace

std::vector<int64_t> rows_to_evaluate(const LoadedTableModel& saved, const std::string& path,
                                      const CsvTable& table, const std::string& data,
                                      std::vector<int64_t> rows, bool all, const Messages& messages,
                                      const char* flag) {
  const std::optional<Lineage> lineage = read_lineage(saved.model, path);
  const std::optional<HeldOut> kept = held_out(saved, lineage, path, table, data, rows);
  if (!lineage)
    messages.note(cat(path, " does not say what it was trained on: rows that are new to it may fare worse"));
  if (!kept) return rows;
  if (!all && !kept->rows.empty()) {
    const int64_t tests = std::ssize(kept->rows) - kept->later;
    messages.note(cat("the model was trained on ", kept->later ? "the first rows of " : "", data, ": only ",
                      tests ? cat("its ", counted(tests, "test row")) : "",
                      tests && kept->later ? " and " : "",
                      kept->later ? cat(counted(kept->later, "row"), " that came later") : "",
                      kept->rows.size() == 1 ? " is" : " are", " evaluated", flag));
    return kept->rows;
  }
  messages.warn({cat("the model was trained on rows of ", data, ": other rows may fare worse")});
  return rows;
}

int64_t rows_learned(const LoadedTableModel& saved, const std::string& path, const CsvTable& table,
                     const std::string& data, const std::vector<int64_t>& rows) {
  const std::optional<HeldOut> kept =
      held_out(saved, read_lineage(saved.model, path), path, table, data, rows);
  return kept ? std::ssize(rows) - std::ssize(kept->rows) : 0;
}

}  // namespace espalier
