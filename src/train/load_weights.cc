#include <algorithm>
#include <set>

#include "base/format.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "format/safetensors.h"
#include "ir/sink.h"

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

  std::set<std::string> taken;
  std::vector<Tensor> values(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto it = options.names.find(paths[i]);
    const std::string& name = it == options.names.end() ? paths[i] : it->second;
    const Literal* array = file.find(name);
    if (!array && options.partial && it == options.names.end()) continue;
    if (!array) throw_unknown("load_weights.name", cat("array for \"", paths[i], "\":"), name, known);
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
