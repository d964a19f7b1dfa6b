#include "format/onnx/exporter.h"

#include <algorithm>

#include "espalier/error.h"
#include "passes/pass.h"

namespace espalier::onnx {

Exporter::Exporter(const Graph& graph, const Graph& other, const OnnxWriteOptions& options)
    : graph_(graph), other_(other), options_(options), stored_(graph.value_count()) {}

std::vector<Size> Exporter::sizes(ValueId value) const {
  std::vector<Size> out;
  for (size_t i = 0; i < type(value).rank(); ++i) out.push_back(size(value, i));
  return out;
}

void Exporter::refuse(const espalier::Node& node, const std::string& why) const {
  throw UnsupportedError("onnx.op", cat(node.op->name, ": ", why));
}

std::string Exporter::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = cat(wanted, "_", i);
  return name;
}

std::string Exporter::emit(const char* op, std::vector<std::string> inputs,
                           std::vector<Attribute> attributes) {
  Node node{.op = op, .inputs = std::move(inputs), .attributes = std::move(attributes)};
  std::string& output = calls_[node_bytes(node)];
  if (!output.empty()) return output;
  const std::string& scope = NameScope::current();
  node.name = fresh(scope.empty() ? std::string(op) : cat(scope, "/", op));
  node.outputs = {output = fresh(cat(node.name, ":0"))};
  model_.nodes.push_back(std::move(node));
  return output;
}

std::string Exporter::constant(const Literal& value) { return emit("Constant", {}, {{"value", value}}); }

std::string Exporter::constant(const std::vector<int64_t>& values) {
  return constant(Literal::copy({DType::kI64, {static_cast<int64_t>(values.size())}}, values.data()));
}

std::string Exporter::scalar(DType dtype, double value) {
  return constant(Literal::splat({dtype, {}}, value).expanded());
}

std::string Exporter::cast(std::string name, DType from, DType to) {
  return from == to ? name : emit("Cast", {std::move(name)}, {{"to", data_type(to)}});
}

std::string Exporter::size_tensor(Size size) {
  if (size.fixed()) return constant(std::vector<int64_t>{size.here});
  const auto axis = static_cast<int64_t>(batch_axis_);
  std::string out = emit("Shape", {stored_[batch_input_].name}, {{"start", axis}, {"end", axis + 1}});
  // a * batch + b through both known sizes.
  const int64_t step = batch_.here - batch_.there, rise = size.here - size.there;
  if (rise % step != 0)
    throw UnsupportedError(
        "onnx.batch", cat("a size is ", size.here, " for the batch size ", batch_.here, " and ", size.there,
                          " for ", batch_.there, ": it is no whole multiple"));
  const int64_t a = rise / step, b = size.here - a * batch_.here;
  if (a != 1) out = emit("Mul", {out, constant(std::vector<int64_t>{a})});
  if (b != 0) out = emit("Add", {out, constant(std::vector<int64_t>{b})});
  return out;
}

std::string Exporter::shape_tensor(const std::vector<Size>& sizes) {
  std::vector<std::string> parts;
  std::vector<int64_t> run;
  const auto end_run = [&] {
    if (!run.empty()) parts.push_back(constant(run));
    run.clear();
  };
  for (const Size& size : sizes) {
    if (size.fixed()) {
      run.push_back(size.here);
    } else {
      end_run();
      parts.push_back(size_tensor(size));
    }
  }
  end_run();
  if (parts.empty()) return constant(run);
  return parts.size() == 1 ? parts[0] : emit("Concat", parts, {{"axis", int64_t{0}}});
}

std::string Exporter::laid_out(const Stored& stored, const Dims& axes) {
  const bool in_order = axes == Dims::range(axes.size());
  if (stored.missing > 0 && in_order) return stored.name;
  std::string name = stored.name;
  if (stored.missing > 0) name = emit("Unsqueeze", {name, constant(list(Dims::range(stored.missing)))});
  Dims permutation;
  for (const int64_t axis : axes) permutation.push_back(stored.order[axis]);
  if (permutation == Dims::range(axes.size())) return name;
  return emit("Transpose", {name}, {{"perm", list(permutation)}});
}

std::string Exporter::arranged(ValueId value, const Dims& axes, const Dims& lazy) {
  const Stored& s = stored_[value];
  std::string name = laid_out(s, axes);
  bool repeats = false;
  std::vector<Size> target;
  for (const int64_t axis : axes) {
    const bool grows = s.repeated[axis] && !lazy.contains(axis);
    repeats |= grows;
    target.push_back(grows || !s.repeated[axis] ? size(value, axis) : Size{1, 1});
  }
  if (repeats || (s.missing > 0 && axes.size() > 0)) return emit("Expand", {name, shape_tensor(target)});
  return name;
}

Stored Exporter::unrepeated(ValueId value) {
  const Stored& s = stored_[value];
  if (s.missing == 0 && std::find(s.repeated.begin(), s.repeated.end(), true) == s.repeated.end()) return s;
  return plain(whole(value), s.order.size());
}

