#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/json.h"
#include "base/rank_stage.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "espalier/saved_model.h"
#include "format/safetensors.h"
#include "format/utf8.h"
#include "text/text.h"
#include "train/earlier_paths.h"
#include "train/folder_of.h"
#include "train/program.h"
#include "train/saved_files.h"
#include "train/step.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;
using namespace saved_files;
using NamedVariable = std::pair<std::string, Variable>;
constexpr size_t kMostPenaltyBytes = JsonLimits{}.bytes / 2;  // in the description

// What the programs of a model read.
struct SavedVariables {
  std::vector<NamedVariable> all;                // by their names in the programs
  std::map<std::string, std::string> penalties;  // programs, by the variable's name

  void add(const std::vector<NamedVariable>& variables) {
    for (const auto& [name, variable] : variables) {
      if (std::ranges::find(all, name, &NamedVariable::first) == all.end()) all.emplace_back(name, variable);
    }
  }
  void add_penalties(const Model& model);
  // Penalties and norms of gradients are sums in the order of variables.
  void sort_as(const std::vector<Variable>& order) {
    std::unordered_map<const VariableState*, size_t> place;
    for (const Variable& variable : order) place.emplace(variable.state().get(), place.size());
    std::ranges::stable_sort(all, {}, [&](const auto& one) {
      const auto it = place.find(one.second.state().get());
      return it == place.end() ? place.size() : it->second;
    });
  }
};

void SavedVariables::add_penalties(const Model& model) {
  size_t bytes = 0;
  for (const Layer::Regularized& one : model.regularized()) {
    const TracedModel traced = trace_penalty(one);
    const auto known = std::ranges::find_if(
        all, [&](const auto& other) { return other.second.state() == one.weight.state(); });
    const std::string name = known == all.end() ? one.weight.path() : known->first;
    add({{name, one.weight}});
    add(traced.variables);
    const std::string& program = penalties[name] = print_program(*traced.graph);
    bytes += program.size();
    if (bytes <= kMostPenaltyBytes) continue;
    throw ValueError("save.regularizer",
                     cat("the programs of penalties have more than ", kMostPenaltyBytes,
                         " bytes together: that on \"", one.weight.path(), "\" has ", program.size()),
                     "keep the arrays that a regularizer reads in variables");
  }
}

}  // namespace

std::vector<std::string> check_save_path(const std::string& path,
                                         const std::map<std::string, std::string>& files, Location at) {
  const CallScope scope(at);
  Env& env = posix_env();
  if (path.empty()) throw IoError("save.path", "the path of a model must not be empty");
  const auto refuse = [&](const std::string& why) {
    throw IoError("save.path", cat(path, " ", why, ", so it is not replaced"), "name another folder");
  };
  require_folder_of(path, "save.path");
  if (!env.exists(path)) return {};
  if (!std::filesystem::is_directory(path)) refuse("is no folder");
  const std::vector<std::string> names = env.list_folder(path);
  if (names.empty()) return {};
  if (std::ranges::find(names, kDescription) == names.end()) refuse("exists and is no saved model");
  const Json description = [&] {
    if (!std::filesystem::is_regular_file(path + "/" + kDescription)) return Json();
    try {
      return parse_json(env.read_file(path + "/" + kDescription));
    } catch (const FormatError&) {
      return Json();
    }
  }();
  if (!description.is_object() || description.value("format", Json()) != kFormat)
    refuse("exists and is no saved model");
  // What the model that is there was saved with goes with it.
  const Json of_it = description.value("files", Json::array());
  for (const std::string& name : names) {
    const bool of_model = is_ours(name) || files.contains(name) || std::ranges::count(of_it, Json(name));
    if (!of_model) refuse(cat("holds ", name, ", which is not the model's"));
  }
  return names;
}

void Model::save(const std::string& path, const SaveOptions& options, Location at) {
  const CallScope scope(at);
  if (shared_->training && shared_->training->host().rank > 0) return;
  const RankStage::During saving(Stage::kSave);
  std::vector<TensorType> rows = input_types();
  if (rows.empty()) {
    throw StateError("save.built", "the model has seen no rows yet, so nobody knows what it takes",
                     "call fit, evaluate or predict first");
  }
  const int64_t batch = rows[0].shape.empty() ? 0 : rows[0].shape[0];
  for (TensorType& row : rows) {
    if (row.shape.empty() || row.shape[0] != batch || batch == 0)
      throw ShapeError("save.rows", cat("inputs must have rows, as many each, to be saved; one was ", row));
    row.shape.erase(0);
  }
  std::map<std::string, std::string> files = options.files;
  for (const auto& [name, text] : files) {
    if (is_ours(name) || name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
      throw ValueError("save.files", cat("a saved model cannot hold a file \"", name, "\""));
  }
  const auto require_utf8 = [](const char* what, const std::string& name) {
    if (!is_utf8(name))
      throw ValueError("save.name", cat("the ", what, " \"", utf8_of_windows1252(name), "\" is not UTF-8"));
  };
  require_utf8("model", this->path());
  check_save_path(path, files);
  SafeTensors weights;
  Json variables = Json::array();
  int64_t fixed_batch = 0;
  SavedVariables saved;
  default_generator();  // the training graph may be the first to draw from it, and makes no variables
  for (const bool training : {false, true}) {
    const ModelProgram program = model_program(*this, rows, batch, training);
    if (program.fixed_batch) fixed_batch = program.fixed_batch;
    files[kPrograms[training]] = program.text.text();
    saved.add(program.variables);
  }
  saved.add_penalties(*this);
  saved.sort_as(this->variables());
  const std::vector<Variable> made = made_trainable();
  for (const auto& [name, variable] : saved.all) {
    require_utf8("variable", name);
    weights.arrays.push_back({name, variable.state()->value.node()->dense()});
    const bool trains = variable.trainable() || std::ranges::any_of(made, [&](const Variable& each) {
                          return each.state() == variable.state();
                        });
    variables.push_back({{"path", name}, {"trainable", trains}});
    if (trains && !variable.trainable()) variables.back()["frozen"] = true;
    const auto penalty = saved.penalties.find(name);
    if (penalty != saved.penalties.end()) variables.back()["penalty"] = penalty->second;
  }
  weights.metadata = earlier_paths(saved.all);
  files[kWeights] = safetensors_bytes(weights);
  const int64_t checksum = crc32_of(files[kWeights].data(), files[kWeights].size());
  Json inputs = Json::array();
  for (const TensorType& row : rows) {
    inputs.push_back({{"dtype", espalier::name(row.dtype)},
                      {"row", std::vector<int64_t>(row.shape.begin(), row.shape.end())}});
  }
  const std::vector<std::string> names = input_names();
  for (size_t i = 0; i < names.size(); ++i) {
    require_utf8("input", names[i]);
    inputs[i]["name"] = names[i];
  }
  const std::vector<std::string> outputs = output_names();
  for (const std::string& output : outputs) require_utf8("output", output);
  Json description = {{"format", kFormat},     {"version", kVersion},       {"name", this->path()},
                      {"inputs", inputs},      {"weights_crc32", checksum}, {"fixed_batch", fixed_batch},
                      {"variables", variables}};
  if (!outputs.empty()) description["outputs"] = outputs;
  if (!options.files.empty()) {
    for (const auto& [name, text] : options.files) description["files"].push_back(name);
  }
  put_checksums(description, files);
  files[kDescription] = description.dump(2) + "\n";
  // Once more: since then somebody may have put something there.
  posix_env().write_folder(path, files, check_save_path(path, options.files));
}

}  // namespace espalier
