// espalier quantize: a saved model on 8-bit integers.
#include "espalier/quantize.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/table_flags.h"
#include "cli/train_images.h"
#include "report/progress.h"
#include "report/table.h"
#include "tables/learned_images.h"
#include "tables/learned_rows.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance.h"
#include "tables/scores.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

struct QuantizeRun {
  const CLI::App* verb = nullptr;
  std::string model, calibrate, out;
  double percentile = 100;
  bool strip_label_dots = false;
  TableReading table;
  Results results;
};

// What ranges are taken on, and what a person calls one of it.
struct Calibration {
  int64_t rows = 0;
  const char* unit = "rows";
};

// How good the model was and is, on rows with labels that it was not trained on.
struct Cost {
  int64_t rows = 0;
  std::string metric;
  double before = 0, after = 0;
  bool apart = false;  // whether the ranges are of others
};

std::string cost_text(const std::optional<Cost>& cost, const char* unit, const std::string& calibrate) {
  if (!cost) return cat("what it cost is not known: ", calibrate, " has no labels\n");
  constexpr double kShown = 1e4;  // what is said is the difference of what is shown
  const double before = std::round(kShown * cost->before) / kShown,
               after = std::round(kShown * cost->after) / kShown, lost = before - after;
  const std::string points =
      cost->metric == "accuracy" ? cat(fixed(100 * std::abs(lost), 2), " points") : fixed(std::abs(lost), 4);
  return cat(cost->metric, " ", fixed(before, 4), " before, ", fixed(after, 4),
             " now: ", lost == 0 ? "the same" : cat(points, lost > 0 ? " less" : " more"), ", on ",
             cost->rows, " ", unit,
             cost->apart ? " that the ranges are not from\n" : ", which the ranges are from\n");
}
nlohmann::ordered_json cost_json(const std::optional<Cost>& cost) {
  if (!cost) return nullptr;
  return {{"rows", cost->rows}, {"metric", cost->metric}, {"before", cost->before}, {"after", cost->after}};
}

void write_quantized(const QuantizeRun& run, const LoadedModel& model, QuantizedModel& quantized,
                     std::map<std::string, std::string> files, const Calibration& by,
                     const std::optional<Cost>& cost) {
  // It was trained on the same rows, and has the same test rows.
  for (const char* name : {kHistoryFile, kHeldOutFile, kLearnedFile}) {
    if (model.has_file(name)) files[name] = model.file(name);
  }
  if (const auto history = files.find(kHistoryFile); history != files.end()) {
    auto json = nlohmann::ordered_json::parse(history->second, nullptr, false);
    if (json.is_object()) {
      json["quantized"] = {{"products", quantized.products()}, {"rows", by.rows}, {"cost", cost_json(cost)}};
      history->second = json_text(json);
    }
  }
  quantized.save(run.out, {.files = files});
  if (run.results.json) {
    return run.results.write_json("quantize", {{"model", run.model},
                                               {"calibrate", run.calibrate},
                                               {"out", run.out},
                                               {"products", quantized.products()},
                                               {"rows", by.rows},
                                               {"cost", cost_json(cost)},
                                               {"warnings", *run.results.warned}});
  }
  run.results.write(cat("wrote ", run.out, ": ", quantized.products(),
                        quantized.products() == 1 ? " product" : " products",
                        " on 8-bit integers, ranges from ", by.rows, " ", by.unit, "\n",
                        cost_text(cost, by.unit, run.calibrate)));
  std::vector<std::string> next = {cost ? "evaluate" : "predict", run.out, run.calibrate};
  if (cost && run.strip_label_dots) next.emplace_back("--strip-label-dots");
  for (const std::string& word : run.table.words()) next.push_back(word);
  run.results.suggest(next);
}

// Of the table's rows with a label those to evaluate the model on.
std::vector<int64_t> rows_for_cost(const QuantizeRun& run, const LoadedTableModel& saved,
                                   const ColumnProgram& columns, const CsvTable& table) {
  if (!columns.has_label(table)) return {};
  return rows_to_evaluate(saved, run.model, table, run.calibrate,
                          labelled_test_rows(columns, table, run.calibrate, run.results), false, run.results,
                          "");
}

Cost cost_on(const QuantizeRun& run, LoadedTableModel& saved, QuantizedModel& quantized,
             const ColumnProgram& columns, const CsvTable& table, const std::vector<int64_t>& rows) {
  const Tensor labels = read_labels(columns, table, run.calibrate, rows);
  const Tensor inputs = read_inputs(columns, table, run.calibrate, rows);
  warn_of_learned_rows(saved, run.model, run.calibrate, inputs, run.results);
  const auto score_of = [&](Model& model) {
    const Scores scores =
        score(columns, predict_rows(model, columns, inputs, saved.decision, run.results), labels);
    return columns.classification() ? scores.accuracy : scores.r2.value_or(0);
  };
  return Cost{std::ssize(rows), columns.classification() ? "accuracy" : "r2", score_of(saved.model),
              score_of(quantized)};
}

