// Models of images: what they learn from, take and say.
#pragma once

#include <string>
#include <vector>

#include "base/messages.h"
#include "data/hashed_examples.h"
#include "espalier/saved_model.h"
#include "plan/plan.h"
#include "tables/image_files.h"

namespace espalier {

// Training images and test images.
struct ImageRows {
  HashedExamples train;
  Examples test;
  std::vector<std::string> classes;
  std::string said;  // a line on them
};
// Digits, the last rows are the test. Raises ValueError[train.rows] unless both sides have some.
ImageRows rows_of_digits(const HashedExamples& all, const DataPlan& data);
ImageRows rows_of_folder(const ImageFolder& folder, const DataPlan& data, const Messages& messages);

// Beside a saved model of images: the names of its classes.
inline constexpr const char* kImagesFile = "images.json";
// Whether a saved model is one of images.
bool takes_images(const LoadedModel& model);
// The names of its classes; numbers of a model that says none. Raises FormatError[model.images].
std::vector<std::string> image_classes(LoadedModel& model, const std::string& path);
// Digits of `data` as the model saved at `path` takes them. Raises ValueError[evaluate.images] for others,
// and for what holds none; `files`: the images that it could be.
HashedExamples digits_for(const LoadedModel& model, const std::string& path, const std::string& data,
                          const char* files);
// The labelled images of `data`, of which the model saved at `path` takes each and can say the label: digits,
// or a folder of images by class, of which those below test/ are taken where train/ is there too. Raises
// ValueError[evaluate.images] for digits of another size and labels that the model cannot say,
// [images.class], FormatError[images.files].
HashedExamples images_for(LoadedModel& model, const std::string& path, const std::string& data,
                          const Messages& messages);
// Of these images, the share whose label it says.
double accuracy_on(Model& model, const Examples& images, const Messages& messages);
// What a model says of each of some images.
struct ImagePredictions {
  std::vector<float> probabilities;  // [images, classes]
  std::vector<int64_t> best;
};
ImagePredictions classify_images(Model& model, const Tensor& images);

// How good that is.
struct ImageOutcome {
  int64_t classes = 0;
  std::vector<int64_t> counts;  // [true * classes + predicted]
  std::vector<int64_t> predicted;
  std::vector<float> confidence;
  int64_t right = 0;

  double accuracy() const { return static_cast<double>(right) / static_cast<double>(predicted.size()); }
};
ImageOutcome outcome_on(Model& model, const Examples& test, const Messages& messages);

// "0", "1", ...: how classes are called that have no names.
std::vector<std::string> numbers_below(int64_t classes);

}  // namespace espalier
