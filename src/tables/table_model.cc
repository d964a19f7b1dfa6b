#include "espalier/table_model.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/random.h"
#include "espalier/saved_model.h"
#include "plan/plan.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance.h"
#include "tables/row_checks.h"
#include "tables/table_reading.h"
#include "tables/table_training.h"

namespace espalier {

struct TableModel::State {
  std::shared_ptr<Model> model;  // a handle, safe for threads that predict
  ColumnProgram columns;
  Decision decision;
  std::string kind;
  std::map<std::string, std::string> files;  // beside the model's own
  std::map<std::string, double> figures;
};

namespace {

constexpr const char* kKinds[] = {"network", "linear"};

Messages messages_of(const TableOptions& options) {
  Messages::Listeners out;
  if (options.on_message) {
    out.note = [say = options.on_message](const std::string& sentence) { say(sentence, false); };
    out.detail = [say = options.on_message](const std::string& text, bool important) {
      say(text, important);
    };
    out.warning = [say = options.on_message](const std::string& sentence) { say(sentence, true); };
  }
  if (options.on_progress) {
    out.progress = [tell = options.on_progress](const std::string& label, int64_t total, const std::string&) {
      return [tell, label, total](int64_t done) { tell({.what = label, .done = done, .total = total}); };
    };
  }
  return Messages(std::move(out));
}

TrainPlan plan_of(const TableOptions& options, const std::string& file) {
  if (std::ranges::find(kKinds, options.kind) == std::end(kKinds))
    throw_unknown("table.kind", "kind of model", options.kind,
                  std::vector<std::string>(std::begin(kKinds), std::end(kKinds)));
  TrainPlan out = table_plan();
  out.data.file = file;
  out.data.test = options.test ? kTestInMemory : "";
  out.data.label = options.label;
  out.data.ignore = options.ignore;
  out.data.include = options.include;
  out.data.task = options.task;
  out.data.missing = options.missing;
  out.data.strip_label_dots = options.strip_label_dots;
  out.data.merge_labels = options.merge_labels;
  out.data.split = options.in_order ? "order" : "random";
  out.data.test_fraction = options.test_fraction;
  out.data.validation_fraction = options.validation_fraction;
  out.model.path = "";
  out.model.positive = options.positive;
  out.model.threshold = options.threshold;
  if (!options.hidden.empty()) out.model.layers = hidden_layers(options.hidden, false);
  if (options.kind == "linear") {
    out.model.layers.clear();
    out.model.compare_linear = false;
  }
  if (options.learning_rate)
    std::get<OptimizerOf<Adam>>(out.optimizer).learning_rate = *options.learning_rate;
  out.fit.epochs = options.epochs;
  out.fit.batch_size = options.batch_size;
  out.fit.class_weight = options.class_weight;
  out.fit.seed = options.seed;
  return out;
}

// Tells of each epoch.
class EpochTeller final : public Callback {
 public:
  EpochTeller(std::function<void(const TableProgress&)> tell, int epochs)
      : tell_(std::move(tell)), epochs_(epochs) {}
  void on_epoch_end(int epoch, const Logs& logs) override {
    TableProgress out{.what = "training", .done = epoch + 1, .total = epochs_};
    for (const auto& [name, value] : logs) out.logs[name] = value;
    tell_(out);
  }

