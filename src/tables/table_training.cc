#include "tables/table_training.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "base/called_command.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/json.h"
#include "data/missing_labels.h"
#include "report/table.h"
#include "tables/learned_rows.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance.h"

namespace espalier {

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

namespace {

ColumnOptions column_options(const TrainPlan& plan, const CsvTable& table, const MissingWords& missing) {
  const DataPlan& data = plan.data;
  const auto column_at = [&](const std::string& path, const std::string& name) {
    return said_at(plan, path, [&] { return column_named(table, name); });
  };
  ColumnOptions out{.label = column_at("data.label", data.label),
                    .missing = missing.words(),
                    .values = missing.values(),
                    .max_categories = data.max_categories,
                    .strip_label_dots = data.strip_label_dots,
                    .merge_labels = data.merge_labels,
                    .task = data.task == "class"    ? ColumnTask::kClassification
                            : data.task == "number" ? ColumnTask::kRegression
                                                    : ColumnTask::kGuess};
  for (size_t i = 0; i < data.ignore.size(); ++i)
    out.ignore.push_back(column_at(cat("data.ignore[", i, "]"), data.ignore[i]));
  for (size_t i = 0; i < data.include.size(); ++i)
    out.include.push_back(column_at(cat("data.include[", i, "]"), data.include[i]));
  return out;
}

ColumnProgram fit_columns(const CsvTable& table, const std::vector<int64_t>& rows, ColumnOptions options,
                          const Messages& messages) {
  options.on_column = messages.progress("looking at columns", table.columns());
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

// Of very many columns those that there is something to say about.
void show_notes(const ColumnProgram& columns, const Messages& messages) {
  constexpr size_t kAll = 60;
  const bool all = columns.notes().size() <= kAll;
  size_t plain = 0;
  for (const Note& note : columns.notes()) {
    if (all || note.warning || note.column == columns.label() || !note.text.starts_with("numeric"))
      messages.detail(to_string(note), note.warning);
    else
      ++plain;
  }
  if (plain) messages.detail(cat(counted(plain, "more column"), ": numeric"));
}

// Days that are split at random are tested by their neighbours.
void show_split(const ColumnProgram& columns, const CsvTable& table, const DataPlan& data,
                const Messages& messages) {
  if (data.split != "random" || !data.test.empty() || is_stream(data.file)) return;
  for (const Note& note : columns.notes()) {
    if (!note.text.starts_with("date") || note.column == columns.label()) continue;
    const int64_t column = table.column(note.column);
    std::unordered_set<std::string_view> different;
    for (int64_t row = 0; row < table.rows(); ++row) different.insert(table.cell(row, column));
    if (2 * static_cast<int64_t>(different.size()) < table.rows()) continue;
    messages.note(cat("test rows are taken at random; where the future is to be told, part the file first: ",
                      command({"data", "split", data.file, "--by-time", note.column})));
    return;
  }
}

std::map<int64_t, double> class_weights(const ColumnProgram& columns, const TrainPlan& plan,
                                        const Tensor& y) {
  if (columns.classification()) return make_class_weights(plan.fit.class_weight, columns.classes(), y);
  if (plan.fit.class_weight != ClassWeights("none"))
    throw ValueError("train.class_weight", "fit.class_weight is for classes, and the label is a number");
  return {};
}

}  // namespace

TableTraining TableTraining::prepare(const TrainPlan& plan, const CsvTable& read, const ReadTest& read_test,
                                     RowChecks& checks, const Messages& messages) {
  const DataPlan& data = plan.data;
  const MissingWords missing = checks.missing(data.missing);
  const RowJudgement& found = checks.check(data.file, read, read.names(), missing, {}, messages);
  const ColumnOptions options = column_options(plan, found.table, missing);
  const std::vector<int64_t> labelled = in_both(labelled_rows(found.table, options), found.kept, data.file);
  TrainingSplit rows = split_rows(labelled, found.table, options, data, plan.fit.seed);
  const ColumnProgram columns = fit_columns(found.table, rows.train, options, messages);
  TableTraining out{.plan = plan,
                    .table = found.table,
                    .test_table = found.table,
                    .rows = std::move(rows),
                    .columns = columns};
  if (std::optional<CsvTable> given = read_test ? read_test(columns) : std::nullopt) {
    out.test_table = *std::move(given);
    check_test(columns, out.test_table, data.test);
  }
  said_at(plan, "model.threshold", [&] { check_decision(columns, {.threshold = plan.model.threshold}); });
  out.y = columns.labels(out.table, out.rows.train);
  out.positive = positive_in(columns, plan, out.y, checks.favourable(columns.label()));
  out.decision = decision_for(out.positive, columns, plan);

  messages.show(cat(out.table.rows(), " rows, ", out.table.columns(), " columns; \"", columns.label(),
                    "\" is learned as ", columns.classification() ? "a class" : "a number", " from ",
                    out.rows.train.size(), " of the rows\n"));
  if (const int64_t unlabelled = std::ssize(found.kept) - std::ssize(labelled)) {
    const std::string of_missing =
        columns.classification() ? missing_labels(out.table, out.table.column(columns.label()), missing) : "";
    messages.warn({cat(unlabelled, unlabelled == 1 ? " row has no value of \"" : " rows have no value of \"",
                       columns.label(), unlabelled == 1 ? "\" and is left out" : "\" and are left out",
                       of_missing.empty() ? "" : "; ", of_missing)});
  }
  show_notes(columns, messages);
  show_split(columns, out.table, data, messages);
  out.take_test_rows(checks, missing, messages);
  out.compute_inputs(messages);
  out.schema = data.schema.empty() ? "" : checks.schema_text();
  out.describe(checks);
  return out;
}

void TableTraining::take_test_rows(RowChecks& checks, const MissingWords& missing, const Messages& messages) {
  test_rows = rows.test;
  if (plan.data.test.empty()) return;
  const RowJudgement& found =
      checks.check(plan.data.test, test_table, columns.names_of(test_table), missing, {}, messages);
  test_table = found.table;
  test_rows =
      in_both(labelled_test_rows(columns, test_table, plan.data.test, messages), found.kept, plan.data.test);
  const int64_t both = rows_in_both(table, rows.train, test_table, test_rows);
  if (10 * both > static_cast<int64_t>(test_rows.size())) {
    messages.warn({cat(both, " of the ", test_rows.size(), " rows of ", plan.data.test,
                       " are training rows too: what they say of the model is too good")});
  }
}

void TableTraining::compute_inputs(const Messages& messages) {
  ColumnReport report;
  // Before the training: a label that cannot be read is said at once.
  test_y = read_labels(columns, test_table, test_path(), test_rows);
  test_x = read_inputs(columns, test_table, test_path(), test_rows, &report);
  x = columns.inputs(table, rows.train);
  validation_x = columns.inputs(table, rows.validation);
  validation_y = columns.labels(table, rows.validation);
  if (plan.data.test.empty()) {
    const int64_t again = rows_repeated(table, rows.train, rows.test);
    if (4 * again > std::ssize(rows.test)) {
      messages.warn({cat(again, " of the ", rows.test.size(),
                         " test rows are training rows too: what they say of the model is too good")});
    }
  }
  messages.show(cat(
      counted(rows.train.size(), "training row"), ", ", counted(rows.validation.size(), "validation row"),
      ", ", counted(test_rows.size(), "test row"), plan.data.test.empty() ? "" : cat(" of ", plan.data.test),
      "; ", columns.width(), columns.width() == 1 ? " input\n" : " inputs\n"));
  messages.warn(warnings_of(report));
  check_layers(plan, {columns.width()});
}

void TableTraining::describe(const RowChecks& checks) {
  const std::vector<uint64_t> hashes = row_hashes(x);
  learned = plan.fit.epochs > 0 ? learned_rows_text(hashes) : "";
  known = {
      {"data", plan.data.file},
      {"label", columns.label()},
      {"model", plan.model.path},
      {"task", columns.classification() ? "classification" : "regression"},
      {"train_rows", rows.train.size()},
      {"validation_rows", rows.validation.size()},
      {"seed", plan.fit.seed},
      {"dtype", plan.fit.dtype},
      {"lineage", lineage_of(plan, table, test_table, rows, count_alike(row_hashes(validation_x), hashes))}};
  if (!plan.data.schema.empty()) known["schema"] = checks.json();
}

Sequential TableTraining::make_model() const {
  const DTypePolicy dtype = policy_of(plan.fit.dtype);
  Sequential model;
  for (const LayerPlan& layer : plan.model.layers) add_layer(model, layer, dtype);
  const auto classes = static_cast<int64_t>(columns.classes().size());
  model.add(Dense({.units = std::max<int64_t>(1, classes), .dtype = kLastDType}));
  compile(model, plan, classes, decision.positive.value_or(1));
  return model;
}

FitOptions TableTraining::fit_options(bool shown) const {
  FitOptions out = espalier::fit_options(
      with_checkpoint_files(plan, [training = *this] { return training.files(training.known); }), shown);
  out.validation_x = validation_x;
  out.validation_y = validation_y;
  out.class_weight = said_at(plan, "fit.class_weight", [&] { return class_weights(columns, plan, y); });
  return out;
}

double TableTraining::loss_of(Sequential& model) const {
  return model.evaluate(validation_x, validation_y).at("loss");
}

void TableTraining::compare(TrainedTable& trained, const LinearModel& linear,
                            const Messages& messages) const {
  Sequential other = linear.model;
  const double loss = loss_of(trained.model), linear_loss = loss_of(other);
  const bool kept = linear_loss < loss || !std::isfinite(loss);
  trained.linear = {{"val_loss", loss}, {"linear_val_loss", linear_loss}, {"linear_kept", kept}};
  const auto figure = [](double value) {
    return std::isfinite(value) ? fixed(value, 4) : std::string("is no number");
  };
  messages.show(cat("a linear model: val_loss ", figure(linear_loss), ", this one ", figure(loss),
                    kept ? ": the linear model is kept\n" : "\n"));
  if (!kept) return;
  trained.model = linear.model;
  trained.epochs = linear.epochs;
  trained.ledger = linear.ledger;
}

void TableTraining::test(TrainedTable& trained, const Messages& messages) const {
  trained.predictions = predict_rows(trained.model, columns, test_x, decision, messages);
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(trained.predictions.outputs, finite) ||
      !std::ranges::all_of(trained.predictions.values, finite)) {
    throw ValueError("train.diverged",
                     cat("what the model says of the test rows is no number: the training diverged",
                         plan.model.path.empty() ? "" : cat(", and ", plan.model.path, " is not written")),
                     "a smaller --learning-rate");
  }
  messages.warn(cut_warning(trained.predictions.cuts(), columns, static_cast<int64_t>(test_rows.size())));
  trained.scores = score(columns, trained.predictions, test_y);
}

std::vector<std::string> TableTraining::verdict(const Scores& scores) const {
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

std::string TableTraining::better_threshold(const TrainedTable& trained) const {
  if (!decision.positive || decision.threshold) return "";
  const int64_t positive_class = *decision.positive;
  Sequential model = trained.model;
  BestThreshold best =
      best_threshold(predict_rows(model, columns, validation_x), validation_y, positive_class);
  // Test rows choose nothing.
  Predictions test = trained.predictions;
  const Scores now = score(columns, test, test_y);
  test.best = Decision{positive_class, best.threshold}(test.outputs, columns.classes().size());
  if (best.f1 >= 0) best.f1 = score(columns, test, test_y).of_class[static_cast<size_t>(positive_class)].f1;
  return better_text(columns, positive_class, now, best, "the validation rows choose");
}

nlohmann::ordered_json TableTraining::history(const TrainedTable& trained) const {
  nlohmann::ordered_json out = known;
  if (!trained.kind.empty()) out["kind"] = trained.kind;
  if (!trained.run.empty()) out["run"] = trained.run;
  out["epochs"] = trained.epochs;
  out["ledger"] = trained.ledger->json();
  if (!trained.ledger->waits().is_null()) out["waits"] = trained.ledger->waits();
  out["test"] = json_of(trained.scores, columns);
  if (!trained.linear.is_null()) out["linear"] = trained.linear;
  if (columns.classes().size() == 2) add_positive(out, positive);
  if (decision.threshold) out["threshold"] = *decision.threshold;
  return out;
}

std::map<std::string, std::string> TableTraining::files(const nlohmann::ordered_json& history) const {
  std::map<std::string, std::string> out = {{kColumnsFile, columns.to_json()},
                                            {kHistoryFile, json_text(history)},
                                            {kHeldOutFile, held_out_csv(rows)},
                                            {kLearnedFile, learned},
                                            {kDecisionFile, decision.to_json(columns.classes())}};
  if (!schema.empty()) out[kSchemaFile] = schema;
  return out;
}

}  // namespace espalier
