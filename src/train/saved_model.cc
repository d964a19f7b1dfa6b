#include "espalier/saved_model.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/json.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "format/safetensors.h"
#include "format/utf8.h"
#include "ir/builder.h"
#include "text/text.h"
#include "train/folder_of.h"
#include "train/program.h"
#include "train/step.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDescription = "model.json";
constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kPrograms[] = {"inference.mlir", "training.mlir"};
constexpr const char* kFormat = "espalier.model";
constexpr int kVersion = 1;

bool is_ours(const std::string& name) {
  return name == kDescription || name == kWeights || name == kPrograms[0] || name == kPrograms[1];
}

[[noreturn]] void fail(const std::string& path, const char* file, const std::string& message) {
  throw FormatError("saved_model.content", cat(path, "/", file, ": ", message));
}

}  // namespace

struct LoadedModel::Saved {
  struct Weight {
    std::string name;  // below the model
    Tensor value;
    bool trainable = true;
  };
  // A pass, and its graph for the batch size that was asked last.
  struct Program {
    std::string file;
    ProgramTemplate text;
    std::mutex mutex;
    int64_t batch = 0;
    std::shared_ptr<const Graph> graph;
  };

  std::string path, name;
  std::vector<TensorType> rows;
  std::vector<std::string> inputs, outputs;  // their names, if they have some
  int64_t fixed_batch = 0;
  std::vector<Weight> weights;
  std::map<std::string, size_t> weight_index;  // by the name in the programs
  std::unique_ptr<Program> programs[2];
  std::map<std::string, std::string> files;

  std::shared_ptr<const Graph> graph(bool training, int64_t batch);
  // The content of one of our files, which must be there.
  std::string take(const char* file);
  void read_description(const Json& json);
  void check(const Graph& graph, const char* file, int64_t batch) const;
};