 private:
  std::function<void(const TableProgress&)> tell_;
  int epochs_;
};

std::map<std::string, double> figures_of(const Scores& scores, bool classification) {
  if (!classification) {
    std::map<std::string, double> out = {{"mae", scores.mae}, {"rmse", scores.rmse}};
    if (scores.r2) out["r2"] = *scores.r2;
    return out;
  }
  std::map<std::string, double> out = {{"accuracy", scores.accuracy}, {"log_loss", scores.log_loss}};
  if (scores.auc >= 0) out["auc"] = scores.auc;
  return out;
}

std::shared_ptr<const TableModel::State> trained(const CsvTable& table, const std::string& file,
                                                 const TableOptions& options) {
  const TrainPlan plan = plan_of(options, file);
  const Messages messages = messages_of(options);
  RowChecks checks({}, {});
  const TableTraining training = TableTraining::prepare(
      plan, table, [&](const ColumnProgram&) { return options.test; }, checks, messages);
  Sequential model = training.make_model();
  FitOptions fit = training.fit_options(false);
  const auto ledger = std::make_shared<Ledger>();
  fit.callbacks.push_back(ledger);
  if (options.on_progress)
    fit.callbacks.push_back(std::make_shared<EpochTeller>(options.on_progress, plan.fit.epochs));
  set_seed(plan.fit.seed);
  TrainedTable out = {.model = model,
                      .epochs = model.fit(training.x, training.y, fit).size(),
                      .ledger = ledger,
                      .kind = options.kind == kKinds[0] ? "" : options.kind};
  if (plan.model.compare_linear && plan.fit.epochs > 0) {
    const LinearModel linear =
        fit_linear(training.columns.classes().size(), training.decision.positive.value_or(1), plan,
                   training.x, training.y, fit, nullptr, messages);
    training.compare(out, linear, messages);
  }
  training.test(out, messages);
  messages.warn(training.verdict(out.scores));
  return std::make_shared<TableModel::State>(
      TableModel::State{.model = std::make_shared<Sequential>(out.model),
                        .columns = training.columns,
                        .decision = training.decision,
                        .kind = options.kind,
                        .files = training.files(training.history(out)),
                        .figures = figures_of(out.scores, training.columns.classification())});
}

}  // namespace

TableModel TableModel::train(const CsvTable& table, const TableOptions& options, Location at) {
  const CallScope scope(at);
  return TableModel(trained(table, kInMemory, options));
}

TableModel TableModel::train(const std::string& path, const TableOptions& options, Location at) {
  const CallScope scope(at);
  return TableModel(trained(TableReading().read(path, {}, messages_of(options)), path, options));
}

TableModel TableModel::load(const std::string& path, Location at) {
  const CallScope scope(at);
  const LoadedTableModel saved = LoadedTableModel::load(path);
  TableModel::State out{.model = std::make_shared<LoadedModel>(saved.model),
                        .columns = saved.columns,
                        .decision = saved.decision,
                        .kind = "network",
                        .files = {},
                        .figures = {}};
  for (const char* name :
       {kColumnsFile, kDecisionFile, kHistoryFile, kHeldOutFile, kLearnedFile, kSchemaFile}) {
    if (saved.model.has_file(name)) out.files[name] = saved.model.file(name);
  }
  if (!saved.model.has_file(kHistoryFile))
    return TableModel(std::make_shared<TableModel::State>(std::move(out)));
  const nlohmann::ordered_json history = json_file(saved.model, kHistoryFile, path);
  const auto test = history.is_object() ? history.find("test") : history.end();
  for (const char* name : {"accuracy", "log_loss", "auc", "r2", "mae", "rmse"}) {
    if (test == history.end() || !test->is_object()) break;
    const auto figure = test->find(name);
    if (figure != test->end() && figure->is_number()) out.figures[name] = *figure;
  }
  if (history.is_object() && history.contains("kind") && history["kind"].is_string())
    out.kind = history["kind"];
  return TableModel(std::make_shared<TableModel::State>(std::move(out)));
}

TablePredictions TableModel::predict(const CsvTable& table, Location at) const {
  const CallScope scope(at);
  const ColumnProgram& columns = state_->columns;
  TablePredictions out;
  const Tensor inputs = read_inputs(columns, table, kInMemory, {}, &out.report);
  const Predictions said = predict_rows(*state_->model, columns, inputs, state_->decision);
  std::vector<std::vector<std::string>> unlike = columns.beyond(table);
  out.warnings = warnings_of(out.report);
  std::ranges::move(beyond_of(out.report), std::back_inserter(out.warnings));
  const std::vector<std::string> classes = columns.classes();
  out.rows.resize(static_cast<size_t>(table.rows()));
  for (size_t i = 0; i < out.rows.size(); ++i) {
    TablePrediction& row = out.rows[i];
    row.unlike = std::move(unlike[i]);
    row.outside = !row.unlike.empty();
    if (!columns.classification()) {
      row.value = said.values[i];
      row.cut = said.cut[i];
      continue;
    }
    const auto best = static_cast<size_t>(said.best[i]);
    const auto begin = said.outputs.begin() + static_cast<std::ptrdiff_t>(i * classes.size());
    row.probabilities.assign(begin, begin + static_cast<std::ptrdiff_t>(classes.size()));
    row.said = classes[best];
    row.probability = static_cast<double>(row.probabilities[best]);
  }
  return out;
}

namespace {

ModelScores scores_of(const Predictions& said, const Tensor& labels, const ColumnProgram& columns,
                      const Decision& decision) {
  if (!columns.classification()) return NumberScores{said.values, columns.label_values(labels.data<float>())};
  const std::vector<std::string> classes = columns.classes();
  const auto truth = labels.data<int32_t>();
  if (classes.size() == 2 && decision.positive) {
    TwoClasses two(said.outputs, truth, *decision.positive);
    return BinaryScores{
        .scores = std::move(two.scores),
        .labels = std::move(two.labels),
        .positive = cat(columns.label(), "=", classes[static_cast<size_t>(*decision.positive)])};
  }
  ClassScores out{.classes = classes, .labels = {truth.begin(), truth.end()}};
  out.probabilities.assign(said.outputs.begin(), said.outputs.end());
  out.said.assign(said.best.begin(), said.best.end());
  return out;
}

}  // namespace

Evaluation TableModel::evaluate(const CsvTable& table, const EvaluationOptions& options, Location at) const {
  const CallScope scope(at);
  const ColumnProgram& columns = state_->columns;
  const std::vector<int64_t> rows = columns.labelled_rows(table);
  if (rows.empty())
    throw ValueError("table.labels", cat(kInMemory, ": no row has a label \"", columns.label(), "\""));
  const Tensor labels = read_labels(columns, table, kInMemory, rows);
  const Tensor inputs = read_inputs(columns, table, kInMemory, rows);
  EvaluationOptions asked = options;
  if (!asked.columns) asked.columns = table;
  if (std::ssize(rows) < table.rows()) asked.columns = asked.columns->with_rows(rows);
  if (state_->decision.threshold && asked.thresholds == EvaluationOptions().thresholds)
    asked.thresholds = {*state_->decision.threshold};
  return evaluate_scores(scores_of(predict_rows(*state_->model, columns, inputs, state_->decision), labels,
                                   columns, state_->decision),
                         asked);
}

void TableModel::save(const std::string& path, Location at) const {
  const CallScope scope(at);
  state_->model->save(path, {.files = state_->files});
}

const ColumnProgram& TableModel::columns() const { return state_->columns; }
const Decision& TableModel::decision() const { return state_->decision; }
const std::string& TableModel::kind() const { return state_->kind; }
const std::map<std::string, double>& TableModel::test_figures() const { return state_->figures; }

}  // namespace espalier
