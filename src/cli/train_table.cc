#include "cli/train_table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/philox.h"
#include "cli/interrupt.h"
#include "cli/scores.h"
#include "format/utf8.h"
#include "ir/sink.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

// Which rows learn, which say when to stop, and which judge.
struct Split {
  std::vector<int64_t> train, validation, test;
};

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

// "income", "15" for the fifteenth where no column has that name, or "last".
std::string label_name(const CsvTable& table, const std::string& wanted) {
  const auto& names = table.names();
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  if (wanted == "last") return names.back();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && end == wanted.data() + wanted.size() && number >= 1 &&
      number <= table.columns())
    return names[static_cast<size_t>(number - 1)];
  table.column(wanted);  // raises, and names the nearest
  return wanted;
}

// Takes a share of the rows behind the first `kept`, in equal steps from a random one on: of rows by label, a
// share of each.
std::vector<int64_t> take(std::vector<int64_t>& rows, size_t kept, double share, Philox& random) {
  const size_t others = rows.size() - kept;
  const auto count =
      std::min(static_cast<size_t>(std::llround(share * static_cast<double>(rows.size()))), others);
  std::vector<int64_t> out, left(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept));
  const uint64_t first = random.below(std::max<size_t>(others, 1));
  for (size_t i = 0; i < others; ++i) {
    // A step ends where the multiples of `others` pass.
    const bool taken = (i * count + first) / others != ((i + 1) * count + first) / others;
    (taken ? out : left).push_back(rows[kept + i]);
  }
  rows = std::move(left);
  std::ranges::sort(out);
  return out;
}

// What ColumnProgram::fit may take for classes: texts, and few different numbers.
bool may_be_classes(const CsvTable& table, const std::vector<int64_t>& rows, const ColumnOptions& options) {
  constexpr size_t kMostNumbers = 20;
  if (options.task != ColumnTask::kGuess) return options.task == ColumnTask::kClassification;
  const int64_t label = table.column(options.label);
  std::unordered_set<std::string_view> met;
  int64_t numbers = 0;
  for (const int64_t row : rows) {
    met.insert(table.cell(row, label));
    numbers += table.number(row, label).has_value();
  }
  return met.size() <= kMostNumbers || 2 * numbers < static_cast<int64_t>(rows.size());
}

// Of each label the same shares; and one row trains, so that none is met later that the model cannot know.
// `classes`: the label may be one.
Split split_rows(std::vector<int64_t> rows, const CsvTable& table, int64_t label, bool classes,
                 const TrainPlan& plan) {
  constexpr uint64_t kStream = 0x5B117;  // of the seed: no shuffle of fit
  Philox random(plan.fit.seed, kStream);
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  std::unordered_set<std::string_view> met;
  std::stable_partition(rows.begin(), rows.end(),
                        [&](int64_t row) { return met.insert(table.cell(row, label)).second; });
  // Labels that hardly ever come again are numbers.
  const size_t kept = classes && 2 * met.size() <= rows.size() ? met.size() : 0;
  std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(),
                   [&](int64_t a, int64_t b) { return table.cell(a, label) < table.cell(b, label); });
  Split out;
  const DataPlan& data = plan.data;
  if (data.test.empty()) out.test = take(rows, kept, data.test_fraction, random);
  out.validation = take(rows, kept, data.validation_fraction, random);
  out.train = std::move(rows);
  std::ranges::sort(out.train);
  const size_t least =
      std::min({out.train.size(), out.validation.size(), data.test.empty() ? out.test.size() : 1});
  if (least == 0) {
    throw ValueError("train.rows", cat(data.file, " has too few rows with a label: ", out.train.size(),
                                       " to learn from, ", out.validation.size(), " to say when to stop, ",
                                       out.test.size(), " to judge; each side needs one"));
  }
  return out;
}

void show_notes(const ColumnProgram& columns, const Terminal& terminal) {
  for (const Note& note : columns.notes())
    say(terminal.paint(note.warning ? Ink::kBold : Ink::kDim, cat("  ", to_string(note))) + "\n");
}

Sequential make_model(const ColumnProgram& columns, const TrainPlan& plan) {
  const DTypePolicy dtype = policy_of(plan.fit.dtype);
  Sequential model;
  for (const LayerPlan& layer : plan.model.layers) add_layer(model, layer, dtype);
  const auto classes = static_cast<int64_t>(columns.classes().size());
  model.add(Dense({.units = std::max<int64_t>(1, classes), .dtype = dtype}));
  compile(model, plan, classes);
  return model;
}