void check_save_path(const std::string& path, const std::map<std::string, std::string>& files, Location at) {
  const CallScope scope(at);
  Env& env = posix_env();
  if (path.empty()) throw IoError("save.path", "the path of a model must not be empty");
  const auto refuse = [&](const std::string& why) {
    throw IoError("save.path", cat(path, " ", why, ", so it is not replaced"), "name another folder");
  };
  require_folder_of(path, "save.path");
  if (!env.exists(path)) return;
  if (!std::filesystem::is_directory(path)) refuse("is no folder");
  const std::vector<std::string> names = env.list_folder(path);
  if (names.empty()) return;
  if (std::ranges::find(names, kDescription) == names.end()) refuse("exists and is no saved model");
  const Json description = [&] {
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
}

void Model::save(const std::string& path, const SaveOptions& options, Location at) {
  const CallScope scope(at);
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
  Env& env = posix_env();
  SafeTensors weights;
  Json variables = Json::array();
  int64_t fixed_batch = 0;
  for (const bool training : {false, true}) {
    const ModelProgram program = model_program(*this, rows, batch, training);
    if (program.fixed_batch) fixed_batch = program.fixed_batch;
    files[kPrograms[training]] = program.text.text();
    for (const auto& [name, variable] : program.variables) {
      if (weights.find(name)) continue;
      require_utf8("variable", name);
      weights.arrays.push_back({name, variable.state()->value.node()->dense()});
      variables.push_back({{"path", name}, {"trainable", variable.trainable()}});
    }
  }
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
  files[kDescription] = description.dump(2) + "\n";
  env.write_folder(path, files);
}

std::string LoadedModel::Saved::take(const char* file) {
  const auto node = files.extract(file);
  if (node.empty()) fail(path, file, "is missing");
  return std::move(node.mapped());
}

void LoadedModel::Saved::read_description(const Json& json) {
  const auto text = [&](const Json& at, const char* field) -> std::string {
    const auto it = at.find(field);
    if (it == at.end() || !it->is_string()) fail(path, kDescription, cat("needs a text \"", field, "\""));
    return it->get<std::string>();
  };
  const auto integer = [&](const Json& value, const char* field, int64_t least, int64_t most) {
    if (!value.is_number_integer() || value > most || value < least)
      fail(path, kDescription, cat("\"", field, "\" needs an integer from ", least, " to ", most));
    return value.get<int64_t>();
  };
  if (!json.is_object() || text(json, "format") != kFormat)
    fail(path, kDescription, cat("is no description of a model: \"format\" must be \"", kFormat, "\""));
  if (integer(json.value("version", Json()), "version", 1, INT32_MAX) > kVersion) {
    throw UnsupportedError("saved_model.version", cat(path, " has version ", json["version"].get<int64_t>(),
                                                      ", this program reads up to ", kVersion));
  }
  name = text(json, "name");
  constexpr int64_t kMost = int64_t{1} << 31;
  fixed_batch = integer(json.value("fixed_batch", Json()), "fixed_batch", 0, kMost);
  const Json inputs = json.value("inputs", Json());
  constexpr size_t kMostInputs = 1024;
  if (!inputs.is_array() || inputs.empty() || inputs.size() > kMostInputs)
    fail(path, kDescription, "needs \"inputs\", a list");
  for (const Json& input : inputs) {
    if (!input.is_object()) fail(path, kDescription, "an input needs \"dtype\" and \"row\"");
    const std::optional<DType> dtype = parse_dtype(text(input, "dtype"));
    if (!dtype) fail(path, kDescription, cat("unknown dtype \"", text(input, "dtype"), "\""));
    const Json sizes = input.value("row", Json());
    if (!sizes.is_array() || sizes.size() > 64) fail(path, kDescription, "\"row\" needs a list of sizes");
    rows.push_back({*dtype, {}});
    for (const Json& size : sizes) rows.back().shape.push_back(integer(size, "row", 0, kMost));
    if (input.contains("name")) this->inputs.push_back(text(input, "name"));
  }
  const std::set<std::string> names_of_inputs(this->inputs.begin(), this->inputs.end());
  if (!names_of_inputs.empty() && names_of_inputs.size() != rows.size())
    fail(path, kDescription, "\"inputs\" have a \"name\" each, other than the others', or none");

  const Json names_of_outputs = json.value("outputs", Json::array());
  if (!names_of_outputs.is_array() || names_of_outputs.size() > kMostInputs)
    fail(path, kDescription, "\"outputs\" needs a list of names");
  std::set<std::string> different;
  for (const Json& output : names_of_outputs) {
    if (!output.is_string() || !different.insert(output.get<std::string>()).second)
      fail(path, kDescription, "\"outputs\" needs names, each once");
    outputs.push_back(output.get<std::string>());
  }

  const std::string bytes = take(kWeights);
  if (integer(json.value("weights_crc32", Json()), "weights_crc32", 0, UINT32_MAX) !=
      crc32_of(bytes.data(), bytes.size()))
    fail(path, kWeights, "is damaged: its checksum is another than the description's");
  SafeTensors arrays;
  try {
    arrays = parse_safetensors(std::as_bytes(std::span(bytes)));
  } catch (const FormatError& error) {
    fail(path, kWeights, error.message());
  }
  const Json variables = json.value("variables", Json());
  if (!variables.is_array()) fail(path, kDescription, "needs \"variables\"");
  std::set<std::string> names;
  for (const Json& variable : variables) {
    if (!variable.is_object()) fail(path, kDescription, "a variable needs \"path\" and \"trainable\"");
    const std::string variable_path = text(variable, "path");
    const Json trainable = variable.value("trainable", Json());
    if (!trainable.is_boolean())
      fail(path, kDescription, cat("variable \"", variable_path, "\" needs \"trainable\": true or false"));
    const Literal* value = arrays.find(variable_path);
    if (!value) fail(path, kWeights, cat("there is no array \"", variable_path, "\""));
    if (variable_path.empty() || !weight_index.emplace(variable_path, weights.size()).second)
      fail(path, kDescription, cat("variable \"", variable_path, "\" stands twice or has no path"));
    // Below the model; a layer of its own may be called as one inside.
    std::string own = relative(variable_path, name);
    while (!names.insert(own).second) own = "outside/" + own;
    weights.push_back({own, make_concrete(*value), trainable.get<bool>()});
  }
}

// What a program asks for is there, and of its type.
void LoadedModel::Saved::check(const Graph& graph, const char* file, int64_t batch) const {
  size_t arguments = 0, results = 0;
  for (const GraphInput& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    if (input.kind == InputKind::kArgument) {
      if (arguments < rows.size() && type != of_rows(rows[arguments], batch))
        fail(path, file,
             cat("takes ", type, ", where the description says ", of_rows(rows[arguments], batch)));
      ++arguments;
      continue;
    }
    const auto it = weight_index.find(input.name);
    if (it == weight_index.end()) fail(path, file, cat("reads the unknown variable \"", input.name, "\""));
    const TensorType& known = weights[it->second].value.type();
    if (type != known)
      fail(path, file, cat("variable \"", input.name, "\" is ", type, ", its array is ", known));
  }
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kResult) {
      ++results;
      continue;
    }
    const auto it = weight_index.find(output.name);
    if (it == weight_index.end()) fail(path, file, cat("updates the unknown variable \"", output.name, "\""));
    if (graph.type(output.value) != weights[it->second].value.type())
      fail(path, file, cat("gives variable \"", output.name, "\" another type"));
  }
  if (arguments != rows.size() || results == 0)
    fail(path, file,
         cat("has ", arguments, " arguments and ", results, " results for ", rows.size(), " inputs"));
  if (!outputs.empty() && results != outputs.size())
    fail(path, file, cat("has ", results, " results, the description names ", outputs.size(), " outputs"));
}

