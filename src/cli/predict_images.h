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
// Raises IoError, FormatError[images.files] for files that cannot be read, ValueError[predict.images].
void predict_files(const PredictImagesRun& run, LoadedModel& model);

}  // namespace espalier::cli
