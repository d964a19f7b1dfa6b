#include "cli/train_table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/shortest.h"
#include "cli/device_flags.h"
#include "cli/device_log.h"
#include "cli/interrupt.h"
#include "cli/resumable_fit.h"
#include "cli/table_flags.h"
#include "cli/train_images.h"
#include "data/missing_labels.h"
#include "report/progress.h"
#include "report/table.h"
#include "tables/learned_rows.h"
#include "tables/ledger.h"
#include "tables/linear_model.h"
#include "tables/provenance.h"
#include "tables/replaced_model.h"
#include "tables/row_checks.h"
#include "tables/scores.h"
#include "tables/split.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

// "income", "15" for the fifteenth where no column has that name, or "last".
std::string column_named(const CsvTable& table, const std::string& wanted) {
  const auto& names = table.names();
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  if (wanted == "last") return names.back();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && end == wanted.data() + wanted.size()) {
    if (number >= 1 && number <= table.columns()) return names[static_cast<size_t>(number - 1)];
    throw ValueError("csv.column", cat("no column is called \"", wanted,
                                       "\", and as numbers they go from 1 to ", table.columns()));
  }
  table.column(wanted);  // raises, and names the nearest
  return wanted;
}

// Of very many columns those that there is something to say about.
void show_notes(const ColumnProgram& columns, const Terminal& terminal) {
  constexpr size_t kAll = 60;
  const bool all = columns.notes().size() <= kAll;
  size_t plain = 0;
  for (const Note& note : columns.notes()) {
    if (all || note.warning || note.column == columns.label() || !note.text.starts_with("numeric"))
      say_aside(terminal.paint(note.warning ? Ink::kBold : Ink::kDim, cat("  ", to_string(note))) + "\n");
    else
      ++plain;
  }
  if (plain) say_aside(terminal.paint(Ink::kDim, cat("  ", counted(plain, "more column"), ": numeric\n")));
}

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

ColumnProgram fit_columns(const CsvTable& table, const std::vector<int64_t>& rows, ColumnOptions options) {
  ProgressBar bar;
  bar.start("looking at columns", table.columns());
  options.on_column = [&](int64_t looked) { bar.update(looked); };
  return ColumnProgram::fit(table, rows, options);
}

// Rows of the table at `path` with a label that are as the schema says. Both lists are in order.
std::vector<int64_t> in_both(const std::vector<int64_t>& labelled, const std::vector<int64_t>& kept,
                             const std::string& path) {
  std::vector<int64_t> out;
  std::ranges::set_intersection(labelled, kept, std::back_inserter(out));
  if (out.empty() && !labelled.empty())
    throw ValueError("rows.none", cat(path, ": no row with a label is as the schema says"));
  return out;
}

// Days that are split at random are tested by their neighbours.
void show_split(const ColumnProgram& columns, const CsvTable& table, const DataPlan& data) {
  if (data.split != "random" || !data.test.empty() || is_stream(data.file)) return;
  for (const Note& note : columns.notes()) {
    if (!note.text.starts_with("date") || note.column == columns.label()) continue;
    const int64_t column = table.column(note.column);
    std::unordered_set<std::string_view> different;
    for (int64_t row = 0; row < table.rows(); ++row) different.insert(table.cell(row, column));
    if (2 * static_cast<int64_t>(different.size()) < table.rows()) continue;
    say_aside(
        cat("note: test rows are taken at random; where the future is to be told, part the file first: ",
            command({"data", "split", data.file, "--by-time", note.column}), "\n"));
    return;
  }
}

