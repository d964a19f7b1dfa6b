#include "cli/train_digits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/resumable_fit.h"
#include "cli/table_data.h"
#include "espalier/ops.h"
#include "report/image.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

struct Outcome {
  std::vector<int64_t> counts;  // [true * classes + predicted]
  std::vector<int64_t> predicted;
  std::vector<float> confidence;
  int64_t right = 0;

  double accuracy() const { return static_cast<double>(right) / static_cast<double>(predicted.size()); }
};

Outcome judge(Model& model, const Examples& test, int64_t classes) {
  const Tensor logits = convert(model.predict(test.x), DType::kF32);
  Outcome out{std::vector<int64_t>(static_cast<size_t>(classes * classes)), {}, {}, 0};
  for (int64_t i = 0; i < test.rows(); ++i) {
    const auto row =
        logits.data<float>().subspan(static_cast<size_t>(i * classes), static_cast<size_t>(classes));
    const auto best = std::max_element(row.begin(), row.end());
    double total = 0;
    for (const float value : row) total += std::exp(value - *best);
    out.predicted.push_back(best - row.begin());
    out.confidence.push_back(static_cast<float>(1 / total));
    const int64_t label = test.y.data<int32_t>()[static_cast<size_t>(i)];
    ++out.counts[static_cast<size_t>(label * classes + out.predicted.back())];
    out.right += label == out.predicted.back();
  }
  return out;
}

// 0 for a model that says no classes.
int64_t classes_of(Model& model, const Examples& images) {
  const Tensor outputs = model.predict(images.slice(0, 1).x);
  return outputs.rank() == 2 ? outputs.size(1) : 0;
}

