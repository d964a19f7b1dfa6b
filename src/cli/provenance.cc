#include "cli/provenance.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/sha256.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of_source(const std::string& file, const CsvTable* table = nullptr) {
  Json out = {{"file", file}};
  if (table) out["rows"] = table->rows();
  if (file == "-") return out;
  const FileDigest digest = digest_file(file);
  out["bytes"] = digest.bytes;
  out["sha256"] = digest.sha256;
  return out;
}

bool same_bytes(const Source& source, const std::string& data) {
  std::error_code none;
  if (source.sha256.empty() || data == "-" || std::filesystem::file_size(data, none) != source.bytes)
    return false;
  return digest_file(data).sha256 == source.sha256;
}

}  // namespace

Json lineage_of(const TrainPlan& plan, const CsvTable& table, const CsvTable& test, const Split& rows) {
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
                  {"judge", rows.test.size()}};
  return out;
}

std::string held_out_csv(const Split& rows) {
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

void add_all_rows(CLI::App& verb, bool& all) {
  verb.add_flag("--all-rows", all,
                "Of the file that the model learned from all rows, not those that were kept apart");
}

namespace {

// Of `rows` those that were kept apart, where the table at `data` is the one that the model learned from.
std::optional<std::vector<int64_t>> kept_apart(const TableModel& saved, const std::string& path,
                                               const CsvTable& table, const std::string& data,
                                               const std::vector<int64_t>& rows) {
  const std::optional<Lineage> lineage = read_lineage(saved.model, path);
  if (!lineage || !same_bytes(lineage->data, data)) return std::nullopt;
  std::vector<int64_t> out;
  if (saved.model.has_file(kHeldOutFile) && table.rows() == lineage->data.rows)
    std::ranges::set_intersection(rows, held_out_rows(saved.model.file(kHeldOutFile), path),
                                  std::back_inserter(out));
  return out;
}

}  // namespace

std::vector<int64_t> judging_rows(const TableModel& saved, const std::string& path, const CsvTable& table,
                                  const std::string& data, std::vector<int64_t> rows, bool all,
                                  const Results& results, const char* flag) {
  const std::optional<std::vector<int64_t>> kept = kept_apart(saved, path, table, data, rows);
  if (!kept) return rows;
  if (!all && !kept->empty()) {
    std::fputs(cat("note: the model learned from ", data, ": of its rows those ", kept->size(),
                   " judge that were kept apart", flag, "\n")
                   .c_str(),
               stderr);
    return *kept;
  }
  results.warn({cat("the model learned from rows of ", data, ": other rows may fare worse")});
  return rows;
}

int64_t rows_learned(const TableModel& saved, const std::string& path, const CsvTable& table,
                     const std::string& data, const std::vector<int64_t>& rows) {
  const std::optional<std::vector<int64_t>> kept = kept_apart(saved, path, table, data, rows);
  return kept ? std::ssize(rows) - std::ssize(*kept) : 0;
}

}  // namespace espalier::cli