std::shared_ptr<const Graph> LoadedModel::Saved::graph(bool training, int64_t batch) {
  Program& program = *programs[training];
  const std::lock_guard lock(program.mutex);
  if (!program.graph || program.batch != batch) {
    std::shared_ptr<const Graph> parsed;
    try {
      parsed = parse_program(program.text.at(batch), program.file);
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      fail(path, kPrograms[training], error.message());
    }
    check(*parsed, kPrograms[training], batch);
    program.graph = std::move(parsed);
    program.batch = batch;
  }
  return program.graph;
}

LoadedModel::LoadedModel(std::shared_ptr<Saved> saved, Location at)
    : Model(saved->name, "float32", at), saved_(std::move(saved)) {
  keep_input_dtype();
}

std::vector<std::string> LoadedModel::input_names() const { return saved_->inputs; }
std::vector<std::string> LoadedModel::output_names() const { return saved_->outputs; }
int64_t LoadedModel::fixed_batch() const { return saved_->fixed_batch; }
const std::vector<TensorType>& LoadedModel::input_rows() const { return saved_->rows; }

const std::string& LoadedModel::file(const std::string& name, Location at) const {
  const CallScope scope(at);
  const auto it = saved_->files.find(name);
  if (it != saved_->files.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [file, text] : saved_->files) known.push_back(file);
  throw_unknown("loaded_model.file", "file", name, known);
}
bool LoadedModel::has_file(const std::string& name) const { return saved_->files.contains(name); }

void LoadedModel::build_many(std::span<const TensorType>) {
  for (const Saved::Weight& weight : saved_->weights)
    add_variable(weight.name, weight.value, weight.trainable, false);
}

Tensors LoadedModel::call_many(std::span<const Tensor> given) {
  const Tensors x = as_rows(given, saved_->rows, saved_->inputs);
  const int64_t batch = batch_of(x, saved_->rows, saved_->fixed_batch, saved_->inputs);
  return call_program(*saved_->graph(TrainingScope::current(), batch), x, [&](const std::string& name) {
    return weight(saved_->weights[saved_->weight_index.at(name)].name);
  });
}

LoadedModel read_model(std::map<std::string, std::string> files, const std::string& path, Location at) {
  const CallScope scope(at);
  auto saved = std::make_shared<LoadedModel::Saved>();
  saved->path = path;
  saved->files = std::move(files);
  try {
    saved->read_description(parse_json(saved->take(kDescription)));
  } catch (const FormatError& error) {
    if (error.rule().starts_with("json.")) fail(path, kDescription, error.message());
    throw;
  }
  for (const bool training : {false, true}) {
    try {
      saved->programs[training].reset(
          new LoadedModel::Saved::Program{.file = cat(path, "/", kPrograms[training]),
                                          .text = ProgramTemplate(saved->take(kPrograms[training])),
                                          .mutex = {},
                                          .graph = nullptr});
    } catch (const FormatError& error) {
      if (!error.rule().starts_with("template.")) throw;
      fail(path, kPrograms[training], error.message());
    }
  }
  LoadedModel model(saved, at);
  build_by_trace(model, saved->rows, saved->fixed_batch);
  return model;
}

LoadedModel load_model(const std::string& path, Location at) {
  const CallScope scope(at);
  Env& env = posix_env();
  if (!env.exists(path + "/" + kDescription)) {
    throw IoError("load_model.path", cat(path, " is no saved model: there is no ", path, "/", kDescription));
  }
  return read_model(env.read_folder(path), path, at);
}

}  // namespace espalier
