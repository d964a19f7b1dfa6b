#include <algorithm>
#include <set>

#include "base/format.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "format/safetensors.h"
#include "ir/sink.h"
#include "train/program.h"

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

  const std::string namesake = namesake_of(layer, known);
  std::set<std::string> taken;
  std::vector<Tensor> values(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto it = options.names.find(paths[i]);
    const bool named = it != options.names.end();
    std::string name = named ? it->second : paths[i];
    if (!named && !file.find(name) && !namesake.empty())
      name = cat(namesake, "/", relative(paths[i], layer.path()));
    const Literal* array = file.find(name);
    if (!array && options.partial && !named) continue;
    if (!array)
      throw_unknown("load_weights.name", named ? cat("array for \"", paths[i], "\":") : "array",
                    named ? name : paths[i], known);
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
