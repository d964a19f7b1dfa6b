#include "cli/train_images.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/hash_list.h"
#include "base/input_file.h"
#include "cli/device_log.h"
#include "cli/resumable_fit.h"
#include "espalier/ops.h"
#include "report/image.h"
#include "report/progress.h"
#include "report/table.h"
#include "strategy/replicas.h"
#include "tables/learned_images.h"
#include "tables/ledger.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance_text.h"
#include "tables/replaced_model.h"

namespace espalier::cli {
namespace {

// The mistakes the model is surest of, then images it got right.
std::vector<int64_t> worth_showing(const ImageOutcome& outcome, const Examples& test, size_t count) {
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
  // Of all classes, where they lie in order.
  const auto right = static_cast<size_t>(order.end() - first_right),
             shown = std::min(count - mistakes, right);
  for (size_t i = 0; i < shown; ++i)
    out.push_back(first_right[static_cast<std::ptrdiff_t>(i * right / shown)]);
  return out;
}

struct Picture {
  int64_t height = 0, width = 0;
  std::vector<float> pixels;
};

// An image in gray. Of digits the smallest middle part that holds the ink of every picture: MNIST centres
// them in a box of 20x20.
Picture picture_of(const Tensor& images, int64_t number) {
  const int64_t height = images.size(1), width = images.size(2);
  const bool digits = images.rank() == 3;
  const int64_t channels = digits ? 1 : images.size(3);
  const int64_t margin = digits && std::min(height, width) >= 28 ? 4 : 0;
  Picture out{height - 2 * margin, width - 2 * margin, {}};
  for (int64_t y = margin; y < height - margin; ++y) {
    for (int64_t x = margin; x < width - margin; ++x) {
      const float* pixel = images.data<float>().data() + ((number * height + y) * width + x) * channels;
      out.pixels.push_back(channels == 1 ? *pixel
                                         : 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2]);
    }
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
nlohmann::ordered_json class_rows_json(const std::vector<int64_t>& counts, int64_t classes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (auto it = counts.begin(); it != counts.end(); it += classes)
    out.push_back(std::vector<int64_t>(it, it + classes));
  return out;
}

std::string gallery(const ImageOutcome& outcome, const Examples& test, const std::vector<std::string>& names,
                    const Terminal& terminal) {
  const int64_t most = terminal.colors ? 28 : 12;
  std::vector<std::string> blocks;
  int used = 0;
  for (const int64_t i : worth_showing(outcome, test, 4)) {
    Picture picture = picture_of(test.x, i);
    while (std::max(picture.height, picture.width) > most && std::min(picture.height, picture.width) > 1)
      picture = halve(picture);
    const int64_t says = outcome.predicted[static_cast<size_t>(i)],
                  is = test.y.data<int32_t>()[static_cast<size_t>(i)];
    const std::string verdict = cat("says ", names[static_cast<size_t>(says)],
                                    says == is ? "" : cat(", is ", names[static_cast<size_t>(is)]));
    const std::string image = draw_image(picture.pixels, picture.height, picture.width, terminal);
    const std::string line =
        terminal.paint(says == is ? Ink::kGood : Ink::kBad, verdict) + " " +
        terminal.paint(Ink::kDim, percent(outcome.confidence[static_cast<size_t>(i)], 0));
    used += std::max(display_width(image.substr(0, image.find('\n'))), display_width(line)) + 2;
    if (!blocks.empty() && used > terminal.columns + 2) break;
    blocks.push_back(image + line + "\n");
  }
  return beside(blocks);
}

// The table of mistakes, some images, and the accuracy on so many.
std::string images_report(const ImageOutcome& outcome, const Examples& test,
                          const std::vector<std::string>& names, bool show_images, const Terminal& terminal) {
  // A page has no room for more.
  constexpr size_t kTableClasses = 30;
  std::string text;
  if (names.size() <= kTableClasses) {
    text = cat("rows are the true ", names == numbers_below(outcome.classes) ? "digit" : "class",
               ", columns what the model says\n", confusion_matrix(outcome.counts, names, terminal), "\n");
  }
  if (show_images) text += gallery(outcome, test, names, terminal) + "\n";
  return text +
         cat("accuracy ", terminal.paint(Ink::kBold, percent(outcome.accuracy(), 2)), " on ", test.rows());
}

// What is saved beside the model. Without an epoch it was trained on no image.
std::map<std::string, std::string> image_files_of(const ImageRows& rows, int epochs,
                                                  const nlohmann::ordered_json& history) {
  return {{kImagesFile, json_text({{"version", 1}, {"classes", rows.classes}})},
          {kLearnedFile, epochs > 0 ? hash_list_text(rows.train.hashes) : ""},
          {kHistoryFile, json_text(history)}};
}

// What is known before the training.
nlohmann::ordered_json image_history_of(const TrainPlan& plan, const ImageRows& rows) {
  nlohmann::ordered_json out = {{"data", plan.data.file},
                                {"train_rows", rows.train.rows()},
                                {"test_rows", rows.test.rows()},
                                {"seed", plan.fit.seed},
                                {"dtype", plan.fit.dtype}};
  if (!plan.data.licence.empty()) out["licence"] = plan.data.licence;
  if (!plan.data.origin.empty()) out["origin"] = plan.data.origin;
  return out;
}

// Test rows of classes that no training row shows.
int64_t unseen_rows(const ImageRows& rows) {
  std::vector<bool> seen(rows.classes.size());
  for (const int32_t label : rows.train.y.data<int32_t>()) seen[static_cast<size_t>(label)] = true;
  return std::ranges::count_if(rows.test.y.data<int32_t>(),
                               [&](int32_t label) { return !seen[static_cast<size_t>(label)]; });
}

}  // namespace

void train_images(const ImagesRun& run, const std::function<ImageRows()>& read) {
  const TrainPlan& plan = run.plan;
  const bool saved = !plan.model.path.empty();
  if (saved) {
    check_save_path(plan.model.path, {{kImagesFile, ""}, {kLearnedFile, ""}, {kHistoryFile, ""}});
  }
  const auto place = saved ? claim_run(plan, run.resume, !run.show_step) : nullptr;
  const ImageRows rows = read();
  const auto classes = std::ssize(rows.classes);
  if (saved) check_replaced(plan.model.path, question_of(rows.classes), plan.fit.epochs, run.force);
  std::fputs(rows.said.c_str(), stderr);
  if (const int64_t unseen = unseen_rows(rows))
    run.results.warn({cat(unseen, " test rows have a label that no training row has; is the file sorted?")});
  std::vector<int64_t> image(rows.train.x.shape().begin() + 1, rows.train.x.shape().end());
  check_layers(plan, image);
  set_seed(plan.fit.seed);
  const DTypePolicy dtype = policy_of(plan.fit.dtype);
  Sequential model;
  for (const LayerPlan& layer : plan.model.layers) add_layer(model, layer, dtype);
  model.add(Dense({.units = classes, .dtype = kLastDType}));
  compile(model, plan, classes);
  nlohmann::ordered_json known = image_history_of(plan, rows);
  FitOptions options =
      fit_options(with_checkpoint_files(plan, [&] { return image_files_of(rows, plan.fit.epochs, known); }));
  options.class_weight = make_class_weights(plan.fit.class_weight, rows.classes, rows.train.y);
  const auto ledger = std::make_shared<Ledger>();
  options.callbacks.push_back(ledger);
  const auto device = std::make_shared<DeviceLog>();
  options.callbacks.push_back(device);
  const Tensor &x = rows.train.x, &y = rows.train.y;
  if (run.show_step) return run.show_step(model, x, y);
  if (saved && is_chief() && !is_stream(plan.data.file)) {
    const FileDigest digest = digest_images(plan.data.file);
    known["bytes"] = digest.bytes;
    known["sha256"] = digest.sha256;
  }
  const std::string this_run = saved ? run_of(plan, x, y, {rows.test.x, rows.test.y}, options) : "";
  if (saved && ended_before(plan, run.resume, this_run, run.results)) return;
  const auto history = saved ? fit_or_leave(model, plan, run.resume, this_run, x, y, options)
                             : fit_or_stop(model, plan, x, y, options);
  const ImageOutcome outcome = outcome_on(model, rows.test, run.results);
  const bool replaced = saved && posix_env().exists(plan.model.path);
  if (saved) {
    known["run"] = name_of_run(this_run);
    known["epochs"] = history.size();
    known["ledger"] = ledger->json();
    if (!ledger->waits().is_null()) known["waits"] = ledger->waits();
    known["test"] = {{"accuracy", outcome.accuracy()}};
    model.save(plan.model.path, {.files = image_files_of(rows, plan.fit.epochs, known)});
    remove_checkpoint(plan);
  }
  if (!history.empty() && !std::isfinite(history.back().at("loss")))
    run.results.warn({"the loss is no number: lower --learning-rate, or look at the data"});
  if (run.results.json) {
    nlohmann::ordered_json body = {{"data", plan.data.file},
                                   {"train_rows", rows.train.rows()},
                                   {"test_rows", rows.test.rows()},
                                   {"classes", rows.classes},
                                   {"seed", plan.fit.seed},
                                   {"dtype", plan.fit.dtype},
                                   {"accuracy", outcome.accuracy()},
                                   {"confusion", class_rows_json(outcome.counts, classes)},
                                   {"epochs", history},
                                   {"warnings", *run.results.warned}};
    if (const auto of_device = device->json(); !of_device.is_null()) body["device"] = of_device;
    return run.results.write_json(run.verb, body);
  }
  const Terminal terminal = run.results.terminal();
  run.results.write(
      images_report(outcome, rows.test, rows.classes, run.show_images, terminal) +
      cat(" images it never saw", dtype == "float32" ? "" : cat(", computed in ", plan.fit.dtype), "\n",
          saved
              ? cat(replaced ? "replaced " : "saved ", plan.model.path,
                    plan.model.path.ends_with('/') ? "" : "/", ": the model, and the names of its classes\n")
              : ""));
}

void check_image_flags(const CLI::App& verb, const std::string& path, const char* rule,
                       const std::vector<std::string>& fitting) {
  std::vector<std::string> wrong;
  for (const CLI::Option* option : verb.parse_order()) {
    const std::string name = option->get_name();
    if (name.starts_with("--") && !std::ranges::count(fitting, name) && !std::ranges::count(wrong, name))
      wrong.push_back(name);
  }
  if (wrong.empty()) return;
  std::string names;
  for (size_t i = 0; i < wrong.size(); ++i)
    names += cat(i == 0 ? "" : i + 1 < wrong.size() ? ", " : " and ", wrong[i]);
  throw ValueError(
      rule, cat(path, " is a model of images: ", names, wrong.size() == 1 ? " is" : " are", " for tables"),
      cat("leave ", wrong.size() == 1 ? "it" : "them", " out"));
}

void evaluate_images(LoadedModel& model, const std::string& path, const std::string& data, bool all,
                     const Results& results) {
  const std::vector<std::string> classes = image_classes(model, path);
  const Examples kept =
      images_to_evaluate(model, path, data, images_for(model, path, data, results), all, results);
  const ImageOutcome outcome = outcome_on(model, kept, results);
  if (results.json) {
    return results.write_json("evaluate", {{"model", path},
                                           {"data", data},
                                           {"rows", kept.rows()},
                                           {"classes", classes},
                                           {"accuracy", outcome.accuracy()},
                                           {"confusion", class_rows_json(outcome.counts, outcome.classes)},
                                           {"warnings", *results.warned}});
  }
  results.write(images_report(outcome, kept, classes, true, results.terminal()) + " images\n");
  const std::string name = std::filesystem::path(path + "/").parent_path().filename().string();
  results.suggest({"export", path, "--to", "c", "--out", name + ".c"});
}

}  // namespace espalier::cli
