// Training on labelled images, and what a person sees of it. `train` and `quickstart` are two doors to it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/show_step.h"
#include "data/hashed_examples.h"
#include "espalier/saved_model.h"
#include "plan/plan.h"
#include "tables/image_model.h"

namespace espalier::cli {

struct ImagesRun {
  std::string verb = {};
  TrainPlan plan = image_plan();
  bool resume = false;
  bool force = false;  // replaces a model that answers another question
  Results results = {};
  bool show_images = true;
  ShowStep show_step = {};
};

// `read` is called once it is known that the model can be saved. With a place to save it Ctrl-C leaves a
// checkpoint as train_table's.
void train_images(const ImagesRun& run, const std::function<ImageRows()>& read);

// Raises ValueError[`rule`] for flags that were given to `verb` of the model of images at `path`, but for
// `fitting`: they are for tables, and would count for nothing.
void check_image_flags(const CLI::App& verb, const std::string& path, const char* rule,
                       const std::vector<std::string>& fitting);
// How good a model of images, saved at `path`, is on those of `data` that it was not trained on
// (images_to_evaluate), or on `all` of them. Raises what images_for and images_to_evaluate raise.
void evaluate_images(LoadedModel& model, const std::string& path, const std::string& data, bool all,
                     const Results& results);

}  // namespace espalier::cli