std::string checkpoint_of(const TrainPlan& plan) {
  const std::string& model = plan.model.path;
  const size_t end = model.find_last_not_of('/');
  return model.substr(0, end == std::string::npos ? end : end + 1) + ".checkpoint";
}

// Before anything is read: whether there is a run to go on with.
void check_resume(const TableRun& run) {
  const std::string path = checkpoint_of(run.plan);
  const bool exists = posix_env().exists(path);
  if (exists && !run.resume) {
    throw ValueError("train.resume", cat(path, " holds a run that has not ended"),
                     "add --resume to go on with it, or remove the file to begin anew");
  }
  if (!exists && run.resume) say(cat("there is no ", path, ": the run begins anew\n"));
}

// A model of another question is not replaced: `model`, the folder of who names none, is soon met again.
void check_question(const std::string& path, const ColumnProgram& columns) {
  if (!posix_env().exists(path + "/" + kColumnsFile)) return;
  std::string label;
  try {
    label = ColumnProgram::from_json(posix_env().read_file(path + "/" + kColumnsFile)).label();
  } catch (const FormatError&) {
    return;  // of no use to anybody
  }
  if (label == columns.label()) return;
  throw ValueError(
      "train.model",
      cat(path, " holds a model of \"", label, "\", and this one is of \"", columns.label(), "\""),
      "name another folder with --model, or remove that one");
}

// All that a run depends on: the plan, and the numbers that it trains on.
std::string identity(TrainPlan plan, const Tensor& x, const Tensor& y) {
  plan.fit.checkpoint_every = 0;
  for_paths(plan, [](std::string& path) {
    if (!is_utf8(path)) path = utf8_of_windows1252(path);
  });
  uint32_t sum = 0;
  for (const Tensor* rows : {&x, &y}) {
    const Literal numbers = rows->node()->dense();
    sum = crc32_of(numbers.raw(), numbers.raw_bytes(), sum);
  }
  return cat(write_plan(plan), "training rows with checksum ", sum, "\n");
}

// Trains; SIGINT ends it, and what it was at lies in the checkpoint.
std::vector<Logs> fit_or_leave(Model& model, const TableRun& run, const Tensor& x, const Tensor& y,
                               FitOptions options) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  options.callbacks.push_back(StopOnInterrupt(identity(run.plan, x, y)));
  options.callbacks.push_back(
      BackupAndRestore({.path = checkpoint_of(run.plan),
                        .save_freq = run.plan.fit.checkpoint_every ? run.plan.fit.checkpoint_every : kNever,
                        .delete_checkpoint = false}));
  const InterruptScope interrupts;
  auto history = model.fit(x, y, options);
  if (InterruptScope::obeyed() && posix_env().exists(checkpoint_of(run.plan))) {
    say(cat("\ninterrupted; ", checkpoint_of(run.plan), " holds the run: the same command ",
            run.resume ? "" : "with --resume ", "goes on\n"));
    throw Exit{130};
  }
  return history;
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
std::string verdict(const Scores& scores, const ColumnProgram& columns, const TrainPlan& plan) {
  if (!std::isfinite(columns.classification() ? scores.log_loss : scores.rmse))
    return "warning: what it says is no number: the training diverged; try a smaller --learning-rate\n";
  if (!columns.classification())
    return scores.r2 < 0 ? "warning: always saying the mean would be better than this model\n" : "";
  const size_t classes = columns.classes().size();
  std::vector<int64_t> said(classes);
  for (size_t i = 0; i < scores.counts.size(); ++i) said[i % classes] += scores.counts[i];
  const auto most = std::ranges::max_element(said);
  const bool plain = plan.fit.class_weight == ClassWeights("none");
  if (*most == scores.rows) {
    return cat("warning: it says ", columns.classes()[static_cast<size_t>(most - said.begin())],
               " of every row", plain ? "; --class-weight balanced makes rare classes count more\n" : "\n");
  }
  // Balanced weights give accuracy away for rare classes, as asked.
  const bool worse = plain && scores.accuracy < scores.base_rate;
  return worse ? "warning: always saying the commonest class would be better than this model\n" : "";
}

}  // namespace

