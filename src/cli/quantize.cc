// espalier quantize: a saved model on 8-bit integers.
#include "espalier/quantize.h"

#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/provenance.h"
#include "cli/table_data.h"

namespace espalier::cli {
namespace {

struct QuantizeRun {
  std::string model, calibrate, out;
  double percentile = 100;
  TableFlags table;
  Results results;
};

void quantize_model(const QuantizeRun& run) {
  TableModel saved = TableModel::load(run.model);
  ColumnReport report;
  const Tensor rows = saved.columns.inputs(saved.read(run.table, run.calibrate), {}, &report);
  run.results.warn(warnings_of(report));
  QuantizedModel quantized = quantize(saved.model, rows, {.percentile = run.percentile});
  std::map<std::string, std::string> files = {
      {kColumnsFile, saved.model.file(kColumnsFile)},
      {kDecisionFile, saved.decision.to_json(saved.columns.classes())}};
  // It learned from the same rows, and the same were kept apart.
  for (const char* name : {kHistoryFile, kHeldOutFile}) {
    if (saved.model.has_file(name)) files[name] = saved.model.file(name);
  }
  quantized.save(run.out, {.files = files});
  if (run.results.json) {
    return run.results.write_json("quantize", {{"model", run.model},
                                               {"calibrate", run.calibrate},
                                               {"out", run.out},
                                               {"products", quantized.products()},
                                               {"rows", rows.size(0)},
                                               {"warnings", *run.results.warned}});
  }
  run.results.write(cat("wrote ", run.out, ": ", quantized.products(),
                        " products on 8-bit integers, ranges from ", rows.size(0), " rows\n"));
  run.results.suggest({"evaluate", run.out, run.calibrate});
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto run = std::make_shared<QuantizeRun>();
  CLI::App* verb = app.add_subcommand("quantize", "Put the weights of a saved model into 8-bit integers");
  verb->add_option("model", run->model, "Folder that `espalier train` wrote")->required();
  verb->add_option(
          "--calibrate", run->calibrate,
          "CSV of rows like those to come, some hundreds; the ranges of activations are taken on them")
      ->required();
  verb->add_option("--out", run->out, "Folder for the quantised model")->required();
  verb->add_option("--percentile", run->percentile,
                   "Below 100: as many activations at each end may be cut off")
      ->capture_default_str();
  run->table.add(*verb);
  run->results.add_json(*verb);
  add_threads(*verb);
  verb->callback([run] { quantize_model(*run); });
}

}  // namespace espalier::cli
