#include "cli/predict_images.h"

#include <filesystem>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/train_images.h"
#include "format/csv_writer.h"
#include "report/progress.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

// Images, by file or by row.
struct Pictures {
  std::vector<std::string> files;
  Examples digits;
  int64_t count() const { return files.empty() ? digits.rows() : std::ssize(files); }
  const char* kind() const { return files.empty() ? "row" : "file"; }
};

Pictures pictures_of(const PredictImagesRun& run, const LoadedModel& model) {
  Pictures out;
  for (const std::string& path : run.inputs) {
    check_images_at(path);
    if (is_idx_folder(path) || path.ends_with(".csv") || path.ends_with(".csv.gz")) {
      if (run.inputs.size() > 1)
        throw ValueError("predict.images", cat(path, " holds digits by row, which are predicted alone"));
      out.digits = digits_for(model, run.model, path, "JPEG and PNG files and folders of them");
      return out;
    }
    if (!fs::is_directory(path)) {
      out.files.push_back(path);
      continue;
    }
    const std::vector<std::string> found = list_images(path);
    if (found.empty())
      throw ValueError("predict.images", cat("no .jpg, .jpeg or .png anywhere below ", path));
    out.files.insert(out.files.end(), found.begin(), found.end());
  }
  return out;
}

// Calls `on_image` with each one's name, the class that is said and the probabilities of all.
void each_image(LoadedModel& model, const Pictures& pictures,
                const std::function<void(const std::string&, size_t, std::span<const float>)>& on_image) {
  constexpr int64_t kImages = 256;  // so that memory does not grow with the folder
  ProgressBar bar;
  bar.start("predicting", pictures.count(), " images");
  for (int64_t begin = 0; begin < pictures.count(); begin += kImages) {
    const int64_t end = std::min(begin + kImages, pictures.count());
    const auto names = pictures.files.empty()
                           ? std::vector<std::string>()
                           : std::vector(pictures.files.begin() + begin, pictures.files.begin() + end);
    const ImagePredictions said =
        classify_images(model, names.empty() ? pictures.digits.slice(begin, end).x
                                             : read_images(names, model.input_rows()[0],
                                                           [&](int64_t read) { bar.update(begin + read); }));
    const size_t classes = said.probabilities.size() / said.best.size();
    for (size_t i = 0; i < said.best.size(); ++i) {
      on_image(names.empty() ? cat(begin + static_cast<int64_t>(i) + 1) : names[i],
               static_cast<size_t>(said.best[i]),
               std::span(said.probabilities).subspan(i * classes, classes));
    }
    bar.update(end);
  }
}

}  // namespace

void predict_files(const PredictImagesRun& run, LoadedModel& model) {
  const std::vector<std::string> classes = image_classes(model, run.model);
  if (classes.empty()) throw ValueError("predict.images", cat(run.model, " says no classes"));
  const Pictures pictures = pictures_of(run, model);
  if (run.results.json) {
    nlohmann::ordered_json predictions = nlohmann::ordered_json::array();
    each_image(model, pictures,
               [&](const std::string& name, size_t best, std::span<const float> probabilities) {
                 nlohmann::ordered_json one = {
                     {pictures.kind(), name}, {"class", classes[best]}, {"probability", probabilities[best]}};
                 if (run.all) one["probabilities"] = std::vector(probabilities.begin(), probabilities.end());
                 predictions.push_back(std::move(one));
               });
    return run.results.write_json("predict", {{"model", run.model},
                                              {"classes", classes},
                                              {"predictions", predictions},
                                              {"warnings", *run.results.warned}});
  }
  CsvWriter out(',', false);
  for (const char* name : {pictures.kind(), "class"}) out.cell(name);
  if (!run.all) out.cell("probability");
  for (size_t c = 0; run.all && c < classes.size(); ++c) out.cell(cat("probability of ", classes[c]));
  out.end_row();
  each_image(model, pictures,
             [&](const std::string& name, size_t best, std::span<const float> probabilities) {
               out.cell(name);
               out.cell(classes[best]);
               if (!run.all) out.cell(probabilities[best]);
               for (size_t c = 0; run.all && c < classes.size(); ++c) out.cell(probabilities[c]);
               out.end_row();
             });
  run.results.write(out.text());
}

}  // namespace espalier::cli