QuantizedModel quantize_shown(const QuantizeRun& run, Model& model, const Tensor& rows, const char* unit) {
  ProgressBar bar;
  bar.start("measuring ranges", rows.size(0), cat(" ", unit));
  return quantize(model, rows,
                  {.percentile = run.percentile, .on_rows = [&](int64_t done) { bar.update(done); }});
}

void quantize_tables(const QuantizeRun& run) {
  LoadedTableModel saved = LoadedTableModel::load(run.model);
  const CsvTable table = saved.read(run.table, run.calibrate, run.results);
  const ColumnProgram columns =
      run.strip_label_dots ? saved.columns.with_strip_label_dots(true) : saved.columns;
  const std::vector<int64_t> tests = rows_for_cost(run, saved, columns, table);
  std::vector<int64_t> ranging(static_cast<size_t>(table.rows()));
  std::iota(ranging.begin(), ranging.end(), 0);
  // Of the training data the others give the ranges: test rows are to be new to both models.
  const int64_t learned = rows_learned(saved, run.model, table, run.calibrate, ranging);
  const bool apart = !tests.empty() && learned > 0 && learned + std::ssize(tests) == table.rows();
  if (apart) std::erase_if(ranging, [&](int64_t row) { return std::ranges::binary_search(tests, row); });
  ColumnReport report;
  const Tensor rows = saved.columns.inputs(table, ranging, &report);
  run.results.warn(warnings_of(report));
  QuantizedModel quantized = quantize_shown(run, saved.model, rows, "rows");
  std::optional<Cost> cost;
  if (!tests.empty()) {
    cost = cost_on(run, saved, quantized, columns, table, tests);
    cost->apart = apart;
  }
  write_quantized(run, saved.model, quantized,
                  {{kColumnsFile, saved.model.file(kColumnsFile)},
                   {kDecisionFile, saved.decision.to_json(saved.columns.classes())}},
                  {.rows = rows.size(0)}, cost);
}

void quantize_images(const QuantizeRun& run, LoadedModel& model) {
  check_image_flags(*run.verb, run.model, "quantize.images",
                    {"--calibrate", "--out", "--percentile", "--json", "--threads"});
  const HashedExamples images = images_for(model, run.model, run.calibrate, run.results);
  warn_of_learned_images(model, run.model, run.calibrate, images.hashes, run.results);
  QuantizedModel quantized = quantize_shown(run, model, images.x, "images");
  const Cost cost{images.rows(), "accuracy", accuracy_on(model, images, run.results),
                  accuracy_on(quantized, images, run.results)};
  write_quantized(run, model, quantized,
                  {{kImagesFile, json_text({{"version", 1}, {"classes", image_classes(model, run.model)}})}},
                  {.rows = images.rows(), .unit = "images"}, cost);
}

void quantize_model(const QuantizeRun& run) {
  check_order(run.model, run.calibrate);
  std::error_code none;
  if (std::filesystem::equivalent(run.out, run.model, none))
    throw ValueError("quantize.out", cat("--out ", run.out, " would replace the model that is read"),
                     "name another folder");
  check_save_path(run.out, {{kColumnsFile, ""},
                            {kHistoryFile, ""},
                            {kHeldOutFile, ""},
                            {kDecisionFile, ""},
                            {kImagesFile, ""},
                            {kLearnedFile, ""}});
  if (!posix_env().exists(cat(run.model, "/", kColumnsFile))) {
    LoadedModel model = load_model(run.model);
    if (takes_images(model)) return quantize_images(run, model);
  }
  quantize_tables(run);
}

constexpr const char* kQuantizeExamples =
    R"(Examples:
  espalier quantize model/ --calibrate people.csv --out model8
      Quantize, and print the drop in accuracy if the rows have labels.
  espalier export model8 --to c --out income8.c

Exit codes: 0 done, 2 usage error or bad input.)";

}  // namespace

void add_quantize(CLI::App& app) {
  auto run = std::make_shared<QuantizeRun>();
  CLI::App* verb =
      app.add_subcommand("quantize", "Quantize weights and activations of a saved model to 8-bit integers");
  run->verb = verb;
  verb->add_option("model", run->model, "Model folder, as written by `espalier train`")
      ->option_text("FOLDER")
      ->required();
  verb->add_option("--calibrate", run->calibrate,
                   "Calibration rows, some hundreds, that resemble future rows: a table, or folders of "
                   "images by class for an image model. They give the ranges of activations and, if "
                   "labelled, the drop in accuracy (of a regression, in r2)")
      ->option_text("FILE|FOLDER")
      ->required();
  verb->add_option("--out", run->out, "Folder to save the quantized model in")
      ->option_text("FOLDER")
      ->check(a_name())
      ->required();
  verb->add_option(
          "--percentile", run->percentile,
          "Percentile of activations that sets their range, above 50; below 100, outliers at both ends are "
          "clipped")
      ->option_text("X [100]");
  verb->add_flag("--strip-label-dots", run->strip_label_dots,
                 "Strip a trailing dot from labels: read \"x.\" as \"x\"");
  add_table_reading(*verb, run->table);
  run->results.add_json(*verb);
  add_threads(*verb);
  verb->footer(kQuantizeExamples);
  verb->callback([run] { quantize_model(*run); });
}

}  // namespace espalier::cli
