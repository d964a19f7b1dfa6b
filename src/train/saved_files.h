// What the folder of a saved model holds.
#pragma once

#include <string>

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

// Whether a model lies at `path`.
bool holds_model(const std::string& path);
// Of near_paths() those where one does.
std::string near_models(const std::string& path);

}  // namespace espalier::saved_files
