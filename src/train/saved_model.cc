#include "espalier/saved_model.h"

#include <algorithm>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/json.h"
#include "eager/batch_place.h"
#include "eager/trace.h"
#include "format/safetensors.h"
#include "place/replica_flow.h"
#include "text/text.h"
#include "train/earlier_paths.h"
#include "train/program.h"
#include "train/saved_files.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;
using namespace saved_files;

[[noreturn]] void fail(const std::string& path, const char* file, const std::string& message) {
  throw FormatError("saved_model.content", cat(path, "/", file, ": ", message));
}

}  // namespace

struct LoadedModel::Saved {
  struct Weight {
    std::string name;  // below the model
    Tensor value;
    bool trainable = true, frozen = false;
    std::shared_ptr<const Graph> penalty;  // of its value, or null
    std::string earlier;                   // earlier_path() below the model, where that is another
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
  // The program of a variable's penalty, if it has one.
  std::shared_ptr<const Graph> penalty_of(const Json& variable, const std::string& name,
                                          const TensorType& type) const;
  void check(const Graph& graph, const char* file, int64_t batch) const;
  void check_variables(const Graph& graph, const char* file) const;
  // Raises UnsupportedError[loaded_model.replicas] where it gives a variable a value made of its rows.
  void require_no_updates_of_rows(const Graph& training) const;
};

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
  check_checksums(json, files, path);
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
  if (!arrays.unread.empty()) {
    const auto& [array, type] = *arrays.unread.begin();
    fail(path, kWeights, cat("array \"", array, "\" has elements of the type ", type, ", which is not read"));
  }
  const Json variables = json.value("variables", Json());
  if (!variables.is_array()) fail(path, kDescription, "needs \"variables\"");
  std::set<std::string> names;
  for (const Json& variable : variables) {
    if (!variable.is_object()) fail(path, kDescription, "a variable needs \"path\" and \"trainable\"");
    const std::string variable_path = text(variable, "path");
    const Json trainable = variable.value("trainable", Json()),
               frozen = variable.value("frozen", Json(false));
    if (!trainable.is_boolean())
      fail(path, kDescription, cat("variable \"", variable_path, "\" needs \"trainable\": true or false"));
    if (!frozen.is_boolean())
      fail(path, kDescription, cat("variable \"", variable_path, "\": \"frozen\" is true or false"));
    const Literal* value = arrays.find(variable_path);
    if (!value) fail(path, kWeights, cat("there is no array \"", variable_path, "\""));
    if (variable_path.empty() || !weight_index.emplace(variable_path, weights.size()).second)
      fail(path, kDescription, cat("variable \"", variable_path, "\" stands twice or has no path"));
    // Below the model; a layer of its own may be called as one inside.
    std::string own = relative(variable_path, name);
    while (!names.insert(own).second) own = "outside/" + own;
    weights.push_back({own, make_concrete(*value), trainable.get<bool>(), frozen.get<bool>(),
                       penalty_of(variable, variable_path, value->type()),
                       relative(earlier_path_in(arrays.metadata, variable_path), name)});
  }
  for (const Weight& weight : weights) {
    if (weight.penalty) check_variables(*weight.penalty, kDescription);
  }
}

std::shared_ptr<const Graph> LoadedModel::Saved::penalty_of(const Json& variable, const std::string& name,
                                                            const TensorType& type) const {
  const auto found = variable.find("penalty");
  if (found == variable.end()) return nullptr;
  const auto refuse = [&](const std::string& what) {
    fail(path, kDescription, cat("the penalty on variable \"", name, "\" ", what));
  };
  if (!found->is_string()) refuse("must be a text");
  std::shared_ptr<const Graph> graph;
  try {
    graph = parse_program(found->get<std::string>(), cat(path, "/", kDescription));
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    refuse(cat("is no program: ", error.message()));
  }
  std::vector<TensorType> arguments, results;
  for (const GraphInput& input : graph->inputs()) {
    if (input.kind == InputKind::kArgument) arguments.push_back(graph->type(input.value));
  }
  for (const GraphOutput& output : graph->outputs()) {
    if (output.kind == OutputKind::kResult) results.push_back(graph->type(output.value));
  }
  const TensorType value{DType::kF32, type.shape};
  if (arguments != std::vector{value} || results != std::vector{TensorType{}})
    refuse(cat("must take ", value, " and give ", TensorType{}));
  return graph;
}

