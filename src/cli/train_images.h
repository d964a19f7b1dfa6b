// Training on labelled images, and what a person sees of it. `train` and `quickstart` are two doors to it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/image_files.h"
#include "cli/show_step.h"
#include "data/hashed_examples.h"
#include "espalier/saved_model.h"
#include "plan/plan.h"

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

// Training images and test images.
struct ImageRows {
  HashedExamples train;
  Examples test;
  std::vector<std::string> classes;
  std::string said;  // a line on them
};
// Digits, the last rows are the test. Raises ValueError[train.rows] unless both sides have some.
ImageRows rows_of_digits(const HashedExamples& all, const DataPlan& data);
ImageRows rows_of_folder(const ImageFolder& folder, const DataPlan& data);

// `read` is called once it is known that the model can be saved. With a place to save it Ctrl-C leaves a
// checkpoint as train_table's.
void train_images(const ImagesRun& run, const std::function<ImageRows()>& read);

// Beside a saved model of images: the names of its classes.
inline constexpr const char* kImagesFile = "images.json";
// Whether a saved model is one of images.
bool takes_images(const LoadedModel& model);
// The names of its classes; numbers of a model that says none. Raises FormatError[model.images].
std::vector<std::string> image_classes(LoadedModel& model, const std::string& path);
// Raises ValueError[`rule`] for flags that were given to `verb` of the model of images at `path`, but for
// `fitting`: they are for tables, and would count for nothing.
void check_image_flags(const CLI::App& verb, const std::string& path, const char* rule,
                       const std::vector<std::string>& fitting);
// Digits of `data` as the model saved at `path` takes them. Raises ValueError[evaluate.images] for others,
// and for what holds none; `files`: the images that it could be.
HashedExamples digits_for(const LoadedModel& model, const std::string& path, const std::string& data,
                          const char* files);
// The labelled images of `data`, of which the model saved at `path` takes each and can say the label: digits,
// or a folder of images by class, of which those below test/ are taken where train/ is there too. Raises
// ValueError[evaluate.images] for digits of another size and labels that the model cannot say,
// [images.class], FormatError[images.files].
HashedExamples images_for(LoadedModel& model, const std::string& path, const std::string& data);
// Of these images, the share whose label it says.
double accuracy_on(Model& model, const Examples& images);
// How good a model of images, saved at `path`, is on those of `data` that it was not trained on
// (images_to_evaluate), or on `all` of them. Raises what images_for and images_to_evaluate raise.
void evaluate_images(LoadedModel& model, const std::string& path, const std::string& data, bool all,
                     const Results& results);

// What a model says of each of some images.
struct ImagePredictions {
  std::vector<float> probabilities;  // [images, classes]
  std::vector<int64_t> best;
};
ImagePredictions classify_images(Model& model, const Tensor& images);

}  // namespace espalier::cli
