#include "train/saved_files.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/near_paths.h"
#include "espalier/error.h"

namespace espalier::saved_files {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kChecksums = "crc32";

Json checksum(const std::string& bytes) { return crc32_of(bytes.data(), bytes.size()); }

// Other programs may write the same JSON with other blanks.
Json checksum_of(Json description) {
  description.erase(kChecksums);
  return checksum(description.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Whoever edits it by hand wants another threshold.
const char* fix_of(const std::string& file) {
  return file == "decision.json" ? "the files as they were; `espalier threshold` sets a threshold" : "";
}

}  // namespace

void put_checksums(Json& description, const Files& files) {
  Json sums = Json::object();
  for (const auto& [name, bytes] : files) {
    if (name != kDescription && name != kWeights) sums[name] = checksum(bytes);
  }
  sums[kDescription] = checksum_of(description);
  description[kChecksums] = sums;
}

void check_checksums(const Json& description, const Files& files, const std::string& path) {
  const auto found = description.find(kChecksums);
  if (found == description.end()) return;
  const auto fail = [&](const std::string& file, const std::string& what, const char* fix) {
    throw FormatError("saved_model.content", cat(path, "/", file, ": ", what), fix);
  };
  if (!found->is_object()) fail(kDescription, "\"crc32\" needs the checksums of files by name", "");
  for (const auto& [file, sum] : found->items()) {
    const auto bytes = files.find(file);
    if (file != kDescription && bytes == files.end()) fail(file, "is missing", "");
    if (sum != (file == kDescription ? checksum_of(description) : checksum(bytes->second)))
      fail(file, "is not as it was saved: its checksum is another than the description's", fix_of(file));
  }
  for (const auto& [file, bytes] : files) {
    if (file != kDescription && file != kWeights && !file.starts_with('.') && !found->contains(file))
      fail(file, "is not the model's: the description has no checksum of it", "keep it elsewhere");
  }
}

Files with_file(Files files, const std::string& name, const std::string& text) {
  Json description = Json::parse(files.at(kDescription));
  Json& names = description["files"];
  if (names.is_null() || std::ranges::find(names, Json(name)) == names.end()) names.push_back(name);
  files[name] = text;
  put_checksums(description, files);
  files[kDescription] = description.dump(2) + "\n";
  return files;
}

bool holds_model(const std::string& path) { return posix_env().exists(cat(path, "/", kDescription)); }

std::string near_models(const std::string& path) { return near_paths(path, holds_model); }

}  // namespace espalier::saved_files
