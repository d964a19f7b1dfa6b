#include "tables/provenance_text.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/hash_list.h"
#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier {
namespace {

[[noreturn]] void refuse_text(const std::string& path, const std::string& file, const std::string& what) {
  throw FormatError("model.lineage", cat(path, "/", file, ": ", what), "train the model again");
}

constexpr uint64_t kMostRows = uint64_t{1} << 52;

uint64_t whole(const nlohmann::ordered_json& json, const char* key, const std::string& path,
               uint64_t most = kMostRows) {
  const auto& value = json.at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > most)
    refuse_text(path, kHistoryFile, cat("\"", key, "\" of the lineage must be a whole number up to ", most));
  return value.get<uint64_t>();
}
int64_t row_count(const nlohmann::ordered_json& json, const char* key, const std::string& path) {
  return static_cast<int64_t>(whole(json, key, path));
}

FileSource source_of(const nlohmann::ordered_json& json, const std::string& path, bool table = true) {
  try {
    FileSource out = {.file = json.at("file"),
                      .sha256 = json.value("sha256", ""),
                      .licence = json.value("licence", ""),
                      .origin = json.value("origin", "")};
    if (json.contains("bytes")) out.bytes = whole(json, "bytes", path);
    if (table) out.rows = row_count(json, "rows", path);
    return out;
  } catch (const nlohmann::json::exception& error) {
    refuse_text(path, kHistoryFile, cat("the lineage names no file: ", error.what()));
  }
}

}  // namespace

std::optional<Lineage> lineage_in(const nlohmann::ordered_json& history, const std::string& path) {
  const auto found = history.find("lineage");
  if (found == history.end()) return std::nullopt;
  if (!found->is_object()) refuse_text(path, kHistoryFile, "the lineage is no object");
  Lineage out;
  try {
    out.data = source_of(found->at("data"), path);
    if (found->contains("test")) out.test = source_of(found->at("test"), path);
    if (found->contains("schema")) {
      out.schema = source_of(found->at("schema"), path, false);
      out.environment = found->at("schema").value("environment", "");
    }
    const auto& split = found->at("split");
    out.split = split.at("kind");
    out.seed = whole(split, "seed", path, UINT64_MAX);
    out.train_rows = row_count(split, "learn", path);
    out.validation_rows = row_count(split, "stop", path);
    out.test_rows = row_count(split, "judge", path);
    if (split.contains("alike")) out.alike = row_count(split, "alike", path);
  } catch (const nlohmann::json::exception& error) {
    refuse_text(path, kHistoryFile, cat("the lineage is incomplete: ", error.what()));
  }
  return out;
}

std::optional<ImageSource> image_source_in(const nlohmann::ordered_json& history, const std::string& path) {
  if (!history.is_object() || !history.contains("data")) return std::nullopt;
  try {
    return ImageSource{.place = history.at("data"),
                       .licence = history.value("licence", ""),
                       .origin = history.value("origin", ""),
                       .sha256 = history.value("sha256", ""),
                       .bytes = history.contains("bytes") ? whole(history, "bytes", path, UINT64_MAX) : 0,
                       .train_rows = row_count(history, "train_rows", path),
                       .test_rows = row_count(history, "test_rows", path),
                       .seed = whole(history, "seed", path, UINT64_MAX)};
  } catch (const nlohmann::json::exception& error) {
    refuse_text(path, kHistoryFile, cat("what it says of its images is incomplete: ", error.what()));
  }
}

std::vector<int64_t> held_out_rows(const std::string& text, const std::string& path) {
  std::vector<int64_t> out;
  const CsvTable rows = parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
  for (int64_t i = 0; i < rows.rows(); ++i) {
    const double number = rows.number_or_nan(i, 0);
    if (!(number >= 1 && number <= static_cast<double>(kMostRows) && number == std::floor(number)))
      refuse_text(path, kHeldOutFile, cat("line ", rows.line(i), " is no number of a row"));
    out.push_back(static_cast<int64_t>(number) - 1);
  }
  std::ranges::sort(out);
  return out;
}

std::vector<uint64_t> learned_hashes(const std::string& text, const std::string& path, const char* rule) {
  std::optional<std::vector<uint64_t>> out = hash_list(text);
  if (!out)
    throw FormatError(
        rule,
        cat(path, "/", kLearnedFile, " is no list of hashes of ", kHashDigits, " hexadecimal digits each"),
        "train the model again");
  return std::move(*out);
}

}  // namespace espalier
