#include "tables/image_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/ops.h"
#include "tables/image_files.h"
#include "tables/loaded_table_model.h"

namespace espalier {
namespace {

// Of a folder in two parts that of the test.
std::string test_part(const std::string& data) {
  const std::string test = data + "/test";
  return is_image_folder(data + "/train") && is_image_folder(test) ? test : data;
}

}  // namespace

std::vector<std::string> numbers_below(int64_t classes) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < classes; ++i) out.push_back(cat(i));
  return out;
}

ImageRows rows_of_digits(const HashedExamples& all, const DataPlan& data) {
  const auto tests = static_cast<int64_t>(std::llround(data.test_fraction * static_cast<double>(all.rows())));
  if (tests < 1 || tests >= all.rows()) {
    throw ValueError("train.rows", cat(data.file, " has ", all.rows(), " rows, of which ", tests,
                                       " are for the test: both sides need one"));
  }
  const int64_t trains = all.rows() - tests;
  const auto [train, test] = all.split(trains);
  const int64_t classes = std::ranges::max(all.y.data<int32_t>()) + 1;
  return {{train, {all.hashes.begin(), all.hashes.begin() + trains}},
          test,
          numbers_below(classes),
          cat(all.rows(), " images of ", all.x.size(1), "x", all.x.size(2), ", labels 0 to ", classes - 1,
              "; the last ", tests, " rows are the test\n")};
}

ImageRows rows_of_folder(const ImageFolder& folder, const DataPlan& data, const Messages& messages) {
  const auto trains = std::ssize(folder.train.paths), tests = std::ssize(folder.test.paths);
  if (tests == 0) {
    throw ValueError("train.rows",
                     cat(data.file, " has ", trains, " images in ", folder.train.class_names.size(),
                         " classes, of which none is for the test"),
                     trains == std::ssize(folder.train.class_names)
                         ? "a class needs two images, one for training and one for the test"
                         : "a larger --test-fraction");
  }
  BadImages bad;
  const auto read = [&](const ImageFiles& files) {
    ReadImages images = read_images(files.paths, folder.row(), bad,
                                    messages.progress("reading images", std::ssize(files.paths)));
    return HashedExamples{{images.x, Tensor::of(files.labels)}, std::move(images.hashes)};
  };
  const HashedExamples train = read(folder.train), test = read(folder.test);
  bad.raise();
  const std::string size = cat(folder.height, "x", folder.width);
  std::string said =
      cat(trains + tests, folder.channels == 1 ? " gray" : "", " images of ", folder.sizes, ", ",
          folder.train.class_names.size(), " classes; ",
          folder.parted ? cat("the ", tests, " below test/ are the test")
                        : cat("of each class some, spread over the names, are the test, ", tests, " in all"));
  if (const int64_t skipped = folder.train.skipped + folder.test.skipped)
    said += cat("; ", skipped, skipped == 1 ? " other file" : " other files", " passed over");
  if (size != folder.sizes)
    said += cat("\nthe model takes them in ", size,
                data.image_size.empty() ? "; --image-size sets another height and width" : "");
  return {train, test, folder.train.class_names, said + "\n"};
}

bool takes_images(const LoadedModel& model) {
  if (model.has_file(kColumnsFile) || model.input_rows().size() != 1) return false;
  const TensorType& row = model.input_rows()[0];
  return row.dtype == DType::kF32 && (row.rank() == 2 || (row.rank() == 3 && model.has_file(kImagesFile)));
}

std::vector<std::string> image_classes(LoadedModel& model, const std::string& path) {
  TensorType one = model.input_rows()[0];
  one.shape.insert(0, 1);
  const Tensor outputs = model.predict(zeros(one.shape, one.dtype));
  const int64_t classes = outputs.rank() == 2 ? outputs.size(1) : 0;
  if (!model.has_file(kImagesFile)) return numbers_below(classes);
  try {
    const auto names = json_file(model, kImagesFile, path).at("classes").get<std::vector<std::string>>();
    if (std::ssize(names) == classes) return names;
  } catch (const nlohmann::json::exception&) {
  }
  throw FormatError("model.images",
                    cat(path, "/", kImagesFile, " does not name the model's ", classes, " classes"),
                    "train the model again");
}

