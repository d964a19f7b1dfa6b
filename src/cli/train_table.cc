#include "cli/train_table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "cli/device_flags.h"
#include "cli/device_log.h"
#include "cli/interrupt.h"
#include "cli/resumable_fit.h"
#include "tables/image_model.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance_text.h"
#include "tables/replaced_model.h"
#include "tables/row_checks.h"
#include "tables/table_training.h"

namespace espalier::cli {
namespace {

TableReading reading_of(const DataPlan& data) {
  return {.delimiter = data.delimiter, .header = data.header, .names = data.names, .decimal = data.decimal};
}

// The table to train on; a first line with the label's name is one of names.
CsvTable read_training(const TableReading& reading, const DataPlan& data, const Messages& messages) {
  CsvTable table = reading.read(data.file, {}, messages);
  if (!table.numbered() || reading.header != "guess" || !data.names.empty()) return table;
  for (int64_t c = 0; c < table.columns(); ++c) {
    if (table.rows() > 0 && table.cell(0, c) == data.label && !is_stream(data.file)) {
      TableReading named = reading;
      named.header = "yes";
      return named.read(data.file, {}, messages);
    }
  }
  messages.note(cat(source_name(data.file),
                    ": the first line is taken for a row, so columns are called column_1, "
                    "column_2, ...; --header yes where it holds their names"));
  return table;
}

// What the figures of each epoch of a number count in.
std::string unit_of_epochs(const ColumnProgram& columns) {
  if (columns.classification()) return "";
  const double scale = columns.label_scale();
  return cat("losses and errors of each epoch count in standard deviations of ", columns.label(),
             columns.label_log() ? cat("'s logarithm: 1 is a factor of ", rounded(std::exp(scale)))
                                 : cat(": 1 is ", rounded(scale)),
             "; squared errors count in its square\n");
}

// What ended the run before its last epoch.
std::string ending(const TrainPlan& plan, const std::vector<Logs>& history) {
  const auto epochs = static_cast<int>(history.size());
  if (epochs == 0 || epochs >= plan.fit.epochs) return "";
  for (const CallbackPlan& callback : plan.callbacks) {
    const auto* early = std::get_if<EarlyStoppingOptions>(&callback);
    if (!early || early->baseline || early->start_from_epoch || !early->restore_best_weights) continue;
    if (epochs > early->patience && std::isfinite(history.back().at("loss"))) {
      return cat("no better for ", early->patience, " epochs: the weights are those of epoch ",
                 epochs - early->patience, "\n");
    }
  }
  return cat("ended after ", epochs, " of ", plan.fit.epochs, " epochs\n");
}

// Raises before hours of training where the model cannot be saved.
void check_place(const TrainPlan& plan) {
  std::map<std::string, std::string> files;
  for (const char* name :
       {kColumnsFile, kHistoryFile, kHeldOutFile, kLearnedFile, kDecisionFile, kSchemaFile, kImagesFile})
    files[name] = "";
  check_save_path(plan.model.path, files);
}

// The rows that the plan names, up to the first step.
TableTraining prepared(const TableRun& run, const TableReading& reading) {
  const DataPlan& data = run.plan.data;
  RowChecks checks({.schema = data.schema,
                    .environment = data.environment,
                    .quarantine = data.quarantine,
                    .slice = data.slice},
                   {data.file, data.test});
  const CsvTable read = read_training(reading, data, run.results);
  reading.check_parted(read, data.file);
  const auto read_test = [&](const ColumnProgram& columns) -> std::optional<CsvTable> {
    check_replaced(run.plan.model.path, question_of(columns), run.plan.fit.epochs, run.force);
    if (data.test.empty()) return std::nullopt;
    return reading.beside(columns.decimal()).read(data.test, columns.column_names(), run.results);
  };
  TableTraining out = TableTraining::prepare(run.plan, read, read_test, checks, run.results);
  if (!run.show_step) checks.write();
  return out;
}

// Nothing when Ctrl-C ends it: there is a model without it.
std::optional<LinearModel> linear_beside(const TableTraining& training, const FitOptions& fit,
                                         const Results& results) {
  const InterruptScope interrupts;
  LinearModel out = fit_linear(training.columns.classes().size(), training.decision.positive.value_or(1),
                               training.plan, training.x, training.y, fit, StopOnInterrupt(""), results);
  if (!InterruptScope::obeyed()) return out;
  say_aside("interrupted: the comparison with a linear model is left out\n");
  return std::nullopt;
}

// First gates count a class that is known.
std::vector<std::string> next_command(const TableTraining& training, const TableReading& reading) {
  const TrainPlan& plan = training.plan;
  if (training.columns.classes().size() == 2 && !training.positive.known()) {
    std::vector<std::string> out = {"evaluate", plan.model.path, training.test_path()};
    // One process on a host of a TPU would begin the whole TPU.
    if (plan.distribute.strategy != "tpu") add_device_words(plan.device, out);
    return out;
  }
  // The rows at hand are told already.
  std::vector<std::string> out = check_words(plan.model.path, training.test_path());
  if (plan.data.strip_label_dots) out.emplace_back("--strip-label-dots");
  for (const std::string& word : reading.words()) out.push_back(word);
  return out;
}

std::string report_text(const TableTraining& training, const TrainedTable& trained,
                        const Terminal& terminal) {
  const ColumnProgram& columns = training.columns;
  std::string out = report_of(trained.scores, columns, terminal);
  if (columns.classes().size() == 2)
    out += positive_line(training.positive, columns.label(), columns.classes(), terminal);
  return out + (training.decision.threshold ? text_of(training.decision, columns) + "\n"
                                            : training.better_threshold(trained));
}

}  // namespace

void check_label(const TrainPlan& plan) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(plan.data.file, unknown)) return;
  const CsvTable table = read_training(reading_of(plan.data), plan.data, Results());
  said_at(plan, "data.label", [&] { return column_named(table, plan.data.label); });
}

