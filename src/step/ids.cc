#include "step/ids.h"

#include <algorithm>
#include <limits>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/error.h"
#include "ir/dispatch.h"
#include "ops/registry.h"

namespace espalier {
namespace {

thread_local const void* applied = nullptr;  // the trace whose arguments are the model's inputs

// The argument whose elements `ids` are, in another shape or a wider type.
std::optional<size_t> argument_of(const GraphBuilder& builder, const Tensor& ids) {
  static const OpDef* const op_convert = find_op("convert");
  const Graph& graph = builder.graph();
  ValueId value = ids.node()->value;
  for (NodeId id = graph.producer(value); id != kNone; id = graph.producer(value)) {
    const Node& node = graph.node(id);
    if (node.op != &op_reshape && node.op != &op_transpose && node.op != op_convert) return std::nullopt;
    value = graph.inputs(node)[0];
    if (!is_integer(graph.type(value).dtype)) return std::nullopt;
  }
  size_t argument = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind != InputKind::kArgument) continue;
    if (input.value == value) return argument;
    ++argument;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Extremes> extremes_of(const Tensor& integers, const Tensor& weights) {
  const int64_t rows = integers.size(0), elements = integers.type().elements();
  if (elements == 0) return std::nullopt;
  const std::span<const float> counts = weights.defined() ? weights.data<float>() : std::span<const float>();
  std::optional<Extremes> out;
  visit_integral(integers.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* next = integers.data<T>().data();
    for (int64_t row = 0; row < rows; ++row) {
      const T* const begin = next;
      next += elements / rows;
      if (!counts.empty() && counts[static_cast<size_t>(row)] == 0) continue;
      const auto [low, high] = std::minmax_element(begin, next);
      const auto number = [](T value) {
        constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
        return std::cmp_greater(+value, kMost) ? kMost : static_cast<int64_t>(value);
      };
      const int64_t least = number(*low), most = number(*high);
      if (!out) out = Extremes{least, most, row, row};
      if (least < out->least) out->least = least, out->least_row = row;
      if (most > out->most) out->most = most, out->most_row = row;
    }
  });
  return out;
}

IdsCheck::Applied::Applied() : before_(std::exchange(applied, Trace::current())) {}
IdsCheck::Applied::~Applied() { applied = before_; }

void IdsCheck::take(std::span<const Tensor> x, const Tensor& weights) {
  x_ = x;
  weights_ = weights;
  const std::lock_guard hold(known_.mutex);
  for (const KnownIds::Layer& layer : known_.layers) check(layer);
}

bool IdsCheck::on_ids(const Tensor& ids, int64_t count, const std::string& path) {
  Trace* const trace = Trace::current();
  if (!trace || trace != applied || !trace->builder().owns(ids)) return false;
  const std::optional<size_t> input = argument_of(trace->builder(), ids);
  if (!input || *input >= x_.size()) return false;
  const KnownIds::Layer layer{*input, count, path};
  check(layer);
  const std::lock_guard hold(known_.mutex);
  const auto same = [&](const KnownIds::Layer& other) {
    return other.input == layer.input && other.count == count && other.path == path;
  };
  if (std::ranges::none_of(known_.layers, same)) known_.layers.push_back(layer);
  return true;
}

void IdsCheck::check(const KnownIds::Layer& layer) const {
  if (layer.input >= x_.size() || !is_integer(x_[layer.input].dtype())) return;
  const std::optional<Extremes> found = extremes_of(x_[layer.input], weights_);
  if (!found || (found->least >= 0 && found->most < layer.count)) return;
  const bool low = found->least < 0;
  throw ValueError(rule_, cat("id ", low ? found->least : found->most, " of row ",
                              low ? found->least_row : found->most_row, of_,
                              x_.size() > 1 ? cat(" of input ", layer.input) : "", " is none: layer \"",
                              layer.path, "\" has ", layer.count, ", numbered from 0"));
}

}  // namespace espalier