// The mistakes the model is surest of, then digits it got right.
std::vector<int64_t> worth_showing(const Outcome& outcome, const Examples& test, size_t count) {
  std::vector<int64_t> order(static_cast<size_t>(test.rows()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  const auto wrong = [&](int64_t i) {
    return outcome.predicted[static_cast<size_t>(i)] != test.y.data<int32_t>()[static_cast<size_t>(i)];
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (wrong(a) != wrong(b)) return wrong(a);
    return wrong(a) &&
           outcome.confidence[static_cast<size_t>(a)] > outcome.confidence[static_cast<size_t>(b)];
  });
  const auto first_right = std::find_if(order.begin(), order.end(), [&](int64_t i) { return !wrong(i); });
  const size_t mistakes = std::min<size_t>(count / 2, static_cast<size_t>(first_right - order.begin()));
  std::vector<int64_t> out(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(mistakes));
  for (auto it = first_right; it != order.end() && out.size() < count; ++it) out.push_back(*it);
  return out;
}

struct Picture {
  int64_t height = 0, width = 0;
  std::vector<float> pixels;
};

// The smallest middle part that holds the ink of every picture.
Picture crop(std::span<const float> pixels, int64_t height, int64_t width, int64_t margin) {
  Picture out{height - 2 * margin, width - 2 * margin, {}};
  for (int64_t y = margin; y < height - margin; ++y) {
    for (int64_t x = margin; x < width - margin; ++x)
      out.pixels.push_back(pixels[static_cast<size_t>(y * width + x)]);
  }
  return out;
}

// Means of 2x2 pixels.
Picture halve(const Picture& picture) {
  Picture out{picture.height / 2, picture.width / 2, {}};
  const auto at = [&](int64_t y, int64_t x) {
    return picture.pixels[static_cast<size_t>(y * picture.width + x)];
  };
  for (int64_t y = 0; y + 1 < picture.height; y += 2) {
    for (int64_t x = 0; x + 1 < picture.width; x += 2)
      out.pixels.push_back((at(y, x) + at(y, x + 1) + at(y + 1, x) + at(y + 1, x + 1)) / 4);
  }
  return out;
}

// The table of counts, a list for each true class.
nlohmann::ordered_json rows_of(const std::vector<int64_t>& counts, int64_t classes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (auto it = counts.begin(); it != counts.end(); it += classes)
    out.push_back(std::vector<int64_t>(it, it + classes));
  return out;
}

std::string gallery(const Outcome& outcome, const Examples& test, const Terminal& terminal) {
  const int64_t height = test.x.size(1), width = test.x.size(2);
  const int64_t margin = std::min(height, width) >= 28 ? 4 : 0;  // MNIST centres its digits in a box of 20x20
  std::vector<std::string> blocks;
  int used = 0;
  for (const int64_t i : worth_showing(outcome, test, 4)) {
    Picture picture = crop(test.x.data<float>().subspan(static_cast<size_t>(i * height * width),
                                                        static_cast<size_t>(height * width)),
                           height, width, margin);
    if (!terminal.colors && picture.width > 12) picture = halve(picture);
    const int64_t says = outcome.predicted[static_cast<size_t>(i)],
                  is = test.y.data<int32_t>()[static_cast<size_t>(i)];
    const std::string verdict = cat("says ", says, says == is ? "" : cat(", is ", is));
    const std::string image = draw_image(picture.pixels, picture.height, picture.width, terminal);
    const std::string line =
        terminal.paint(says == is ? Ink::kGood : Ink::kBad, verdict) + " " +
        terminal.paint(Ink::kDim, percent(outcome.confidence[static_cast<size_t>(i)], 0));
    used += display_width(image.substr(0, image.find('\n'))) + 2;
    if (!blocks.empty() && used > terminal.columns + 2) break;
    blocks.push_back(image + line + "\n");
  }
  return beside(blocks);
}

// The table of mistakes, some images, and the accuracy on so many.
std::string report_of(const Outcome& outcome, const Examples& test, const std::vector<std::string>& names,
                      bool show_digits, const Terminal& terminal) {
  // A page has no room for more.
  constexpr size_t kTableClasses = 30;
  std::string text;
  if (names.size() <= kTableClasses) {
    text = cat("rows are the true digit, columns what the model says\n",
               confusion_matrix(outcome.counts, names, terminal), "\n");
  }
  if (show_digits) text += gallery(outcome, test, terminal) + "\n";
  return text +
         cat("accuracy ", terminal.paint(Ink::kBold, percent(outcome.accuracy(), 2)), " on ", test.rows());
}

std::vector<std::string> numbers_below(int64_t classes) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < classes; ++i) out.push_back(cat(i));
  return out;
}

}  // namespace

