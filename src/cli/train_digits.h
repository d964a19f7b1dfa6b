// Training on handwritten digits, and what a person sees of it. `train` and `quickstart` are two doors to it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/common.h"
#include "cli/plan.h"
#include "espalier/data.h"
#include "espalier/saved_model.h"

namespace espalier::cli {

struct DigitsRun {
  std::string verb = {};
  TrainPlan plan = image_plan();
  bool resume = false;
  Results results = {};
  bool show_digits = true;
};

// `all`: what lies at plan.data.file; the last rows judge. With a place to save the model Ctrl-C leaves a
// checkpoint as train_table's.
void train_digits(const DigitsRun& run, const Examples& all);

// Whether a saved model is one of images.
bool takes_images(const LoadedModel& model);
// The images of `data`, of which the model saved at `path` takes each and can say the label. Raises
// ValueError[evaluate.images] for images of another size and labels that the model cannot say.
Examples images_for(LoadedModel& model, const std::string& path, const std::string& data);
// Of these images, the share whose label it says.
double accuracy_on(Model& model, const Examples& images);
// How good a model of images, saved at `path`, is on all images of `data`. Raises what images_for raises.
void evaluate_digits(LoadedModel& model, const std::string& path, const std::string& data,
                     const Results& results);

}  // namespace espalier::cli
