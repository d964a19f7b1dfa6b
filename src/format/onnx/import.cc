#include <algorithm>
#include <unordered_map>

#include "format/onnx.h"
#include "format/onnx/importer.h"
#include "ir/builder.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace onnx {
namespace {

constexpr int64_t kFirstOpset = 11, kLastOpset = 28;
constexpr int64_t kFolded = 256;  // elements of what is computed here: shapes, not weights

// Computes what depends on known numbers alone: models compute shapes by nodes.
class FoldingSink final : public Sink {
 public:
  explicit FoldingSink(GraphBuilder& builder) : builder_(builder) {}

  std::vector<Tensor> emit(const Call& call) override {
    return is_folded(call) ? eager_sink().emit(call) : builder_.emit(call);
  }

 private:
  static bool is_small(const TensorType& type) { return type.elements() <= kFolded; }
  static bool is_folded(const Call& call) {
    const OpDef* const cheap[] = {&op_iota, &op_concatenate, &op_take, &op_gather, &op_reduce, &op_transpose};
    if (call.op.fusion == Fusion::kOpaque &&
        std::find(std::begin(cheap), std::end(cheap), &call.op) == std::end(cheap))
      return false;
    std::vector<const TensorType*> types;
    for (const Tensor& input : call.inputs) {
      if (!input.concrete() || !is_small(input.type())) return false;
      types.push_back(&input.type());
    }
    const auto results = infer_types(call.op, call.attributes.get(), types, call.regions);
    return call.regions.empty() && std::all_of(results.begin(), results.end(), is_small);
  }
  GraphBuilder& builder_;
};

class Importer {
 public:
  Importer(std::string_view bytes, const OnnxReadOptions& options)
      : reader_(bytes), options_(options), builder_(reader_.model().graph_name), sink_(builder_) {
    for (const auto rules :
         {elementwise_imports(), shape_imports(), reduction_imports(), product_imports()}) {
      for (const ImportRule& rule : rules) rules_.emplace(rule.op, rule.run);
    }
  }

  OnnxProgram run() {
    const Model& model = reader_.model();
    if (model.opset < kFirstOpset || model.opset > kLastOpset)
      throw UnsupportedError("onnx.opset", cat("the model uses operator set ", model.opset, ", read are ",
                                               kFirstOpset, " to ", kLastOpset));
    SinkScope scope(sink_);
    check_sizes(model);
    declare_inputs(model);
    size_t index = 0;
    reader_.each_node([&](const Node& node) { add(node, index++); });
    std::unordered_map<std::string, bool> named;
    for (const ValueInfo& output : model.outputs) {
      if (!named.emplace(output.name, true).second) twice(output.name);
      builder_.result(output.name, value(output.name, "the outputs"));
    }
    return {builder_.finish(), std::move(variables_), std::move(averages_), model.metadata};
  }

 private:
  [[noreturn]] static void twice(const std::string& name) {
    throw FormatError("onnx.name", cat("\"", name, "\" is defined twice"));
  }
  void define(const std::string& name, const Tensor& tensor) {
    if (!values_.emplace(name, tensor).second) twice(name);
  }
  const Tensor& value(const std::string& name, const std::string& user) const {
    const auto found = values_.find(name);
    if (found == values_.end())
      throw FormatError("onnx.name", cat(user, " use \"", name, "\", which nothing before defines"));
    return found->second;
  }

  // A size that no input has is a mistake.
  void check_sizes(const Model& model) const {
    std::vector<std::string> known;
    for (const ValueInfo& input : model.inputs) {
      for (const Dimension& dimension : input.shape.value_or(std::vector<Dimension>())) {
        if (!dimension.size && !dimension.symbol.empty()) known.push_back(dimension.symbol);
      }
    }
    for (const auto& [name, size] : options_.sizes) {
      if (std::ranges::find(known, name) == known.end()) throw_unknown("onnx.sizes", "size", name, known);
    }
  }

  TensorType type_of(const ValueInfo& input) const {
    if (!input.shape)
      throw UnsupportedError("onnx.input", cat("the input \"", input.name, "\" has no shape"));
    TensorType type{input.dtype, {}};
    for (const Dimension& dimension : *input.shape) {
      const auto named = options_.sizes.find(dimension.symbol);
      const int64_t unnamed = type.shape.empty() && options_.batch ? options_.batch : 1;
      type.shape.push_back(dimension.size                  ? *dimension.size
                           : named == options_.sizes.end() ? unnamed
                                                           : named->second);
    }
    try {
      check_type(type);
    } catch (const ShapeError& error) {
      throw FormatError("onnx.input", cat("the input \"", input.name, "\": ", error.message()));
    }
    return type;
  }

