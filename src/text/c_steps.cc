#include "text/c_steps.h"

#include <algorithm>

#include "ir/attribute_reader.h"
#include "ops/registry.h"
#include "text/c_core.h"
#include "text/c_expression.h"
#include "text/c_types.h"

namespace espalier::c_text {
namespace {

Nest nest_over(const Shape& shape) { return {shape, shape.size()}; }

class Printer {
 public:
  Printer(const Plan& plan, std::set<std::string>& functions)
      : plan_(plan), graph_(*plan.graph), functions_(functions) {}

  std::string step(const Step& step) {
    const Node& root = graph_.node(step.root);
    CallScope at(graph_.location(root));
    NameScope name(graph_.scope(root));
    if (root.op == &op_pad) return padded(root);
    if (root.op == &op_concatenate) return concatenated(root);
    if (step.core != kNone) return summed(step);
    const Shape& shape = graph_.type(root.first_result).shape;
    const Nest nest = nest_over(shape);
    Loops loops(nest);
    return loops.print(nullptr, nullptr, [&] { finish(loops, step, identity(shape.size()), ""); });
  }

  // to = from, element by element of `box`.
  std::string copy(const Shape& box, const Place& to, const Indices& into, ValueId from,
                   const Indices& indices) {
    const Nest nest = nest_over(box);
    Loops loops(nest);
    return loops.print(nullptr, nullptr, [&] {
      loops.line(element(loops, to, dot(into, to.strides)) + " = " + read(loops, {from, indices}) + ";");
    });
  }

 private:
  static std::string element(Loops& loops, const Place& place, Affine index) {
    index.offset += place.offset;
    if (place.home == Home::kNumber) return place.text;
    const std::string text = loops.text(index);
    if (place.home == Home::kCounter) return cat("(", place.text, ")(", text, ")");
    return cat(place.text, "[", text, "]");
  }

  std::string read(Loops& loops, const Read& read) {
    const Address address = address_of(plan_, read.value, read.indices);
    return element(loops, plan_.places[address.memory], address.index);
  }

  // Elementwise members, then the store of the root's value. `sum`: the name of the core's value.
  void finish(Loops& loops, const Step& step, const Indices& indices, const std::string& sum) {
    std::map<ValueId, std::string> locals;
    if (step.core != kNone) locals[graph_.node(step.core).first_result] = sum;
    const ValueId root = graph_.node(step.root).first_result;
    const Place& place = plan_.places[root];
    const std::string target = element(loops, place, dot(indices, place.strides)) + " = ";
    for (const NodeId id : step.members) {
      const Node& node = graph_.node(id);
      CallScope at(graph_.location(node));
      NameScope name(graph_.scope(node));
      std::vector<std::string> operands;
      for (const ValueId input : graph_.inputs(node)) {
        const auto local = locals.find(input);
        const bool scalar = graph_.type(input).rank() == 0;
        operands.push_back(local != locals.end() ? local->second
                                                 : read(loops, {input, scalar ? Indices() : indices}));
      }
      const std::string value = expression(graph_, node, operands, functions_);
      if (id == step.root) {
        loops.line(target + value + ";");
        return;
      }
      locals[node.first_result] = cat("v", id);
      loops.line(cat("const ", c_type(graph_.type(node.first_result).dtype), " v", id, " = ", value, ";"));
    }
    if (step.core == step.root) {
      loops.line(target + sum + ";");
    } else {
      loops.line(target + viewed(loops, graph_.node(step.root), indices) + ";");
    }
  }

  // The element of a view that is itself stored, or of iota.
  std::string viewed(Loops& loops, const Node& node, const Indices& indices) {
    if (node.op == &op_iota) {
      const Affine& index = indices[read_integer(node.attributes.get(), "iota_dimension")];
      return cat("(", c_type(graph_.type(node.first_result).dtype), ")(", loops.text(index), ")");
    }
    return read(loops, {graph_.inputs(node)[0], through_view(graph_, node, indices)});
  }

