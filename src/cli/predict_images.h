// What a model of images says of files, of folders of them, and of digits.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"
#include "espalier/saved_model.h"

namespace espalier::cli {

struct PredictImagesRun {
  std::string model;
  std::vector<std::string> inputs;  // images, folders of images; or one folder of IDX files or CSV of digits
  bool all = false;                 // the probability of every class
  Results results;
};
// Warns of files that cannot be read, and says whether all could. Raises IoError, FormatError[images.files]
// where none can be read, ValueError[predict.images].
bool predict_files(const PredictImagesRun& run, LoadedModel& model);

}  // namespace espalier::cli
