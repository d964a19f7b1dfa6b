#include "cli/train_table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/philox.h"
#include "cli/interrupt.h"
#include "espalier/callbacks.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

// Which rows learn, which say when to stop, and which judge.
struct Split {
  std::vector<int64_t> train, validation, test;
};

constexpr const char* kHistoryFile = "training.json";
constexpr size_t kPatience = 6;

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

// Rows in an order that the seed alone says: `share` of them at the end of it are taken out.
std::vector<int64_t> take(std::vector<int64_t>& rows, double share) {
  const auto count = static_cast<size_t>(std::llround(share * static_cast<double>(rows.size())));
  const auto first = rows.end() - static_cast<std::ptrdiff_t>(std::min(count, rows.size()));
  std::vector<int64_t> out(first, rows.end());
  rows.erase(first, rows.end());
  std::ranges::sort(out);
  return out;
}

// A row of each label trains, so that none is met later that the model cannot know.
Split split_rows(std::vector<int64_t> rows, const CsvTable& table, int64_t label, const TableRun& run) {
  constexpr uint64_t kStream = 0x5B117;  // of the seed: no shuffle of fit
  constexpr double kValidation = 0.1;
  Philox random(run.seed, kStream);
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  std::unordered_set<std::string_view> met;
  std::stable_partition(rows.begin(), rows.end(),
                        [&](int64_t row) { return met.insert(table.cell(row, label)).second; });
  Split out;
  if (run.test.empty()) out.test = take(rows, run.test_fraction);
  out.validation = take(rows, kValidation);
  out.train = std::move(rows);
  std::ranges::sort(out.train);
  const size_t least =
      std::min({out.train.size(), out.validation.size(), run.test.empty() ? out.test.size() : 1});
  if (least == 0) {
    throw ValueError("train.rows", cat(run.data, " has too few rows with a label: ", out.train.size(),
                                       " to learn from, ", out.validation.size(), " to say when to stop, ",
                                       out.test.size(), " to judge; each side needs one"));
  }
  return out;
}

void show_notes(const ColumnProgram& columns, const Terminal& terminal) {
  for (const Note& note : columns.notes())
    say(terminal.paint(note.warning ? Ink::kBold : Ink::kDim, cat("  ", to_string(note))) + "\n");
}

Sequential make_model(const ColumnProgram& columns, const TableRun& run, DTypePolicy dtype) {
  Sequential model;
  for (const int64_t units : run.hidden) {
    model.add(
        Dense({.units = units, .activation = "relu", .kernel_initializer = "he_normal", .dtype = dtype}));
    if (run.dropout > 0) model.add(Dropout(run.dropout, "dropout", dtype));
  }
  const auto outputs = columns.classification() ? static_cast<int64_t>(columns.classes().size()) : 1;
  model.add(Dense({.units = outputs, .dtype = dtype}));
  return model;
}

std::string checkpoint_of(const TableRun& run) {
  const size_t end = run.model.find_last_not_of('/');
  return run.model.substr(0, end == std::string::npos ? end : end + 1) + ".checkpoint";
}

// Before anything is read: whether there is a run to go on with.
void check_resume(const TableRun& run) {
  const std::string path = checkpoint_of(run);
  const bool exists = posix_env().exists(path);
  if (exists && !run.resume) {
    throw ValueError("train.resume", cat(path, " holds a run that has not ended"),
                     "add --resume to go on with it, or remove the file to begin anew");
  }
  if (!exists && run.resume) say(cat("there is no ", path, ": the run begins anew\n"));
}

// What a run depends on besides the data, the model and what fit itself compares.
std::string flags_of(const TableRun& run) {
  const nlohmann::ordered_json flags = {
      {"data", run.data},       {"label", run.label},   {"seed", run.seed},
      {"test", run.test},       {"ignore", run.ignore}, {"test_fraction", run.test_fraction},
      {"dropout", run.dropout}, {"hidden", run.hidden}, {"learning_rate", run.learning_rate},
      {"dtype", run.dtype},     {"epochs", run.epochs}};
  return flags.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Trains; SIGINT ends it, and what it was at lies in the checkpoint.
std::vector<Logs> fit_or_leave(Model& model, const TableRun& run, const Tensor& x, const Tensor& y,
                               FitOptions options) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  options.callbacks.push_back(StopOnInterrupt(flags_of(run)));
  options.callbacks.push_back(
      BackupAndRestore({.path = checkpoint_of(run),
                        .save_freq = run.checkpoint_every ? run.checkpoint_every : kNever,
                        .delete_checkpoint = false}));
  const InterruptScope interrupts;
  auto history = model.fit(x, y, options);
  if (InterruptScope::asked() && posix_env().exists(checkpoint_of(run))) {
    say(cat("\ninterrupted; ", checkpoint_of(run), " holds the run: the same command ",
            run.resume ? "" : "with --resume ", "goes on\n"));
    throw Exit{130};
  }
  return history;
}

}  // namespace