  std::string summed(const Step& step) {
    const Node& node = graph_.node(step.core);
    CallScope at(graph_.location(node));
    NameScope name(graph_.scope(node));
    const Core core = core_of(graph_, node);
    const DType dtype = graph_.type(node.first_result).dtype;
    const std::string type = core.update ? accumulator(node, dtype) : c_type(dtype);
    const bool cast = type != c_type(dtype);
    Loops loops(core.nest);
    const auto before = [&] {
      for (size_t i = 0; i < core.starts.size(); ++i) start(loops, core, i);
      const std::string first = core.initial.empty() ? read(loops, core.initial_read) : core.initial;
      loops.line(
          cat(core.update ? "" : "const ", type, " sum = ", cast ? cat("(", type, ")") : "", first, ";"));
    };
    const auto inner = [&] {
      std::vector<std::string> texts;
      for (const Read& one : core.reads) texts.push_back(read(loops, one));
      loops.line(core.update(texts));
    };
    const auto after = [&] {
      finish(loops, step, core.result, cast ? cat("(", c_type(dtype), ")sum") : "sum");
    };
    return loops.print(before, core.update ? std::function<void()>(inner) : nullptr, after);
  }

  // Sums and products of integers wrap; the larger of two numbers has their type.
  std::string accumulator(const Node& node, DType dtype) const {
    const bool window = node.op == &op_reduce || node.op == &op_reduce_window;
    const int64_t reducer = window ? read_integer(node.attributes.get(), "reducer") : 0;
    constexpr int64_t kMax = 2, kMin = 3;
    return window && (reducer == kMax || reducer == kMin) ? c_type(dtype) : sum_type(dtype);
  }

  void start(Loops& loops, const Core& core, size_t i) {
    const Start& start = core.starts[i];
    const Address operand = address_of(plan_, core.initial_read.value, core.initial_read.indices);
    if (operand.index.factor(core.nest.sizes.size() + i) == 0) return;
    const std::string name = Loops::start_name(i), index = read(loops, start.read);
    const bool is_signed = is_signed_integer(graph_.type(start.read.value).dtype);
    const std::string low = is_signed ? cat(index, " < 0 ? 0 : ") : "";
    loops.line(cat("const int32_t ", name, " = ", low, index, " > ", start.most, is_signed ? "" : "u", " ? ",
                   start.most, " : (int32_t)", index, ";"));
  }

  std::string padded(const Node& node) {
    const Attributes* attributes = node.attributes.get();
    const Dims low = read_dims(attributes, "edge_padding_low"),
               interior = read_dims(attributes, "interior_padding");
    const ValueId x = graph_.inputs(node)[0], value = graph_.inputs(node)[1];
    const Shape &in = graph_.type(x).shape, &out = graph_.type(node.first_result).shape;
    const Place& place = plan_.places[node.first_result];
    Shape box;
    Indices from, into;
    for (size_t i = 0; i < in.size(); ++i) {
      // Elements first to end - 1 land inside: 0 <= low + index * step < out.
      const int64_t step = interior[i] + 1, room = out[i] - low[i];
      const int64_t first = low[i] < 0 ? (step - 1 - low[i]) / step : 0;
      const int64_t end = std::min(in[i], room > 0 ? (room + step - 1) / step : 0);
      box.push_back(std::max<int64_t>(end - first, 0));
      from.push_back(Affine::counter(i, 1, first));
      into.push_back(Affine::counter(i, step, low[i] + first * step));
    }
    return copy(out, place, identity(out.size()), value, {}) + copy(box, place, into, x, from);
  }

  std::string concatenated(const Node& node) {
    const int64_t axis = read_integer(node.attributes.get(), "dimension");
    int64_t offset = 0;
    std::string out;
    for (const ValueId part : graph_.inputs(node)) {
      const Shape& box = graph_.type(part).shape;
      Indices into = identity(box.size());
      into[axis].offset = offset;
      out += copy(box, plan_.places[node.first_result], into, part, identity(box.size()));
      offset += box[axis];
    }
    return out;
  }

  const Plan& plan_;
  const Graph& graph_;
  std::set<std::string>& functions_;
};

}  // namespace

std::string print_step(const Plan& plan, const Step& step, std::set<std::string>& functions) {
  return Printer(plan, functions).step(step);
}

std::string print_copy(const Plan& plan, size_t output, std::set<std::string>& functions) {
  const ValueId value = plan.graph->outputs()[output].value;
  const Shape& shape = plan.graph->type(value).shape;
  const Place to{Home::kMemory, output_name(*plan.graph, output), 0, row_major_strides(shape)};
  return Printer(plan, functions).copy(shape, to, identity(shape.size()), value, identity(shape.size()));
}

}  // namespace espalier::c_text
