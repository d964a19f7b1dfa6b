#include "passes/precision.h"

#include <variant>

#include "espalier/ops.h"

namespace espalier {
namespace {

// Copies an attribute struct field by field, one dtype replaced by another.
class FieldCopy final : public FieldVisitor {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, Dims, DType, TensorType, Literal, int>;
  FieldCopy(DType from, DType to) : from_(from), to_(to) {}
  void start_writing() { writing_ = true; }

  using FieldVisitor::word;
  void field(const char*, bool& value) override { pass(value); }
  void field(const char*, int64_t& value) override { pass(value); }
  void field(const char*, double& value) override { pass(value); }
  void field(const char*, std::string& value) override { pass(value); }
  void field(const char*, Dims& value) override { pass(value); }
  void field(const char*, Literal& value) override { pass(value); }
  void field(const char*, DType& value) override {
    pass(value);
    if (writing_ && value == from_) value = to_;
  }
  void field(const char*, TensorType& value) override {
    pass(value);
    if (writing_ && value.dtype == from_) value.dtype = to_;
  }
  void word(const char*, int& value, std::span<const char* const>) override { pass(value); }

 private:
  template <class T>
  void pass(T& value) {
    if (writing_) {
      value = std::get<T>(values_[next_++]);
    } else {
      values_.push_back(value);
    }
  }
  DType from_, to_;
  bool writing_ = false;
  size_t next_ = 0;
  std::vector<Value> values_;
};

AttributesPtr with_dtype(const OpDef& op, const AttributesPtr& attributes, DType from, DType to) {
  if (!attributes) return nullptr;
  FieldCopy copy(from, to);
  const_cast<Attributes&>(*attributes).fields(copy);
  copy.start_writing();
  std::shared_ptr<Attributes> out = op.attributes();
  out->fields(copy);
  return out;
}

class Painter {
 public:
  explicit Painter(const Graph& graph) : graph_(graph), low_(graph.nodes().size()) {
    for (const Node& node : graph.nodes()) colors_.push_back(color_of(node));
    const std::vector<bool> deny_above = flood_down(Color::kDeny), deny_below = flood_up(Color::kDeny);
    for (size_t i = 0; i < colors_.size(); ++i) {
      if (passive(i) && deny_above[i] && deny_below[i]) colors_[i] = Color::kDeny;
    }
    const std::vector<bool> allow_above = flood_down(Color::kAllow), allow_below = flood_up(Color::kAllow);
    for (size_t i = 0; i < colors_.size(); ++i)
      low_[i] = colors_[i] == Color::kAllow || (passive(i) && allow_above[i] && allow_below[i]);
    spread_through_clear();
  }
  bool low(size_t node) const { return low_[node]; }

 private:
  bool passive(size_t i) const { return colors_[i] == Color::kInfer || colors_[i] == Color::kClear; }

  Color color_of(const Node& node) const {
    const bool f32 = node.result_count == 1 && graph_.type(node.first_result).dtype == DType::kF32;
    if (!f32 || node.region_count || node.input_count == 0 || node.op->pinned) return Color::kDeny;
    return node.op->color;
  }

  // Which nodes a node of `color` reaches downwards through infer and clear nodes.
  std::vector<bool> flood_down(Color color) const {
    std::vector<bool> hit(colors_.size());
    for (size_t i = 0; i < colors_.size(); ++i) {
      for (const ValueId input : graph_.inputs(graph_.node(static_cast<NodeId>(i)))) {
        const NodeId from = graph_.producer(input);
        if (from != kNone && graph_.node(from).input_count &&
            (colors_[from] == color || (passive(from) && hit[from])))
          hit[i] = true;
      }
    }
    return hit;
  }

  std::vector<bool> flood_up(Color color) const {
    std::vector<bool> hit(colors_.size());
    for (size_t i = colors_.size(); i-- > 0;) {
      if (colors_[i] != color && !(passive(i) && hit[i])) continue;
      for (const ValueId input : graph_.inputs(graph_.node(static_cast<NodeId>(i)))) {
        if (graph_.producer(input) != kNone) hit[graph_.producer(input)] = true;
      }
    }
    return hit;
  }

  void spread_through_clear() {
    for (size_t i = 0; i < colors_.size(); ++i) {
      for (const ValueId input : graph_.inputs(graph_.node(static_cast<NodeId>(i)))) {
        const NodeId from = graph_.producer(input);
        if (from != kNone && low_[from] && colors_[i] == Color::kClear) low_[i] = true;
      }
    }
    for (size_t i = colors_.size(); i-- > 0;) {
      if (!low_[i]) continue;
      for (const ValueId input : graph_.inputs(graph_.node(static_cast<NodeId>(i)))) {
        const NodeId from = graph_.producer(input);
        if (from != kNone && colors_[from] == Color::kClear) low_[from] = true;
      }
    }
  }

  const Graph& graph_;
  std::vector<Color> colors_;
  std::vector<bool> low_;
};

}  // namespace

MixedPrecision mixed_precision(const Graph& graph, DType low) {
  if (low != DType::kBF16 && low != DType::kF16)
    throw ValueError("precision.dtype", cat("low precision is bf16 or f16, not ", low));
  const Painter painter(graph);
  Rewriter rewriter(graph);
  std::vector<Tensor> lowered(graph.value_count());
  MixedPrecision out;
  const auto high_of = [&](ValueId value) {
    if (!rewriter.is_mapped(value)) rewriter.replace(value, convert(lowered[value], DType::kF32));
    return rewriter.mapped(value);
  };
  const auto low_of = [&](ValueId value) {
    if (graph.type(value).dtype != DType::kF32) return rewriter.mapped(value);
    if (!lowered[value].defined()) lowered[value] = convert(rewriter.mapped(value), low);
    return lowered[value];
  };
  SinkScope sink(rewriter.builder());
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    CallScope at(graph.location(node));
    NameScope scope(graph.scope(node));
    if (!painter.low(id)) {
      for (const ValueId input : graph.inputs(node)) high_of(input);
      const std::vector<Tensor> inputs = rewriter.mapped_inputs(node);
      std::vector<Tensor> results =
          rewriter.builder().emit({*node.op, node.attributes, inputs, graph.regions(node)});
      for (uint32_t i = 0; i < node.result_count; ++i)
        rewriter.replace(node.first_result + i, std::move(results[i]));
      const bool f32 =
          node.result_count && graph.type(node.first_result).dtype == DType::kF32 && node.input_count;
      out.decisions.push_back(f32 ? Precision::kHigh : Precision::kUntouched);
      continue;
    }
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs(node)) inputs.push_back(low_of(input));
    const AttributesPtr attributes = with_dtype(*node.op, node.attributes, DType::kF32, low);
    lowered[node.first_result] = rewriter.builder().emit({*node.op, attributes, inputs, {}})[0];
    out.decisions.push_back(Precision::kLow);
  }
  for (const GraphOutput& output : graph.outputs()) high_of(output.value);
  out.graph = rewriter.finish();
  return out;
}

}  // namespace espalier