void train_table(const TableRun& run) {
  const TrainPlan& plan = run.plan;
  const DataPlan& data = plan.data;
  const TableFlags reading{.delimiter = data.delimiter, .header = data.header, .names = data.names};
  check_save_path(plan.model.path, {{kColumnsFile, ""}, {kHistoryFile, ""}});
  check_resume(run);
  const CsvTable table = reading.read(data.file);
  reading.check_parted(table, data.file);
  ColumnOptions options{.label = label_name(table, data.label),
                        .ignore = data.ignore,
                        .missing = data.missing,
                        .max_categories = data.max_categories,
                        .strip_label_dots = data.strip_label_dots,
                        .merge_labels = data.merge_labels,
                        .task = data.task == "class"    ? ColumnTask::kClassification
                                : data.task == "number" ? ColumnTask::kRegression
                                                        : ColumnTask::kGuess};
  const std::vector<int64_t> labelled = labelled_rows(table, options);
  const Split rows = split_rows(labelled, table, table.column(options.label),
                                may_be_classes(table, labelled, options), plan);
  const ColumnProgram columns = ColumnProgram::fit(table, rows.train, options);
  check_question(plan.model.path, columns);

  const Terminal progress = Terminal::of(STDERR_FILENO);
  say(cat(table.rows(), " rows, ", table.columns(), " columns; \"", columns.label(), "\" is learned as ",
          columns.classification() ? "a class" : "a number", "\n"));
  if (const int64_t unlabelled = table.rows() - static_cast<int64_t>(labelled.size()))
    say(cat("warning: ", unlabelled, " rows have no ", columns.label(), " and are left out\n"));
  show_notes(columns, progress);

  const CsvTable other = data.test.empty() ? CsvTable() : reading.read(data.test, columns.column_names());
  const CsvTable& test_table = data.test.empty() ? table : other;
  std::vector<int64_t> test_rows = rows.test;
  if (!data.test.empty()) {
    test_rows = labelled_test_rows(columns, other, data.test);
  }
  const std::string& test_path = data.test.empty() ? data.file : data.test;
  ColumnReport report;
  // Before the training: a label that cannot be read is said at once.
  const Tensor test_y = read_labels(columns, test_table, test_path, test_rows);
  const Tensor test_x = read_inputs(columns, test_table, test_path, test_rows, &report);
  const Tensor x = columns.inputs(table, rows.train), y = columns.labels(table, rows.train);
  say(cat(rows.train.size(), " rows train, ", rows.validation.size(), " say when to stop, ", test_rows.size(),
          data.test.empty() ? "" : cat(" of ", data.test), " judge; ", columns.width(), " inputs\n"));
  say(warnings_of(report));

  set_seed(plan.fit.seed);
  Sequential model = make_model(columns, plan);
  FitOptions fit = fit_options(plan);
  fit.validation_x = columns.inputs(table, rows.validation);
  fit.validation_y = columns.labels(table, rows.validation);
  fit.class_weight = class_weights(columns, plan, y);
  const std::vector<Logs> history = fit_or_leave(model, run, x, y, fit);
  say(ending(plan, history));
  const Scores scores = score(columns, predict_rows(model, columns, test_x), test_y);

  const bool replaced = posix_env().exists(plan.model.path);
  nlohmann::ordered_json body = {{"data", data.file},
                                 {"label", columns.label()},
                                 {"model", plan.model.path},
                                 {"task", columns.classification() ? "classification" : "regression"},
                                 {"train_rows", rows.train.size()},
                                 {"validation_rows", rows.validation.size()},
                                 {"seed", plan.fit.seed},
                                 {"dtype", plan.fit.dtype},
                                 {"epochs", history.size()},
                                 {"test", json_of(scores, columns)}};
  model.save(plan.model.path,
             {.files = {{kColumnsFile, columns.to_json()}, {kHistoryFile, json_text(body)}}});
  if (posix_env().exists(checkpoint_of(run.plan))) posix_env().remove_file(checkpoint_of(run.plan));
  if (run.results.json) {
    body["notes"] = json_of_notes(columns);
    return run.results.write_json("train", body);
  }
  Terminal terminal = Terminal::of(STDOUT_FILENO);
  if (run.results.out != "-") terminal.colors = false;
  run.results.write(cat(report_of(scores, columns, terminal), replaced ? "replaced " : "saved ",
                        plan.model.path, ": the model, and how a row is read\n"));
  say(verdict(scores, columns, plan));
  std::vector<std::string> next = {"predict", plan.model.path, test_path};
  for (const std::string& word : reading.words()) next.push_back(word);
  run.results.suggest(next);
}

}  // namespace espalier::cli