  void declare_inputs(const Model& model) {
    for (const Initializer& tensor : model.initializers) {
      if (tensor.name.empty()) throw FormatError("onnx.name", "an initializer has no name");
      const TensorType& type = tensor.value.type();
      if (!is_float(type.dtype)) {
        define(tensor.name, make_concrete(tensor.value));
      } else {
        define(tensor.name, builder_.input(InputKind::kVariable, tensor.name, type));
        variables_.emplace(tensor.name, tensor.value);
      }
    }
    for (const ValueInfo& input : model.inputs) {
      const bool is_default = std::any_of(model.initializers.begin(), model.initializers.end(),
                                          [&](const Initializer& one) { return one.name == input.name; });
      if (!is_default) define(input.name, builder_.argument(input.name, type_of(input)));
    }
  }

  void add(const Node& node, size_t index) {
    const std::string place = cat("node ", index, " \"", node.name, "\" (", node.op, ")");
    const auto rule = rules_.find(node.op);
    const bool standard = node.domain.empty() || node.domain == "ai.onnx";
    if (!standard || rule == rules_.end())
      throw UnsupportedError("onnx.op", cat(place, ": the operator ", standard ? "" : node.domain + ".",
                                            node.op, " is not read"));
    if (node.op == "BatchNormalization" && node.inputs.size() == 5)
      averages_.insert({node.inputs[3], node.inputs[4]});
    std::vector<Tensor> inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? Tensor() : value(name, cat("inputs of ", place)));
    Results results;
    try {
      results = rule->second(Operator(node, reader_.model().opset, std::move(inputs)));
    } catch (const InternalError&) {
      throw;
    } catch (const UnsupportedError& error) {
      throw UnsupportedError(error.rule(), cat(place, ": ", error.message()));
    } catch (const Error& error) {
      throw FormatError("onnx.node", cat(place, ": ", error.message()));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= results.size())
        throw UnsupportedError("onnx.op", cat(place, ": output ", i, " is not computed"));
      define(node.outputs[i], results[i]);
    }
  }

  ModelReader reader_;
  const OnnxReadOptions& options_;
  GraphBuilder builder_;
  FoldingSink sink_;
  std::unordered_map<std::string_view, Results (*)(const Operator&)> rules_;
  std::unordered_map<std::string, Tensor> values_;
  std::map<std::string, Literal> variables_;
  std::set<std::string> averages_;
};

}  // namespace

void bad_node(const std::string& why) { throw FormatError("onnx.node", why); }
void unread_node(const std::string& why) { throw UnsupportedError("onnx.op", why); }

const Tensor& Operator::in(size_t i) const {
  if (!has(i)) bad_node(cat("needs input ", i));
  return inputs_[i];
}

std::vector<int64_t> Operator::known(size_t i) const {
  const Tensor& x = in(i);
  if (!is_integer(x.dtype())) bad_node(cat("input ", i, " must be integers, got ", x.type()));
  if (!x.concrete()) unread_node(cat("input ", i, " must not depend on the data"));
  const Literal& literal = x.node()->dense();
  return read_indices(literal.view());
}

template <class T>
const T* Operator::find(const char* name) const {
  for (const Attribute& attribute : node_.attributes) {
    if (attribute.name != name) continue;
    if (const T* value = std::get_if<T>(&attribute.value)) return value;
    bad_node(cat("the attribute ", name, " is of another type"));
  }
  return nullptr;
}

int64_t Operator::integer(const char* name, int64_t fallback) const {
  const auto* value = find<int64_t>(name);
  return value ? *value : fallback;
}
double Operator::real(const char* name, double fallback) const {
  const auto* value = find<float>(name);
  return value ? *value : fallback;
}
std::string Operator::word(const char* name, const char* fallback) const {
  const auto* value = find<std::string>(name);
  return value ? *value : fallback;
}
std::optional<std::vector<int64_t>> Operator::list(const char* name) const {
  const auto* value = find<std::vector<int64_t>>(name);
  return value ? std::optional(*value) : std::nullopt;
}
const Literal* Operator::tensor(const char* name) const { return find<Literal>(name); }
std::optional<std::vector<int64_t>> Operator::list_or_input(const char* name, size_t i) const {
  return has(i) ? std::optional(known(i)) : list(name);
}
bool Operator::has_attribute(const char* name) const {
  return std::any_of(node_.attributes.begin(), node_.attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == name; });
}

int64_t axis_of(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) bad_node(cat("axis ", axis, " of a tensor of ", rank, " axes"));
  return axis < 0 ? axis + count : axis;
}

Dims axes_of(const std::optional<std::vector<int64_t>>& list, size_t rank) {
  if (!list) return Dims::range(rank);
  if (list->size() > rank) bad_node(cat(list->size(), " axes of a tensor of ", rank));
  Dims out;
  for (const int64_t axis : *list) out.push_back(axis_of(axis, rank));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) bad_node(cat("axes repeat: ", out));
  return out;
}

Tensor broadcast_like(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : broadcast_to(x, shape);
}

}  // namespace onnx

OnnxProgram parse_onnx(std::span<const std::byte> bytes, const OnnxReadOptions& options) {
  return onnx::Importer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options).run();
}

}  // namespace espalier