void train_table(TableRun run) {
  if (!(run.test_fraction > 0 && run.test_fraction < 1)) {
    throw ValueError("train.test_fraction",
                     cat("the share of test rows must lie between 0 and 1, got ", run.test_fraction));
  }
  check_save_path(run.model, {{kColumnsFile, ""}, {kHistoryFile, ""}});
  check_resume(run);
  const CsvTable table = run.table.read(run.data);
  ColumnOptions options{.label = label_name(table, run.label),
                        .ignore = run.ignore,
                        .strip_label_dots = run.strip_label_dots,
                        .task = run.task == "class"    ? ColumnTask::kClassification
                                : run.task == "number" ? ColumnTask::kRegression
                                                       : ColumnTask::kGuess};
  const std::vector<int64_t> labelled = labelled_rows(table, options);
  const Split rows = split_rows(labelled, table, table.column(options.label), run);
  const ColumnProgram columns = ColumnProgram::fit(table, rows.train, options);

  const Terminal progress = Terminal::of(STDERR_FILENO);
  say(cat(table.rows(), " rows, ", table.columns(), " columns; \"", columns.label(), "\" is learned as ",
          columns.classification() ? "a class" : "a number", "\n"));
  if (const int64_t unlabelled = table.rows() - static_cast<int64_t>(labelled.size()))
    say(cat("warning: ", unlabelled, " rows have no ", columns.label(), " and are left out\n"));
  show_notes(columns, progress);

  const CsvTable other = run.test.empty() ? CsvTable() : run.table.read(run.test);
  const CsvTable& test_table = run.test.empty() ? table : other;
  std::vector<int64_t> test_rows = rows.test;
  if (!run.test.empty()) {
    test_rows.resize(static_cast<size_t>(other.rows()));
    std::iota(test_rows.begin(), test_rows.end(), 0);
  }
  const std::string& test_path = run.test.empty() ? run.data : run.test;
  ColumnReport report;
  // Before the training: a label that cannot be read is said at once.
  const Tensor test_y = read_labels(columns, test_table, test_path, test_rows);
  const Tensor test_x = read_inputs(columns, test_table, test_path, test_rows, &report);
  const Tensor x = columns.inputs(table, rows.train), y = columns.labels(table, rows.train);
  say(cat(rows.train.size(), " rows train, ", rows.validation.size(), " say when to stop, ", test_rows.size(),
          run.test.empty() ? "" : cat(" of ", run.test), " judge; ", columns.width(), " inputs\n"));
  say(warnings_of(report));

  set_seed(run.seed);
  Sequential model = make_model(columns, run, policy_of(run.dtype));
  ModelOptions compiled{.optimizer = Adam{.learning_rate = run.learning_rate}};
  if (!columns.classification()) {
    compiled.loss = MeanSquaredError();
    compiled.metrics = {};
  }
  model.compile(compiled);
  const std::vector<Logs> history = fit_or_leave(
      model, run, x, y,
      {.epochs = run.epochs,
       .batch_size = run.batch_size,
       .validation_x = columns.inputs(table, rows.validation),
       .validation_y = columns.labels(table, rows.validation),
       .callbacks = {
           ConsoleProgress(), ReduceLROnPlateau({.factor = 0.3, .patience = 2}),
           EarlyStopping({.patience = static_cast<int>(kPatience), .restore_best_weights = true})}});
  if (history.size() > kPatience && history.size() < static_cast<size_t>(run.epochs)) {
    say(cat("no better for ", kPatience, " epochs: the weights are those of epoch ",
            history.size() - kPatience, "\n"));
  }
  const Scores scores = score(columns, predict_rows(model, columns, test_x), test_y);

  const bool replaced = posix_env().exists(run.model);
  nlohmann::ordered_json body = {{"data", run.data},
                                 {"label", columns.label()},
                                 {"model", run.model},
                                 {"task", columns.classification() ? "classification" : "regression"},
                                 {"train_rows", rows.train.size()},
                                 {"validation_rows", rows.validation.size()},
                                 {"seed", run.seed},
                                 {"dtype", run.dtype},
                                 {"epochs", history.size()},
                                 {"test", json_of(scores, columns)}};
  model.save(run.model, {.files = {{kColumnsFile, columns.to_json()}, {kHistoryFile, json_text(body)}}});
  if (posix_env().exists(checkpoint_of(run))) posix_env().remove_file(checkpoint_of(run));
  if (run.results.json) {
    nlohmann::ordered_json notes = nlohmann::ordered_json::array();
    for (const Note& note : columns.notes())
      notes.push_back({{"column", note.column}, {"text", note.text}, {"warning", note.warning}});
    body["notes"] = notes;
    return run.results.write_json("train", body);
  }
  Terminal terminal = Terminal::of(STDOUT_FILENO);
  if (run.results.out != "-") terminal.colors = false;
  run.results.write(cat(report_of(scores, columns, terminal), replaced ? "replaced " : "saved ", run.model,
                        ": the model, and how a row is read\n"));
  if (columns.classification() ? scores.accuracy < scores.base_rate : scores.r2 < 0)
    say("warning: always giving the same answer would be better than this model\n");
  std::vector<std::string> next = {"predict", run.model, test_path};
  for (const std::string& word : run.table.words()) next.push_back(word);
  run.results.suggest(next);
}

}  // namespace espalier::cli
