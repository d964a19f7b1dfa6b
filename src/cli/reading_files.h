// The files of a model that say how a row of a table, or an image, is read and what outputs mean.
#pragma once

#include "cli/train_images.h"
#include "tables/loaded_table_model.h"

namespace espalier::cli {

inline constexpr const char* kReadingFiles[] = {kColumnsFile, kDecisionFile, kImagesFile};
// What the keys begin with under which ONNX files have them.
inline constexpr const char* kMetadataPrefix = "espalier.";

}  // namespace espalier::cli
