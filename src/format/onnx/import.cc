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

bool is_of_onnx(const Node& node) { return node.domain.empty() || node.domain == "ai.onnx"; }
// With the domain, where it has one.
std::string name_of(const Node& node) {
  return node.domain.empty() ? node.op : cat(node.domain, ".", node.op);
}

// Null for an operator that is not read.
Results (*rule_of(const Node& node))(const Operator&) {
  if (!is_of_onnx(node)) return nullptr;
  for (const auto rules : {elementwise_imports(), shape_imports(), reduction_imports(), product_imports()}) {
    for (const ImportRule& rule : rules) {
      if (node.op == rule.op) return rule.run;
    }
  }
  return nullptr;
}

std::string place_of(const Node& node, size_t index) {
  return cat("node ", index, " \"", node.name, "\" (", node.op, ")");
}

// "a, b and 3 more" of those that are not read beside `named`; empty when there are none.
std::string other_unread(const Outline& outline, const std::string& named) {
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (const Node& node : outline.nodes) {
    const std::string name = name_of(node);
    if (!rule_of(node) && name != named && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    out += cat(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  if (names.size() > kShown) out += cat(" and ", names.size() - kShown, " more");
  return out;
}

// The first operator that is not read, and the names of the others. Raises UnsupportedError[onnx.opset];
// where operators of another domain are not read, their names first: another operator set would not help.
std::optional<UnsupportedError> unread_operator(std::string_view bytes) {
  const Outline outline = read_outline(bytes);
  const bool known_opset = outline.opset >= kFirstOpset && outline.opset <= kLastOpset;
  const std::string opset =
      cat("the model uses operator set ", outline.opset, ", read are ", kFirstOpset, " to ", kLastOpset);
  for (size_t i = 0; i < outline.nodes.size(); ++i) {
    const Node& node = outline.nodes[i];
    if (rule_of(node) || (!known_opset && is_of_onnx(node))) continue;
    const std::string name = name_of(node), place = place_of(node, i);
    const bool own = outline.functions.contains(cat(node.domain, ".", node.op));
    const std::string others = other_unread(outline, name);
    const UnsupportedError error(own ? "onnx.function" : "onnx.op",
                                 cat(place,
                                     own ? cat(": ", name, " is a function of the model's own")
                                         : cat(": the operator ", name, " is not read"),
                                     others.empty() ? "" : cat("; not read either: ", others),
                                     known_opset ? "" : cat("; and ", opset)));
    if (!known_opset) throw error;
    return error;
  }
  if (!known_opset) throw UnsupportedError("onnx.opset", opset);
  return std::nullopt;
}

// The symbol of the first axis of an input, and the size that a node was written for.
using BakedBatch = std::optional<std::pair<std::string, int64_t>>;

class Importer {
 public:
  Importer(std::string_view bytes, const OnnxReadOptions& options)
      : reader_(bytes), options_(options), builder_(reader_.model().graph_name), sink_(builder_) {}

  // When it raises, `baked` says for which batch a node was written, where that is not 1.
  OnnxProgram run(BakedBatch& baked) {
    baked.reset();
    const Model& model = reader_.model();
    SinkScope scope(sink_);
    check_sizes(model);
    declare_inputs(model);
    size_t index = 0;
    reader_.each_node([&](const Node& node) { add(node, index++, baked); });
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

  TensorType type_of(const ValueInfo& input) {
    if (!input.shape)
      throw UnsupportedError("onnx.input", cat("the input \"", input.name, "\" has no shape"));
    TensorType type{input.dtype, {}};
    for (const Dimension& dimension : *input.shape) {
      const auto named = options_.sizes.find(dimension.symbol);
      const bool first = type.shape.empty();
      const int64_t unnamed = first && options_.batch ? options_.batch : 1;
      const bool chosen_here = !dimension.size && named == options_.sizes.end();
      if (chosen_here && !dimension.symbol.empty()) {
        open_[dimension.symbol] = unnamed;
        if (first && unnamed == 1) batch_symbol_ = dimension.symbol;
      }
      type.shape.push_back(dimension.size ? *dimension.size : chosen_here ? unnamed : named->second);
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

  // "; here batch = 1, which the file leaves open": a node may have been written for another size.
  std::string open_sizes() const {
    std::string out;
    for (const auto& [symbol, size] : open_) out += cat(out.empty() ? "; here " : ", ", symbol, " = ", size);
    return out.empty() ? out : cat(out, ", which the file leaves open (--size NAME=N)");
  }

  // A reshape to `sizes` that do not fit x may have been written for a batch of more rows.
  void note_batch(const Tensor& x, const Tensor& sizes, BakedBatch& baked) const {
    if (batch_symbol_.empty() || !sizes.defined() || !sizes.concrete() || !is_integer(sizes.dtype())) return;
    int64_t wanted = 1;
    for (const int64_t size : read_indices(sizes.node()->dense().view())) {
      if (size < 1 || __builtin_mul_overflow(wanted, size, &wanted)) return;
    }
    const int64_t elements = x.type().elements();
    if (elements > 0 && wanted % elements == 0) baked = {batch_symbol_, wanted / elements};
  }

  void add(const Node& node, size_t index, BakedBatch& baked) {
    const std::string place = place_of(node, index);
    const auto rule = rule_of(node);
    if (!rule) throw UnsupportedError("onnx.op", cat(place, ": the operator is not read"));
    if (node.op == "BatchNormalization" && node.inputs.size() == 5)
      averages_.insert({node.inputs[3], node.inputs[4]});
    std::vector<Tensor> inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? Tensor() : value(name, cat("inputs of ", place)));
    Results results;
    try {
      results = rule(Operator(node, reader_.model().opset, inputs));
    } catch (const InternalError&) {
      throw;
    } catch (const UnsupportedError& error) {
      throw UnsupportedError(error.rule(), cat(place, ": ", error.message()));
    } catch (const Error& error) {
      if (node.op == "Reshape" && inputs.size() > 1 && inputs[0].defined())
        note_batch(inputs[0], inputs[1], baked);
      throw FormatError("onnx.node", cat(place, ": ", error.message(), open_sizes()));
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
  std::map<std::string, int64_t> open_;  // sizes that were chosen here, by symbol
  std::string batch_symbol_;
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
    if (const auto* unread = std::get_if<Unread>(&attribute.value))
      unread_node(cat("the attribute \"", name, "\" is of AttributeType ", unread->attribute_type));
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
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::optional<UnsupportedError> unread = onnx::unread_operator(text);
  onnx::BakedBatch baked;
  try {
    return onnx::Importer(text, options).run(baked);
  } catch (const UnsupportedError&) {
    // Its attributes, tensors and types say less than its name.
    if (unread) throw *unread;
    throw;
  } catch (const FormatError& error) {
    if (!baked) throw;
    const auto [symbol, size] = *baked;
    OnnxReadOptions other = options;
    other.sizes[symbol] = size;
    bool leads_on = true;
    try {
      onnx::Importer(text, other).run(baked);
    } catch (const UnsupportedError&) {
    } catch (const Error&) {
      leads_on = false;
    }
    throw FormatError(error.rule(), cat(error.message(), unread ? "; besides, " + unread->message() : ""),
                      leads_on ? cat("--size ", symbol, "=", size) : "");
  }
}

}  // namespace espalier