void train_digits(const DigitsRun& run, const Examples& all) {
  const TrainPlan& plan = run.plan;
  const auto test_rows =
      static_cast<int64_t>(std::llround(plan.data.test_fraction * static_cast<double>(all.rows())));
  if (test_rows < 1 || test_rows >= all.rows()) {
    throw ValueError("train.rows", cat(plan.data.file, " has ", all.rows(), " rows, of which ", test_rows,
                                       " are for the test: both sides need one"));
  }
  if (!plan.model.path.empty()) {
    check_save_path(plan.model.path, {});
    check_resume(plan, run.resume);
  } else if (run.resume || plan.fit.checkpoint_every) {
    throw ValueError("train.resume", "--resume and --checkpoint-every need a place: --model MODEL");
  }
  const auto [train, test] = all.split(all.rows() - test_rows);
  const auto labels = all.y.data<int32_t>();
  const int64_t classes = *std::max_element(labels.begin(), labels.end()) + 1;

  std::fprintf(stderr, "%ld images of %ldx%ld, labels 0 to %ld; the last %ld rows are the test\n",
               static_cast<long>(all.rows()), static_cast<long>(all.x.size(1)),
               static_cast<long>(all.x.size(2)), static_cast<long>(classes - 1),
               static_cast<long>(test_rows));
  std::vector<bool> trained(static_cast<size_t>(classes));
  for (const int32_t label : train.y.data<int32_t>()) trained[static_cast<size_t>(label)] = true;
  int64_t unseen = 0;
  for (const int32_t label : test.y.data<int32_t>()) unseen += !trained[static_cast<size_t>(label)];
  if (unseen)
    run.results.warn({cat(unseen, " test rows have a label that no training row has; is the file sorted?")});
  const std::vector<std::string> names = numbers_below(classes);
  set_seed(plan.fit.seed);
  const DTypePolicy dtype = policy_of(plan.fit.dtype);
  Sequential model;
  for (const LayerPlan& layer : plan.model.layers) add_layer(model, layer, dtype);
  model.add(Dense({.units = classes, .dtype = dtype}));
  compile(model, plan, classes);
  FitOptions options = fit_options(plan);
  options.class_weight = make_class_weights(plan.fit.class_weight, names, train.y);
  const bool saved = !plan.model.path.empty();
  const auto history = saved ? fit_or_leave(model, plan, run.resume, train.x, train.y, options)
                             : model.fit(train.x, train.y, options);
  if (saved) {
    model.save(plan.model.path);
    remove_checkpoint(plan);
  }

  const Outcome outcome = judge(model, test, classes);
  if (!history.empty() && !std::isfinite(history.back().at("loss")))
    run.results.warn({"the loss is no number: lower --learning-rate, or look at the data"});
  if (run.results.json) {
    return run.results.write_json(run.verb, {{"data", plan.data.file},
                                             {"train_rows", train.rows()},
                                             {"test_rows", test.rows()},
                                             {"seed", plan.fit.seed},
                                             {"dtype", plan.fit.dtype},
                                             {"accuracy", outcome.accuracy()},
                                             {"confusion", rows_of(outcome.counts, classes)},
                                             {"epochs", history},
                                             {"warnings", *run.results.warned}});
  }
  const Terminal terminal = run.results.terminal();
  run.results.write(
      report_of(outcome, test, names, run.show_digits, terminal) +
      cat(" images it never saw", dtype == "float32" ? "" : cat(", computed in ", plan.fit.dtype), "\n"));
}

bool takes_images(const LoadedModel& model) {
  return !model.has_file(kColumnsFile) && model.input_rows().size() == 1 &&
         model.input_rows()[0].rank() == 2 && model.input_rows()[0].dtype == DType::kF32;
}

Examples images_for(LoadedModel& model, const std::string& path, const std::string& data) {
  Examples all = load_digits(data);
  const TensorType image{DType::kF32, {all.x.size(1), all.x.size(2)}};
  if (image != model.input_rows()[0]) {
    throw ValueError("evaluate.images", cat(path, " takes images of ", model.input_rows()[0], ", those of ",
                                            data, " are ", image));
  }
  const int64_t classes = classes_of(model, all);
  const auto labels = all.y.data<int32_t>();
  const int32_t most = *std::max_element(labels.begin(), labels.end());
  if (most >= classes) {
    throw ValueError("evaluate.images",
                     cat(data, " has the label ", most, ", and ", path, " knows ", classes, " classes"));
  }
  return all;
}

double accuracy_on(Model& model, const Examples& images) {
  return judge(model, images, classes_of(model, images)).accuracy();
}

void evaluate_digits(LoadedModel& model, const std::string& path, const std::string& data,
                     const Results& results) {
  const Examples all = images_for(model, path, data);
  const int64_t classes = classes_of(model, all);
  const Outcome outcome = judge(model, all, classes);
  if (results.json) {
    return results.write_json("evaluate", {{"model", path},
                                           {"data", data},
                                           {"rows", all.rows()},
                                           {"accuracy", outcome.accuracy()},
                                           {"confusion", rows_of(outcome.counts, classes)},
                                           {"warnings", *results.warned}});
  }
  const Terminal terminal = results.terminal();
  results.write(report_of(outcome, all, numbers_below(classes), true, terminal) + " images\n");
}

}  // namespace espalier::cli