// What a program asks for is there, and of its type.
void LoadedModel::Saved::check(const Graph& graph, const char* file, int64_t batch) const {
  size_t arguments = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind != InputKind::kArgument) continue;
    const TensorType& type = graph.type(input.value);
    if (arguments < rows.size() && type != of_rows(rows[arguments], batch))
      fail(path, file, cat("takes ", type, ", where the description says ", of_rows(rows[arguments], batch)));
    ++arguments;
  }
  check_variables(graph, file);
  const auto results =
      static_cast<size_t>(std::ranges::count(graph.outputs(), OutputKind::kResult, &GraphOutput::kind));
  if (arguments != rows.size() || results == 0)
    fail(path, file,
         cat("has ", arguments, " arguments and ", results, " results for ", rows.size(), " inputs"));
  if (!outputs.empty() && results != outputs.size())
    fail(path, file, cat("has ", results, " results, the description names ", outputs.size(), " outputs"));
}

void LoadedModel::Saved::check_variables(const Graph& graph, const char* file) const {
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kArgument) continue;
    const TensorType& type = graph.type(input.value);
    const auto it = weight_index.find(input.name);
    if (it == weight_index.end()) fail(path, file, cat("reads the unknown variable \"", input.name, "\""));
    const TensorType& known = weights[it->second].value.type();
    if (type != known)
      fail(path, file, cat("variable \"", input.name, "\" is ", type, ", its array is ", known));
  }
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kResult) continue;
    const auto it = weight_index.find(output.name);
    if (it == weight_index.end()) fail(path, file, cat("updates the unknown variable \"", output.name, "\""));
    if (graph.type(output.value) != weights[it->second].value.type())
      fail(path, file, cat("gives variable \"", output.name, "\" another type"));
  }
}

void LoadedModel::Saved::require_no_updates_of_rows(const Graph& training) const {
  const std::vector<bool> of_rows = outputs_that_differ(training);
  for (size_t i = 0; i < of_rows.size(); ++i) {
    const GraphOutput& output = training.outputs()[i];
    if (output.kind == OutputKind::kResult || !of_rows[i]) continue;
    throw UnsupportedError(
        "loaded_model.replicas",
        cat("training gives \"", output.name, "\" of the saved model ", path,
            " a new value made of the rows of a batch, as the averages of BatchNormalization are, and here a "
            "batch is shared out to replicas or logical shards: the file has the arithmetic of one, and not "
            "how the parts of a batch come together in it, which layers know"),
        cat("load_weights(model, \"", path, "/", kWeights,
            "\") into a model of the same layers, which then trains here; or train the loaded one on one "
            "device; or set_trainable(false), with which it normalizes by its averages"));
  }
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

void LoadedModel::build_many(Inputs<TensorType>) {
  for (const Saved::Weight& weight : saved_->weights) {
    Variable variable = add_variable(weight.name, weight.value, weight.trainable, false);
    if (weight.frozen) variable.set_trainable(false);
    // For who saves it again.
    if (!weight.earlier.empty()) keep_earlier_path(variable, cat(this->path(), "/", weight.earlier));
  }
  for (const Saved::Weight& weight : saved_->weights) {
    if (!weight.penalty) continue;
    std::map<std::string, Variable> touched;
    for (const GraphInput& input : weight.penalty->inputs()) {
      if (input.kind != InputKind::kArgument) touched.emplace(input.name, variable(input.name));
    }
    for (const GraphOutput& output : weight.penalty->outputs()) {
      if (output.kind != OutputKind::kResult) touched.emplace(output.name, variable(output.name));
    }
    regularize(weight.name, [graph = weight.penalty, touched](const Tensor& value) {
      return call_program(*graph, {&value, 1}, [&](const std::string& name) { return touched.at(name); })[0];
    });
  }
}

Variable LoadedModel::variable(const std::string& name) const {
  return weight(saved_->weights[saved_->weight_index.at(name)].name);
}

Tensors LoadedModel::call_many(Inputs<Tensor> given) {
  const Tensors x = as_rows(given, saved_->rows, saved_->inputs);
  const int64_t batch = batch_of(x, saved_->rows, saved_->fixed_batch, saved_->inputs);
  const bool training = TrainingScope::current() && trainable();
  const std::shared_ptr<const Graph> program = saved_->graph(training, batch);
  if (training && is_part_of_batch()) saved_->require_no_updates_of_rows(*program);
  return call_program(*program, x, [&](const std::string& name) { return variable(name); });
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
  if (!holds_model(path)) {
    throw IoError("load_model.path", cat(path, " is no saved model: there is no ", path, "/", kDescription),
                  near_models(path));
  }
  return read_model(posix_env().read_folder(path), path, at);
}

}  // namespace espalier
