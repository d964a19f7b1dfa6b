#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/device_flags.h"
#include "cli/predict_images.h"
#include "cli/row_flags.h"
#include "cli/schema_slices.h"
#include "cli/strategy_flags.h"
#include "cli/table_flags.h"
#include "cli/train_images.h"
#include "data/column_steps.h"
#include "format/csv_writer.h"
#include "report/progress.h"
#include "tables/loaded_table_model.h"
#include "tables/row_checks.h"
#include "tables/scores.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

struct PredictRun {
  std::string model, data;
  std::vector<std::string> inputs;  // of tables the one in `data`
  bool all = false, keep = false, mark = false;
  std::vector<std::string> id;
  std::optional<double> threshold = {};
  std::string positive;
  TableReading table;
  RowCheckOptions rows;
  DevicePlan device;
  DistributePlan distribute;
  Results results;
  const CLI::App* verb = nullptr;
};

// Rows that are asked for, and what the schema said of them.
struct GoodRows {
  CsvTable table;
  std::span<const int64_t> rows;
  nlohmann::ordered_json schema;
};

void add_report(ColumnReport& total, const ColumnReport& part) {
  if (total.columns.empty()) {
    total = part;
    return;
  }
  total.rows += part.rows;
  total.rows_beyond += part.rows_beyond;
  for (size_t i = 0; i < total.columns.size(); ++i) {
    auto& into = total.columns[i];
    const auto& from = part.columns[i];
    if (into.unreadable == 0) into.line = from.line;
    if (into.other == 0) into.other_line = from.other_line;
    if (into.bare == 0) into.bare_line = from.bare_line, into.bare_cell = from.bare_cell;
    into.bare += from.bare;
    into.missing += from.missing;
    into.unmet += from.unmet;
    into.unreadable += from.unreadable;
    into.other += from.other;
    into.beyond += from.beyond;
  }
}

// Calls `on_rows` with the numbers of some rows and what the model says of them, in order.
void predict_table(const PredictRun& run, LoadedTableModel& saved, const GoodRows& good,
                   const std::function<void(std::span<const int64_t>, const Predictions&)>& on_rows) {
  constexpr size_t kRows = 16384;  // so that memory does not grow with the table
  const CsvTable& table = good.table;
  ColumnReport total;
  int64_t cut = 0;
  if (table.rows() == 0) read_inputs(saved.columns, table, run.data);
  ProgressBar bar;
  bar.start("predicting", std::ssize(good.rows), " rows");
  for (size_t begin = 0; begin < good.rows.size(); begin += kRows) {
    const auto rows = good.rows.subspan(begin, std::min(kRows, good.rows.size() - begin));
    ColumnReport report;
    const Tensor x = read_inputs(saved.columns, table, run.data, rows, &report);
    add_report(total, report);
    const Predictions said = predict_rows(saved.model, saved.columns, x, saved.decision);
    cut += said.cuts();
    on_rows(rows, said);
    bar.update(static_cast<int64_t>(begin + rows.size()));
  }
  if (const std::string decided = text_of(saved.decision, saved.columns); !decided.empty())
    std::fputs(cat("note: ", decided, "\n").c_str(), stderr);
  run.results.warn(cut_warning(cut, saved.columns, std::ssize(good.rows)));
  run.results.warn(warnings_of(total));
  run.results.warn(beyond_of(total));
  const std::vector<std::string> faults = faults_of(saved.columns, table, good.rows, total);
  for (const std::string& fault : faults) run.results.warn({cat("fault: ", fault)});
  if (std::ranges::any_of(steps_of(saved.columns), [](const auto& step) { return !step.cells.known(); }))
    run.results.warn(
        {"the model keeps no counts of its training cells, so rows are not held against chance; "
         "train it again"});
}

// What of each row lies outside of what training saw: columns, and the label where its prediction is cut.
std::vector<std::vector<std::string>> marks_of(const LoadedTableModel& saved, const CsvTable& table,
                                               std::span<const int64_t> rows, const Predictions& said) {
  std::vector<std::vector<std::string>> out = saved.columns.beyond(table, rows);
  for (size_t i = 0; i < said.cut.size(); ++i) {
    if (said.cut[i]) out[i].push_back(saved.columns.label());
  }
  return out;
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += cat(out.empty() ? "" : ", ", name);
  return out;
}