void train_table(const TableRun& run) {
  const TrainPlan& plan = run.plan;
  const Results& results = run.results;
  check_place(plan);
  const auto place = claim_run(plan, run.resume, !run.show_step);
  const TableReading reading = reading_of(plan.data);
  const TableTraining training = prepared(run, reading);
  Sequential model = training.make_model();
  FitOptions fit = training.fit_options();
  const auto ledger = std::make_shared<Ledger>();
  const auto device = std::make_shared<DeviceLog>();
  fit.callbacks.push_back(ledger);
  fit.callbacks.push_back(device);
  if (run.show_step) return run.show_step(model, training.x, training.y);

  const std::string this_run = run_of(plan, training.x, training.y, {training.test_x, training.test_y}, fit);
  if (ended_before(plan, run.resume, this_run, results)) return;
  set_seed(plan.fit.seed);
  say_aside(unit_of_epochs(training.columns));
  const std::vector<Logs> history =
      fit_or_leave(model, plan, run.resume, this_run, training.x, training.y, fit);
  say_aside(ending(plan, history));
  TrainedTable trained = {
      .model = model, .epochs = history.size(), .ledger = ledger, .run = name_of_run(this_run)};
  if (plan.model.compare_linear && plan.fit.epochs > 0) {
    if (const auto linear = linear_beside(training, fit, results))
      training.compare(trained, *linear, results);
  }
  try {
    training.test(trained, results);
  } catch (const ValueError&) {
    remove_checkpoint(plan);
    throw;
  }
  if (plan.fit.epochs == 0)
    results.warn(
        {cat("with 0 epochs ", plan.model.path, " has learned nothing: it says what it began with")});

  const bool replaced = posix_env().exists(plan.model.path);
  nlohmann::ordered_json body = training.history(trained);
  trained.model.save(plan.model.path, {.files = training.files(body)});
  remove_checkpoint(plan);
  if (results.json) {
    results.warn(training.verdict(trained.scores));
    body["notes"] = json_of_notes(training.columns);
    body["warnings"] = *results.warned;
    if (const auto of_device = device->json(); !of_device.is_null()) body["device"] = of_device;
    return results.write_json("train", body);
  }
  const std::string where = device->place_text().empty() ? "" : cat("; trained on ", device->place_text());
  results.write(cat(report_text(training, trained, results.terminal()), replaced ? "replaced " : "saved ",
                    plan.model.path, plan.model.path.ends_with('/') ? "" : "/",
                    ": the model, and how a row is read", where, "\n"));
  results.warn(training.verdict(trained.scores));
  results.suggest(next_command(training, reading));
}

}  // namespace espalier::cli
