#include "cli/predict_images.h"

#include <filesystem>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/train_images.h"
#include "format/csv_writer.h"
#include "report/progress.h"
#include "tables/scores.h"

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
      out.digits = digits_for(model, run.model, path, "JPEG and PNG files and folders of them");
      if (run.inputs.size() > 1)
        throw ValueError("predict.images", cat(path, " holds digits by row, which are predicted alone"));
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

// Calls `on_image` with each one's name, the class that is said and the probabilities of all. Those that
// cannot be read are warned of, and left out.
void each_image(LoadedModel& model, const Pictures& pictures, BadImages& bad, const Results& results,
                const std::function<void(const std::string&, size_t, std::span<const float>)>& on_image) {
  constexpr int64_t kImages = 256;  // so that memory does not grow with the folder
  ProgressBar bar;
  bar.start("predicting", pictures.count(), " images");
  for (int64_t begin = 0; begin < pictures.count(); begin += kImages) {
    const int64_t end = std::min(begin + kImages, pictures.count());
    ReadImages images;
    if (pictures.files.empty()) {
      images.x = pictures.digits.slice(begin, end).x;
    } else {
      images = read_images({pictures.files.begin() + begin, pictures.files.begin() + end},
                           model.input_rows()[0], bad, [&](int64_t read) { bar.update(begin + read); });
    }
    bar.update(end);
    if (images.x.size(0) == 0) continue;
    const ImagePredictions said = classify_images(model, images.x);
    const size_t classes = said.probabilities.size() / said.best.size();
    for (size_t i = 0; i < said.best.size(); ++i) {
      on_image(images.paths.empty() ? cat(begin + static_cast<int64_t>(i) + 1) : images.paths[i],
               static_cast<size_t>(said.best[i]),
               std::span(said.probabilities).subspan(i * classes, classes));
    }
  }
  if (bad.files().empty()) return;
  if (std::ssize(bad.files()) == pictures.count()) bad.raise();
  for (const BadImages::File& file : bad.files()) results.warn({file.why});
  results.warn({cat(bad.files().size(), " of ", pictures.count(), " images cannot be read")});
}

}  // namespace

bool predict_files(const PredictImagesRun& run, LoadedModel& model) {
  const std::vector<std::string> classes = image_classes(model, run.model);
  if (classes.empty()) throw ValueError("predict.images", cat(run.model, " says no classes"));
  const Pictures pictures = pictures_of(run, model);
  BadImages bad;
  if (run.results.json) {
    nlohmann::ordered_json predictions = nlohmann::ordered_json::array();
    each_image(model, pictures, bad, run.results,
               [&](const std::string& name, size_t best, std::span<const float> probabilities) {
                 nlohmann::ordered_json one = {
                     {pictures.kind(), name}, {"class", classes[best]}, {"probability", probabilities[best]}};
                 if (run.all) one["probabilities"] = std::vector(probabilities.begin(), probabilities.end());
                 predictions.push_back(std::move(one));
               });
    nlohmann::ordered_json unread = nlohmann::ordered_json::array();
    for (const BadImages::File& file : bad.files()) unread.push_back(file.path);
    run.results.write_json("predict", {{"model", run.model},
                                       {"classes", classes},
                                       {"predictions", predictions},
                                       {"unreadable", unread},
                                       {"warnings", *run.results.warned}});
    return unread.empty();
  }
  CsvWriter out(',', false);
  for (const char* name : {pictures.kind(), "class"}) out.cell(name);
  if (!run.all) out.cell("probability");
  for (size_t c = 0; run.all && c < classes.size(); ++c) out.cell(cat(kProbabilityOf, classes[c]));
  out.end_row();
  each_image(model, pictures, bad, run.results,
             [&](const std::string& name, size_t best, std::span<const float> probabilities) {
               out.cell(name);
               out.cell(classes[best]);
               if (!run.all) out.cell(probabilities[best]);
               for (size_t c = 0; run.all && c < classes.size(); ++c) out.cell(probabilities[c]);
               out.end_row();
             });
  run.results.write(out.text());
  return bad.files().empty();
}

}  // namespace espalier::cli