// The columns whose cells stand before a prediction.
std::vector<int64_t> kept_columns(const PredictRun& run, const CsvTable& table) {
  std::vector<int64_t> out(run.keep ? static_cast<size_t>(table.columns()) : 0);
  std::iota(out.begin(), out.end(), 0);
  for (const std::string& name : run.id) out.push_back(table.column(name));
  return out;
}

void predict_csv(const PredictRun& run, LoadedTableModel& saved, const GoodRows& good) {
  const CsvTable& table = good.table;
  const ColumnProgram& columns = saved.columns;
  const auto& classes = columns.classes();
  const std::vector<int64_t> kept = kept_columns(run, table);
  // Where nothing parts columns a decimal comma would.
  const bool alone = kept.empty() && !run.mark && !columns.classification();
  CsvWriter out(alone ? ',' : table.delimiter(), table.numbers().decimal_comma);
  for (const int64_t c : kept) out.cell(table.names()[static_cast<size_t>(c)]);
  out.cell("prediction");
  if (columns.classification() && !run.all) out.cell("probability");
  for (size_t c = 0; run.all && c < classes.size(); ++c) out.cell(cat(kProbabilityOf, classes[c]));
  if (run.mark) out.cell("outside");
  out.end_row();
  predict_table(run, saved, good, [&](std::span<const int64_t> rows, const Predictions& said) {
    const auto marks =
        run.mark ? marks_of(saved, table, rows, said) : std::vector<std::vector<std::string>>();
    for (size_t i = 0; i < rows.size(); ++i) {
      for (const int64_t c : kept) out.cell(table.cell(rows[i], c));
      if (columns.classification()) {
        const float* probabilities = said.outputs.data() + i * classes.size();
        out.cell(classes[static_cast<size_t>(said.best[i])]);
        if (!run.all) out.cell(probabilities[said.best[i]]);
        for (size_t c = 0; run.all && c < classes.size(); ++c) out.cell(probabilities[c]);
      } else {
        out.cell(static_cast<float>(said.values[i]));  // what the model computes in has no more digits
      }
      if (run.mark) out.cell(joined_names(marks[i]));
      out.end_row();
    }
  });
  run.results.write(out.text());
}

void predict_json(const PredictRun& run, LoadedTableModel& saved, const GoodRows& good) {
  const ColumnProgram& columns = saved.columns;
  const auto& classes = columns.classes();
  nlohmann::ordered_json predictions = nlohmann::ordered_json::array();
  nlohmann::ordered_json outside = nlohmann::ordered_json::array();
  predict_table(run, saved, good, [&](std::span<const int64_t> rows, const Predictions& said) {
    if (run.mark) {
      for (const auto& names : marks_of(saved, good.table, rows, said)) outside.push_back(names);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!columns.classification()) {
        predictions.push_back(said.values[i]);
        continue;
      }
      const float* probabilities = said.outputs.data() + i * classes.size();
      nlohmann::ordered_json row = {{"prediction", classes[static_cast<size_t>(said.best[i])]},
                                    {"probability", probabilities[said.best[i]]}};
      if (run.all) row["probabilities"] = std::vector<float>(probabilities, probabilities + classes.size());
      predictions.push_back(row);
    }
  });
  nlohmann::ordered_json body = {{"model", run.model}, {"label", columns.label()}};
  if (columns.classification()) body["classes"] = classes;
  if (saved.decision.threshold) {
    add_positive(body, saved.positive);
    body["threshold"] = *saved.decision.threshold;
  }
  if (!good.schema.is_null()) body["schema"] = good.schema;
  body["predictions"] = predictions;
  if (run.mark) body["outside"] = outside;
  body["warnings"] = *run.results.warned;
  run.results.write_json("predict", body);
}

std::optional<KeptSchema> kept_schema(const LoadedModel& model, const std::string& path) {
  if (!model.has_file(kSchemaFile)) return std::nullopt;
  return KeptSchema{cat(path, path.ends_with('/') ? "" : "/", kSchemaFile), model.file(kSchemaFile)};
}

void predict_pictures(const PredictRun& run, LoadedModel& model) {
  check_image_flags(*run.verb, run.model, "predict.images",
                    {"--all", "--json", "--out", "--threads", "--strategy", "--devices", "--device",
                     "--plugin", "--memory-growth", "--memory-fraction", "--matmul-precision"});
  const bool whole = predict_files({run.model, run.inputs, run.all, run.results}, model);
  run.results.say_written();
  if (run.results.out != "-") run.results.suggest({"data", "head", run.results.out});
  if (!whole) throw Exit{2};
}

