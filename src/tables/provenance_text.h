// The files of a model that say where it comes from. Anybody may have edited them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace espalier {

// How it was trained and how good it was: what `train --json` says.
inline constexpr const char* kHistoryFile = "training.json";
// The test rows of the file it was trained on: their numbers, a line each.
inline constexpr const char* kHeldOutFile = "held_out.csv";

// Hashes of its training rows, a hash_list().
inline constexpr const char* kLearnedFile = "learned.txt";

struct FileSource {
  std::string file, sha256, licence, origin;
  uint64_t bytes = 0;
  std::optional<int64_t> rows = {};  // of tables
};
struct Lineage {
  FileSource data;
  std::optional<FileSource> test, schema;
  std::string environment;  // of the schema; "": none
  // "learn", "stop" and "judge" of the file; test_rows are of `data`, 0 where there is a `test`.
  int64_t train_rows = 0, validation_rows = 0, test_rows = 0;
  int64_t alike = 0;  // validation rows with the inputs of a training row
  std::string split;
  uint64_t seed = 0;
};

// Images have no digest.
struct ImageSource {
  std::string place, licence, origin;
  std::string sha256 = {};  // of digest_images(); "" of models of earlier versions, and of a stream
  uint64_t bytes = 0;
  int64_t train_rows = 0, test_rows = 0;
  uint64_t seed = 0;
};

// What the training.json of the model at `path` keeps as "lineage": nothing for one that has none. Raises
// FormatError[model.lineage].
std::optional<Lineage> lineage_in(const nlohmann::ordered_json& history, const std::string& path);
// What that of a model of images says of them: nothing where it names no place. Raises
// FormatError[model.lineage].
std::optional<ImageSource> image_source_in(const nlohmann::ordered_json& history, const std::string& path);
// The rows that its held_out.csv names, counted from 0, in order. Raises
// FormatError[model.lineage] and what parse_csv does.
std::vector<int64_t> held_out_rows(const std::string& text, const std::string& path);
// Those of its learned.txt, in order. Raises FormatError[rule].
std::vector<uint64_t> learned_hashes(const std::string& text, const std::string& path, const char* rule);

}  // namespace espalier