HashedExamples digits_for(const LoadedModel& model, const std::string& path, const std::string& data,
                          const char* files) {
  const TensorType& row = model.input_rows()[0];
  const auto refuse = [&](const std::string& why) {
    const bool digits = row.rank() == 2;
    throw ValueError(
        "evaluate.images",
        cat(path, " is a model of ", digits ? "gray " : "", "images of ", row.shape[0], "x", row.shape[1],
            " and takes ", files,
            digits ? ", a folder of IDX files or a CSV of square images with the label last" : "", "; ",
            why));
  };
  if (row.rank() != 2 && !std::filesystem::is_directory(data)) refuse(cat(data, " is none"));
  HashedExamples all;
  try {
    all = read_digits(data);
  } catch (const FormatError& error) {
    refuse(error.message());
  } catch (const IoError& error) {
    if (error.rule() != "digits.file") throw;
    refuse(cat(data, " is none"));
  }
  if (all.rows() == 0) throw ValueError("evaluate.images", cat(data, " has no images"));
  const TensorType image{DType::kF32, {all.x.size(1), all.x.size(2)}};
  if (image != model.input_rows()[0]) {
    throw ValueError("evaluate.images", cat(path, " takes images of ", model.input_rows()[0], ", those of ",
                                            data, " are ", image));
  }
  return all;
}

HashedExamples images_for(LoadedModel& model, const std::string& path, const std::string& data,
                          const Messages& messages) {
  check_images_at(data);
  const std::vector<std::string> classes = image_classes(model, path);
  if (is_image_folder(data)) {
    const std::string part = test_part(data);
    if (part != data) messages.note(cat("the images of ", part, " are evaluated"));
    const ImageFiles files = in_classes(list_image_folder(part), classes, part);
    BadImages bad;
    ReadImages images = read_images(files.paths, model.input_rows()[0], bad,
                                    messages.progress("reading images", std::ssize(files.paths)));
    bad.raise();
    return {{images.x, Tensor::of(files.labels)}, std::move(images.hashes)};
  }
  HashedExamples all =
      digits_for(model, path, data, "a folder with a sub-folder of JPEG and PNG files for each class");
  const int32_t most = std::ranges::max(all.y.data<int32_t>());
  if (most >= std::ssize(classes)) {
    throw ValueError("evaluate.images", cat(data, " has the label ", most, ", and ", path, " knows ",
                                            classes.size(), " classes"));
  }
  return all;
}

ImagePredictions classify_images(Model& model, const Tensor& images) {
  const Tensor logits = convert(model.predict(images), DType::kF32);
  ImagePredictions out;
  const auto classes = static_cast<size_t>(logits.size(1));
  for (size_t i = 0; i < static_cast<size_t>(logits.size(0)); ++i) {
    const auto row = logits.data<float>().subspan(i * classes, classes);
    const auto best = std::ranges::max_element(row);
    double total = 0;
    for (const float value : row) total += std::exp(value - *best);
    for (const float value : row)
      out.probabilities.push_back(static_cast<float>(std::exp(value - *best) / total));
    out.best.push_back(best - row.begin());
  }
  return out;
}

ImageOutcome outcome_on(Model& model, const Examples& test, const Messages& messages) {
  constexpr int64_t kRows = 512;
  ImageOutcome out;
  const Messages::Progress progress = messages.progress("evaluating", test.rows(), " images");
  for (int64_t begin = 0; begin < test.rows(); begin += kRows) {
    const Examples part = test.slice(begin, std::min(begin + kRows, test.rows()));
    const ImagePredictions said = classify_images(model, part.x);
    out.classes = std::ssize(said.probabilities) / part.rows();
    out.counts.resize(static_cast<size_t>(out.classes * out.classes));
    for (size_t i = 0; i < said.best.size(); ++i) {
      const int64_t label = part.y.data<int32_t>()[i], best = said.best[i];
      out.predicted.push_back(best);
      out.confidence.push_back(
          said.probabilities[i * static_cast<size_t>(out.classes) + static_cast<size_t>(best)]);
      ++out.counts[static_cast<size_t>(label * out.classes + best)];
      out.right += label == best;
    }
    progress(begin + part.rows());
  }
  return out;
}

double accuracy_on(Model& model, const Examples& images, const Messages& messages) {
  return outcome_on(model, images, messages).accuracy();
}

}  // namespace espalier