void predict(const PredictRun& run) {
  std::vector<std::string> read = run.inputs;
  read.push_back(run.rows.schema);
  run.results.keep(read);
  keep_apart({{"--quarantine", run.rows.quarantine}, {"--out", run.results.out}});
  if (!run.results.json) check_csv_name(run.results.out);
  check_order(run.model, run.data);
  if (!posix_env().exists(cat(run.model, "/", kColumnsFile))) {
    LoadedModel model = load_model(run.model);
    if (takes_images(model)) return predict_pictures(run, model);
  }
  if (run.inputs.size() > 1)
    throw ValueError("predict.tables",
                     cat(run.inputs.size(), " tables were named, and one is predicted at a time"));
  LoadedTableModel saved = LoadedTableModel::load(run.model, run.threshold);
  PositiveSaid said{.flag = run.positive};
  if (run.threshold)
    said.schema = SlicingSchema::read(run.rows.schema, false).of_label(saved.columns.label());
  saved.count_from(said, run.model, run.threshold.has_value());
  RowChecks checks(run.rows, {run.data}, kept_schema(saved.model, run.model));
  const CsvTable table = saved.read(run.table, run.data, run.results);
  const RowJudgement& found =
      checks.check(run.data, table, saved.columns.names_of(table), missing_words_of(saved.columns),
                   {saved.columns.label()}, run.results);
  checks.write();
  const GoodRows good = {found.table, found.kept, checks.json()};
  run.results.json ? predict_json(run, saved, good) : predict_csv(run, saved, good);
  run.results.say_written();
  if (run.results.out != "-") run.results.suggest({"data", "head", run.results.out});
}

constexpr const char* kPredictExamples =
    R"(Examples:
  espalier predict model/ new.csv --out said.csv
  espalier predict model/ new.csv --id customer --all
      Write the id of each row and the probability of every class.
  espalier predict model/ - < new.csv
  espalier predict image-model/ new.jpg holidays/
      Write the file of each image, its class and the class's probability.
  espalier launch -n 4 -- espalier predict model/ new.csv --strategy multiworker
      Predict in four processes, with the same results.

Exit codes: 0 done, 2 usage error or bad input, such as an unreadable image.)";

}  // namespace

void add_predict(CLI::App& app) {
  auto run = std::make_shared<PredictRun>();
  CLI::App* verb = app.add_subcommand("predict", "Predict the labels of table rows or images");
  run->verb = verb;
  verb->add_option("model", run->model, "Model folder, as written by `espalier train`")
      ->option_text("FOLDER")
      ->required();
  verb->add_option(
          "data", run->inputs,
          "Raw rows with the columns of the training data: CSV, JSON Lines or TFRecord (- for "
          "standard input). For an image model: JPEG and PNG files, folders of them, a folder of "
          "IDX files, or a CSV of square images, one per row, with a label (not used) in the last column")
      ->required()
      ->option_text("FILE|FOLDER ...");
  verb->add_flag("--all", run->all, "Write the probability of every class, not only the highest probability");
  verb->add_flag(
      "--mark", run->mark,
      "Add a column \"outside\" that lists, for each row, the columns outside of the training data (numbers "
      "out of range, unseen categories, unreadable cells), and the label column if its predicted number was "
      "clipped to the range of the training labels");
  run->results.add_json(*verb);
  CLI::Option* keep = verb->add_flag(
      "--keep", run->keep, "Write all cells of each row before its prediction (not with --json or --id)");
  keep->excludes("--json");
  verb->add_option_function<std::vector<std::string>>(
          "--id", [run](const std::vector<std::string>& given) { run->id = comma_separated(given); },
          "Write the cells of these columns before the prediction, comma-separated (not with --json or "
          "--keep)")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...")
      ->excludes(keep)
      ->excludes("--json");
  add_positive(*verb, run->positive)->needs(add_threshold(*verb, run->threshold));
  add_table_reading(*verb, run->table);
  add_row_checks(*verb, run->rows);
  run->results.add_out(*verb);
  add_strategy(*verb, run->distribute, &run->device);
  add_device(*verb, run->device);
  add_deterministic(*verb);
  add_threads(*verb);
  verb->footer(kPredictExamples);
  verb->callback([run, verb] {
    run->data = run->inputs[0];
    std::vector<std::string> inputs = run->inputs;
    inputs.push_back(run->rows.schema);
    const OnDevice device(prepare_device(run->device, run->distribute, verb->count("--device") > 0));
    by_strategy(run->distribute, inputs, [&] { predict(*run); });
  });
}

}  // namespace espalier::cli