Sequential make_model(const ColumnProgram& columns, const TrainPlan& plan, int64_t positive) {
  const DTypePolicy dtype = policy_of(plan.fit.dtype);
  Sequential model;
  for (const LayerPlan& layer : plan.model.layers) add_layer(model, layer, dtype);
  const auto classes = static_cast<int64_t>(columns.classes().size());
  model.add(Dense({.units = std::max<int64_t>(1, classes), .dtype = kLastDType}));
  compile(model, plan, classes, positive);
  return model;
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

std::map<int64_t, double> class_weights(const ColumnProgram& columns, const TrainPlan& plan,
                                        const Tensor& y) {
  if (columns.classification()) return make_class_weights(plan.fit.class_weight, columns.classes(), y);
  if (plan.fit.class_weight != ClassWeights("none"))
    throw ValueError("train.class_weight", "fit.class_weight is for classes, and the label is a number");
  return {};
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

// What is wrong with the model as a whole, if something is.
std::vector<std::string> verdict(const Scores& scores, const ColumnProgram& columns, const TrainPlan& plan) {
  if (!columns.classification()) {
    if (scores.r2 && *scores.r2 < 0) return {"always saying the mean would be better than this model"};
    return {};
  }
  const size_t classes = columns.classes().size();
  std::vector<int64_t> said(classes);
  for (size_t i = 0; i < scores.counts.size(); ++i) said[i % classes] += scores.counts[i];
  const auto most = std::ranges::max_element(said);
  const bool plain = plan.fit.class_weight == ClassWeights("none") && !plan.model.threshold;
  constexpr double kRare = 0.8;  // of the commonest class: the others are rare
  constexpr const char* kBalanced = "; --class-weight balanced makes rare classes count more";
  if (scores.base_rate == 1) return {"the test rows are all of one class, and say little"};
  constexpr int64_t kFew = 10;  // of so few rows one class may be said by chance
  if (*most == scores.rows && scores.rows >= kFew) {
    return {cat("it says ", columns.classes()[static_cast<size_t>(most - said.begin())], " of every row",
                !plain                      ? ""
                : scores.base_rate >= kRare ? kBalanced
                                            : ": no input seems to tell the label")};
  }
  // Balanced weights and thresholds give accuracy away for rare classes, as asked.
  if (plain && scores.accuracy < scores.base_rate)
    return {cat("by accuracy alone, always saying the commonest class would be better than this model",
                scores.base_rate >= kRare ? kBalanced : "")};
  return {};
}

// Of two classes the positive one: what the plan and the schema name, else a known pair, else the rarer one
// of the training rows.
PositiveClass positive_in(const ColumnProgram& columns, const TrainPlan& plan, const Tensor& y,
                          const std::string& favourable) {
  const std::vector<std::string>& classes = columns.classes();
  said_at(plan, "model.positive", [&] { check_positive(columns, plan.model.positive); });
  if (classes.size() != 2) return {};
  const auto labels = y.data<int32_t>();
  std::map<std::string, int64_t> rows;
  for (size_t c = 0; c < 2; ++c) rows[classes[c]] = std::ranges::count(labels, static_cast<int32_t>(c));
  const PositiveClass out = said_at(plan, "model.positive", [&] {
    return positive_class({.flag = plan.model.positive, .schema = favourable}, rows);
  });
  const auto need = [&](const char* place, const std::string& who) {
    if (!out.known())
      said_at(plan, place, [&] { throw_no_positive(cat("label \"", columns.label(), "\""), classes, who); });
  };
  if (plan.model.threshold) need("model.threshold", "a threshold is of");
  for (const char* metric : {"precision", "recall"}) {
    if (std::ranges::count(plan.fit.metrics, metric)) need("fit.metrics", cat(metric, " counts"));
  }
  return out;
}

Decision decision_for(const PositiveClass& positive, const ColumnProgram& columns, const TrainPlan& plan) {
  Decision out{
      .positive = {}, .threshold = plan.model.threshold, .because = std::string(name(positive.because))};
  if (positive.known())
    out.positive = std::ranges::find(columns.classes(), positive.value) - columns.classes().begin();
  return out;
}

std::map<std::string, std::string> files_of(const ColumnProgram& columns, const Decision& decision,
                                            const nlohmann::ordered_json& history, const TrainingSplit& rows,
                                            const std::string& learned) {
  return {{kColumnsFile, columns.to_json()},
          {kHistoryFile, json_text(history)},
          {kHeldOutFile, held_out_csv(rows)},
          {kLearnedFile, learned},
          {kDecisionFile, decision.to_json(columns.classes())}};
}

// Nothing when Ctrl-C ends it: there is a model without it.
std::optional<LinearModel> linear_beside(const ColumnProgram& columns, const Decision& decision,
                                         const TrainPlan& plan, const Tensor& x, const Tensor& y,
                                         const FitOptions& fit) {
  const InterruptScope interrupts;
  LinearModel out = fit_linear(columns.classes().size(), decision.positive.value_or(1), plan, x, y, fit,
                               StopOnInterrupt(""));
  if (!InterruptScope::obeyed()) return out;
  say_aside("interrupted: the comparison with a linear model is left out\n");
  return std::nullopt;
}

// A model that says no numbers is not put in the place of another, nor beside it.
void check_finite(const Predictions& predictions, const TrainPlan& plan) {
  const auto finite = [](double x) { return std::isfinite(x); };
  if (std::ranges::all_of(predictions.outputs, finite) && std::ranges::all_of(predictions.values, finite))
    return;
  remove_checkpoint(plan);
  throw ValueError("train.diverged",
                   cat("what the model says of the test rows is no number: the training diverged, and ",
                       plan.model.path, " is not written"),
                   "a smaller --learning-rate");
}

// What the threshold would do that the validation rows choose: test rows choose nothing.
std::string better_threshold(const ColumnProgram& columns, int64_t positive, const Predictions& validation,
                             const Tensor& validation_y, Predictions test, const Tensor& test_y) {
  BestThreshold best = best_threshold(validation, validation_y, positive);
  const Scores now = score(columns, test, test_y);
  test.best = Decision{positive, best.threshold}(test.outputs, columns.classes().size());
  if (best.f1 >= 0) best.f1 = score(columns, test, test_y).of_class[static_cast<size_t>(positive)].f1;
  return better_text(columns, positive, now, best, "the validation rows choose");
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
  const DataPlan& data = plan.data;
  const TableReading reading = reading_of(data);
  check_save_path(plan.model.path, {{kColumnsFile, ""},
                                    {kHistoryFile, ""},
                                    {kHeldOutFile, ""},
                                    {kLearnedFile, ""},
                                    {kDecisionFile, ""},
                                    {kSchemaFile, ""},
                                    {kImagesFile, ""}});
  const auto place = claim_run(plan, run.resume, !run.show_step);
  RowChecks checks({.schema = data.schema,
                    .environment = data.environment,
                    .quarantine = data.quarantine,
                    .slice = data.slice},
                   {data.file, data.test});
  const CsvTable read = read_training(reading, data, run.results);
  reading.check_parted(read, data.file);
  const MissingWords missing = checks.missing(data.missing);
  const RowJudgement& found = checks.check(data.file, read, read.names(), missing, {}, run.results);
  const CsvTable& table = found.table;
  const auto column_at = [&](const std::string& path, const std::string& name) {
    return said_at(plan, path, [&] { return column_named(table, name); });
  };
  ColumnOptions options{.label = column_at("data.label", data.label),
                        .missing = missing.words(),
                        .values = missing.values(),
                        .max_categories = data.max_categories,
                        .strip_label_dots = data.strip_label_dots,
                        .merge_labels = data.merge_labels,
                        .task = data.task == "class"    ? ColumnTask::kClassification
                                : data.task == "number" ? ColumnTask::kRegression
                                                        : ColumnTask::kGuess};
  for (size_t i = 0; i < data.ignore.size(); ++i)
    options.ignore.push_back(column_at(cat("data.ignore[", i, "]"), data.ignore[i]));
  for (size_t i = 0; i < data.include.size(); ++i)
    options.include.push_back(column_at(cat("data.include[", i, "]"), data.include[i]));
  const std::vector<int64_t> labelled = in_both(labelled_rows(table, options), found.kept, data.file);
  const TrainingSplit rows = split_rows(labelled, table, options, data, plan.fit.seed);
  const ColumnProgram columns = fit_columns(table, rows.train, options);
  check_replaced(plan.model.path, question_of(columns), plan.fit.epochs, run.force);
  std::optional<CsvTable> given_test;
  if (!data.test.empty()) {
    given_test = reading.beside(columns.decimal()).read(data.test, columns.column_names(), run.results);
    check_test(columns, *given_test, data.test);
  }
  said_at(plan, "model.threshold", [&] { check_decision(columns, {.threshold = plan.model.threshold}); });
  const Tensor y = columns.labels(table, rows.train);
  const PositiveClass positive = positive_in(columns, plan, y, checks.favourable(columns.label()));
  const Decision decision = decision_for(positive, columns, plan);

  const Terminal progress = Terminal::of(STDERR_FILENO);
  say_aside(cat(table.rows(), " rows, ", table.columns(), " columns; \"", columns.label(),
                "\" is learned as ", columns.classification() ? "a class" : "a number", " from ",
                rows.train.size(), " of the rows\n"));
  if (const int64_t unlabelled = std::ssize(found.kept) - std::ssize(labelled)) {
    const std::string of_missing =
        columns.classification() ? missing_labels(table, table.column(columns.label()), missing) : "";
    run.results.warn(
        {cat(unlabelled, unlabelled == 1 ? " row has no value of \"" : " rows have no value of \"",
             columns.label(), unlabelled == 1 ? "\" and is left out" : "\" and are left out",
             of_missing.empty() ? "" : "; ", of_missing)});
  }
  show_notes(columns, progress);
  show_split(columns, table, data);

  RowJudgement test;
  if (given_test)
    test = checks.check(data.test, *given_test, columns.names_of(*given_test), missing, {}, run.results);
  if (!run.show_step) checks.write();
  const CsvTable& other = test.table;
  const CsvTable& test_table = data.test.empty() ? table : other;
  std::vector<int64_t> test_rows = rows.test;
  if (!data.test.empty()) {
    test_rows = in_both(labelled_test_rows(columns, other, data.test, run.results), test.kept, data.test);
    const int64_t both = rows_in_both(table, rows.train, other, test_rows);
    if (10 * both > static_cast<int64_t>(test_rows.size())) {
      run.results.warn({cat(both, " of the ", test_rows.size(), " rows of ", data.test,
                            " are training rows too: what they say of the model is too good")});
    }
  }
  const std::string& test_path = data.test.empty() ? data.file : data.test;
  ColumnReport report;
  // Before the training: a label that cannot be read is said at once.
  const Tensor test_y = read_labels(columns, test_table, test_path, test_rows);
  const Tensor test_x = read_inputs(columns, test_table, test_path, test_rows, &report);
  const Tensor x = columns.inputs(table, rows.train);
  if (data.test.empty()) {
    const int64_t again = rows_repeated(table, rows.train, rows.test);
    if (4 * again > std::ssize(rows.test)) {
      run.results.warn({cat(again, " of the ", rows.test.size(),
                            " test rows are training rows too: what they say of the model is too good")});
    }
  }
  say_aside(cat(counted(rows.train.size(), "training row"), ", ",
                counted(rows.validation.size(), "validation row"), ", ",
                counted(test_rows.size(), "test row"), data.test.empty() ? "" : cat(" of ", data.test), "; ",
                columns.width(), columns.width() == 1 ? " input\n" : " inputs\n"));
  run.results.warn(warnings_of(report));

  check_layers(plan, {columns.width()});
  Sequential model = make_model(columns, plan, decision.positive.value_or(1));
  const Tensor validation_x = columns.inputs(table, rows.validation);
  const std::vector<uint64_t> hashes = row_hashes(x);
  const std::string learned = plan.fit.epochs > 0 ? learned_rows_text(hashes) : "";
  nlohmann::ordered_json body = {
      {"data", data.file},
      {"label", columns.label()},
      {"model", plan.model.path},
      {"task", columns.classification() ? "classification" : "regression"},
      {"train_rows", rows.train.size()},
      {"validation_rows", rows.validation.size()},
      {"seed", plan.fit.seed},
      {"dtype", plan.fit.dtype},
      {"lineage", lineage_of(plan, table, other, rows, count_alike(row_hashes(validation_x), hashes))}};
  if (!data.schema.empty()) body["schema"] = checks.json();
  const auto files = [&] {
    std::map<std::string, std::string> out = files_of(columns, decision, body, rows, learned);
    if (!data.schema.empty()) out[kSchemaFile] = checks.schema_text();
    return out;
  };
  FitOptions fit = fit_options(with_checkpoint_files(plan, files));
  auto ledger = std::make_shared<Ledger>();
  fit.callbacks.push_back(ledger);
  const auto device = std::make_shared<DeviceLog>();
  fit.callbacks.push_back(device);
  fit.validation_x = validation_x;
  fit.validation_y = columns.labels(table, rows.validation);
  fit.class_weight = said_at(plan, "fit.class_weight", [&] { return class_weights(columns, plan, y); });
  const auto loss_of = [&](Sequential& one) {
    return one.evaluate(fit.validation_x, fit.validation_y).at("loss");
  };
  if (run.show_step) return run.show_step(model, x, y);
  const std::string this_run = run_of(plan, x, y, {test_x, test_y}, fit);
  if (ended_before(plan, run.resume, this_run, run.results)) return;
  set_seed(plan.fit.seed);
  say_aside(unit_of_epochs(columns));
  const std::vector<Logs> history = fit_or_leave(model, plan, run.resume, this_run, x, y, fit);
  say_aside(ending(plan, history));
  size_t epochs = history.size();
  std::optional<LinearModel> linear;
  if (plan.model.compare_linear && plan.fit.epochs > 0)
    linear = linear_beside(columns, decision, plan, x, y, fit);
  nlohmann::ordered_json compared;
  if (linear) {
    const double loss = loss_of(model), linear_loss = loss_of(linear->model);
    const bool kept = linear_loss < loss || !std::isfinite(loss);
    compared = {{"val_loss", loss}, {"linear_val_loss", linear_loss}, {"linear_kept", kept}};
    const auto figure = [](double x) { return std::isfinite(x) ? fixed(x, 4) : std::string("is no number"); };
    say_aside(cat("a linear model: val_loss ", figure(linear_loss), ", this one ", figure(loss),
                  kept ? ": the linear model is kept\n" : "\n"));
    if (kept) {
      model = linear->model;
      epochs = linear->epochs;
      ledger = linear->ledger;
    }
  }
  const Predictions predictions = predict_rows(model, columns, test_x, decision);
  check_finite(predictions, plan);
  run.results.warn(cut_warning(predictions.cuts(), columns, static_cast<int64_t>(test_rows.size())));
  const Scores scores = score(columns, predictions, test_y);

  if (plan.fit.epochs == 0)
    run.results.warn(
        {cat("with 0 epochs ", plan.model.path, " has learned nothing: it says what it began with")});
  const bool replaced = posix_env().exists(plan.model.path);
  body["run"] = name_of_run(this_run);
  body["epochs"] = epochs;
  body["ledger"] = ledger->json();
  if (!ledger->waits().is_null()) body["waits"] = ledger->waits();
  body["test"] = json_of(scores, columns);
  if (linear) body["linear"] = compared;
  const bool two = columns.classes().size() == 2;
  if (two) add_positive(body, positive);
  if (decision.threshold) body["threshold"] = *decision.threshold;
  model.save(plan.model.path, {.files = files()});
  remove_checkpoint(plan);
  if (run.results.json) {
    run.results.warn(verdict(scores, columns, plan));
    body["notes"] = json_of_notes(columns);
    body["warnings"] = *run.results.warned;
    if (const auto of_device = device->json(); !of_device.is_null()) body["device"] = of_device;
    return run.results.write_json("train", body);
  }
  const Terminal terminal = run.results.terminal();
  std::string text = report_of(scores, columns, terminal);
  if (two) text += positive_line(positive, columns.label(), columns.classes(), terminal);
  if (decision.threshold)
    text += text_of(decision, columns) + "\n";
  else if (decision.positive)
    text += better_threshold(columns, *decision.positive, predict_rows(model, columns, fit.validation_x[0]),
                             fit.validation_y[0], predictions, test_y);
  run.results.write(cat(text, replaced ? "replaced " : "saved ", plan.model.path,
                        plan.model.path.ends_with('/') ? "" : "/", ": the model, and how a row is read",
                        device->place_text().empty() ? "" : cat("; trained on ", device->place_text()),
                        "\n"));
  run.results.warn(verdict(scores, columns, plan));
  // The rows at hand are told already.
  std::vector<std::string> next = check_words(plan.model.path, test_path);
  if (data.strip_label_dots) next.emplace_back("--strip-label-dots");
  for (const std::string& word : reading.words()) next.push_back(word);
  // First gates count a class that is known.
  if (two && !positive.known()) {
    next = {"evaluate", plan.model.path, test_path};
    // One process on a host of a TPU would begin the whole TPU.
    if (plan.distribute.strategy != "tpu") add_device_words(plan.device, next);
  }
  run.results.suggest(next);
}

}  // namespace espalier::cli
