// What the folder of a saved model holds.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace espalier::saved_files {

inline constexpr const char* kDescription = "model.json";
inline constexpr const char* kWeights = "weights.safetensors";
inline constexpr const char* kPrograms[] = {"inference.mlir", "training.mlir"};
inline constexpr const char* kFormat = "espalier.model";
inline constexpr int kVersion = 1;

// Whether a file of this name is no text that somebody put beside the model.
inline bool is_ours(const std::string& name) {
  return name == kDescription || name == kWeights || name == kPrograms[0] || name == kPrograms[1];
}

// By file name. The checksums in the description: `weights_crc32` of the weights, and under `crc32` those of
// each other file, of the description itself without this field.
using Files = std::map<std::string, std::string>;
void put_checksums(nlohmann::ordered_json& description, const Files& files);
// Models of before have none, and pass. Raises FormatError[saved_model.content] for a file that is damaged,
// lacking, or not the model's; those that begin with a point are nobody's.
void check_checksums(const nlohmann::ordered_json& description, const Files& files, const std::string& path);
// The files of a model with this one changed, or one more. REQUIRES: files that read_model() takes.
Files with_file(Files files, const std::string& name, const std::string& text);

// Whether a model lies at `path`.
bool holds_model(const std::string& path);
// Of near_paths() those where one does.
std::string near_models(const std::string& path);

}  // namespace espalier::saved_files