Stored Exporter::spread(const std::string& name, const Dims& axes, const std::vector<bool>& repeated,
                        size_t rank) {
  Stored out{name, Dims::range(rank), std::vector<bool>(rank, true), rank - axes.size()};
  Dims gaps;
  for (size_t i = 0; i < rank; ++i) {
    const auto at = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (at == axes.end()) {
      gaps.push_back(static_cast<int64_t>(i));
    } else {
      out.repeated[i] = repeated[static_cast<size_t>(at - axes.begin())];
    }
  }
  if (gaps == Dims::range(gaps.size())) return out;
  out.name = emit("Unsqueeze", {name, constant(list(gaps))});
  out.missing = 0;
  return out;
}

void Exporter::elementwise(const espalier::Node& node,
                           const std::function<std::string(std::span<const std::string>)>& op) {
  const auto inputs = graph_.inputs(node);
  const size_t rank = type(node.first_result).rank();
  // The layout of the first operand that is all there.
  Stored out{"", Dims::range(rank), std::vector<bool>(rank, true), rank};
  const auto full = std::find_if(inputs.begin(), inputs.end(), [&](ValueId v) {
    const Stored& s = stored_[v];
    return s.order.size() == rank && s.missing == 0 &&
           std::find(s.repeated.begin(), s.repeated.end(), true) == s.repeated.end();
  });
  if (full != inputs.end()) out.order = stored_[*full].order;
  Dims axes = out.order;  // the axes of the value in the order of the layout
  for (size_t i = 0; i < rank; ++i) axes[out.order[i]] = static_cast<int64_t>(i);
  std::vector<std::string> names;
  for (const ValueId input : inputs) {
    const Stored& s = stored_[input];
    if (s.is_scalar()) {
      names.push_back(s.name);
      continue;
    }
    names.push_back(laid_out(s, axes));
    out.missing = std::min(out.missing, out.in_order() ? s.missing : 0);
    for (size_t i = 0; i < rank; ++i) out.repeated[i] = out.repeated[i] && s.repeated[i];
  }
  out.name = op(names);
  set(node.first_result, std::move(out));
}

void Exporter::find_batch() {
  for (const GraphInput& input : graph_.inputs()) {
    for (size_t axis = 0; axis < type(input.value).rank(); ++axis) {
      const Size found = size(input.value, axis);
      if (found.fixed()) continue;
      if (batch_input_ == kNone) {
        batch_ = found;
        batch_input_ = input.value;
        batch_axis_ = axis;
      }
      if (input.kind != InputKind::kArgument || found != batch_)
        throw UnsupportedError(
            "onnx.batch", cat("axis ", axis, " of the input \"", input.name, "\" is ", found.here, " and ",
                              found.there, " where the batch size is ", batch_.here, " and ", batch_.there));
    }
  }
}

ValueInfo Exporter::value_info(const std::string& name, ValueId value) const {
  ValueInfo out{name, type(value).dtype, std::vector<Dimension>{}};
  for (const Size& size : sizes(value)) {
    Dimension& dimension = out.shape->emplace_back();
    if (size.fixed()) {
      dimension.size = size.here;
    } else if (size == batch_) {
      dimension.symbol = options_.batch_symbol;
    }
  }
  return out;
}

void Exporter::declare_inputs(const std::map<std::string, Literal>& variables) {
  for (const GraphInput& input : graph_.inputs()) {
    const std::string name = fresh(input.name);
    set(input.value, name);
    if (input.kind == InputKind::kArgument) {
      model_.inputs.push_back(value_info(name, input.value));
      continue;
    }
    const auto found = variables.find(input.name);
    if (found == variables.end())
      throw ValueError("onnx.variable", cat("the variable \"", input.name, "\" has no value"));
    if (found->second.type() != type(input.value))
      throw ValueError("onnx.variable", cat("the variable \"", input.name, "\" is ", type(input.value),
                                            ", its value is ", found->second.type()));
    model_.initializers.push_back({name, found->second});
  }
}

void Exporter::declare_outputs() {
  for (const GraphOutput& output : graph_.outputs()) {
    const std::string name = fresh(output.name);
    model_.nodes.push_back({.op = "Identity",
                            .name = fresh(cat("result/", output.name)),
                            .inputs = {whole(output.value)},
                            .outputs = {name}});
    model_.outputs.push_back(value_info(name, output.value));
  }
}

void Exporter::drop_unused() {
  std::set<std::string> used;
  for (const ValueInfo& output : model_.outputs) used.insert(output.name);
  std::vector<Node> kept;
  for (size_t i = model_.nodes.size(); i-- > 0;) {
    Node& node = model_.nodes[i];
    if (!used.contains(node.outputs[0])) continue;
    used.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  model_.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

Model Exporter::run(const std::map<std::string, Literal>& variables) {
  model_.graph_name = graph_.name();
  model_.doc = options_.doc;
  model_.metadata = options_.metadata;
  names_ = {""};
  find_batch();
  declare_inputs(variables);
  for (const espalier::Node& node : graph_.nodes()) {
    CallScope call(graph_.location(node));
    NameScope name(graph_.scope(node));
    const Rule rules[] = {export_elementwise, export_movement, export_reduction, export_product};
    if (std::none_of(std::begin(rules), std::end(rules), [&](Rule rule) { return rule(*this, node); }))
      refuse(node, "ONNX export does not know this op");
  }
  declare_outputs();
  drop_unused();
  return std::move(model_);
}

}  // namespace espalier::onnx
