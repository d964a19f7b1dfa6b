#include <algorithm>
#include <filesystem>
#include <set>

#include "base/format.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "format/safetensors.h"
#include "ir/sink.h"
#include "train/earlier_paths.h"
#include "train/program.h"
#include "train/saved_files.h"

namespace espalier {
namespace {

// The value that `variable` takes from the array `name` of the file.
Tensor value_for(const Variable& variable, const std::string& name, const Literal& array,
                 const LoadWeightsOptions& options) {
  Tensor value = make_concrete(array);
  if (const auto it = options.axes.find(name); it != options.axes.end()) value = transpose(value, it->second);
  const std::string both = cat("variable \"", variable.path(), "\" is ", variable.type(), ", array \"", name,
                               "\" gives ", value.type());
  if (value.shape() != variable.shape()) throw ShapeError("load_weights.array", both);
  if (value.dtype() == variable.dtype()) return value;
  if (!is_float(value.dtype()) || !is_float(variable.dtype())) throw DTypeError("load_weights.array", both);
  return convert(value, variable.dtype());
}

// The one path in `arrays` of a layer that was made under the name of `layer`, whose own path may differ by a
// number; empty when there is none, or several.
std::string namesake_of(const Layer& layer, const std::vector<std::string>& arrays) {
  std::set<std::string> found;
  for (const std::string& array : arrays) {
    const std::string root = array.substr(0, array.find('/'));
    const std::string number = root.substr(std::min(root.size(), layer.name().size()));
    const bool numbered = number.size() > 1 && number[0] == '_' &&
                          number.find_first_not_of("0123456789", 1) == std::string::npos;
    if (root.starts_with(layer.name()) && (number.empty() || numbered)) found.insert(root);
  }
  return found.size() == 1 && layer.path().find('/') == std::string::npos ? *found.begin() : "";
}

// Whether the file has variables by their earlier paths: a version before saved it, with the model beside it.
// Raises ValueError[load_weights.order] where nobody knows and a variable in question, which `names` does not
// name, has another one.
bool has_earlier_paths(const SafeTensors& file, const std::string& path,
                       const std::vector<Variable>& variables,
                       const std::map<std::string, std::string>& names) {
  if (tells_earlier_paths(file.metadata)) return false;
  const auto other = std::ranges::find_if(variables, [&](const Variable& variable) {
    return earlier_path(variable) != variable.path() && !names.contains(variable.path());
  });
  if (other == variables.end()) return false;
  const std::filesystem::path at(path);
  if (at.filename() == saved_files::kWeights && saved_files::holds_model(at.parent_path().string()))
    return true;
  throw ValueError(
      "load_weights.order",
      cat(path, " does not say in which order its layers are numbered: \"", other->path(), "\" was \"",
          earlier_path(*other), "\" before models ran the first input of a layer first"),
      "name the arrays of such variables in LoadWeightsOptions::names, or give the file in the folder that "
      "Model::save() wrote");
}

}  // namespace

std::vector<std::string> load_weights(const Layer& layer, const std::string& path,
                                      const LoadWeightsOptions& options, Location at) {
  const CallScope scope(at);
  const std::vector<Variable> variables = layer.variables();
  if (layer.path().empty())
    throw StateError("load_weights.built", "the layer has no variables before its first call");
  std::vector<std::string> paths, known;
  for (const Variable& variable : variables) paths.push_back(variable.path());
  for (const auto& [own, name] : options.names) {
    if (std::ranges::find(paths, own) == paths.end())
      throw_unknown("load_weights.path", "variable", own, paths);
  }
  const SafeTensors file = read_safetensors(path);
  for (const NamedArray& array : file.arrays) known.push_back(array.name);
  for (const auto& [name, type] : file.unread) known.push_back(name);

  const bool earlier = has_earlier_paths(file, path, variables, options.names);
  const std::string namesake = namesake_of(layer, known);
  std::set<std::string> taken;
  std::vector<Tensor> values(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto it = options.names.find(paths[i]);
    const bool named = it != options.names.end();
    const std::string own = earlier ? earlier_path(variables[i]) : paths[i];
    std::string name = named ? it->second : own;
    if (!named && !file.find(name) && !namesake.empty())
      name = cat(namesake, "/", relative(own, layer.path()));
    const Literal* array = file.find(name);
    if (!array && options.partial && !named) continue;
    if (!array)
      throw_unknown("load_weights.name", named ? cat("array for \"", paths[i], "\":") : "array",
                    named ? name : own, known);
    values[i] = value_for(variables[i], name, *array, options);
    taken.insert(name);
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    if (values[i].defined()) Variable(variables[i]).assign(values[i]);
  }
  std::erase_if(known, [&](const std::string& name) { return taken.contains(name); });
  return known;
}

}  // namespace espalier
