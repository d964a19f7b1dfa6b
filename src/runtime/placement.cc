#include "runtime/placement.h"

#include "passes/pass.h"

namespace espalier {
namespace {

// The value that `root` is an update of, where nothing else reads that; else kNone.
ValueId updated_by(const Graph& graph, const Units& units, const Uses& uses, const ExchangeLayout& exchange,
                   ValueId root) {
  const NodeId producer = graph.producer(root);
  if (producer == kNone || units.unit_of[producer] == kNone) return kNone;
  const Node& node = graph.node(producer);
  const size_t index = root - node.first_result;
  if (!units.updates(node, index)) return kNone;
  const ValueId operand = units.read_from(graph, node, index);
  return uses.reads[operand] == 1 && !exchange.of_value.contains(operand) ? operand : kNone;
}

}  // namespace

Placement::Placement(const Graph& graph, const Units& units, const Donations& donations, const Uses& uses,
                     const ExchangeLayout& exchange, const ConstantLayout& constants, uint32_t open_from,
                     const CompileOptions& options)
    : graph_(graph),
      donations_(donations),
      uses_(uses),
      exchange_(exchange),
      open_from_(open_from),
      first_input_(kFirstFixedSlot + static_cast<uint32_t>(constants.large.size())),
      first_output_(first_input_ + static_cast<uint32_t>(graph.inputs().size())),
      reuse_memory_(options.reuse_memory),
      check_(options.check),
      places_(graph.value_count()) {
  for (const auto& [root, place] : constants.places) places_[root] = place;
  for (uint32_t i = 0; i < graph.inputs().size(); ++i)
    places_[graph.inputs()[i].value] = {first_input_ + i, 0};
  for (uint32_t o = 0; o < graph.outputs().size(); ++o) {
    for (ValueId root = units.root[graph.outputs()[o].value]; root != kNone;
         root = updated_by(graph, units, uses, exchange, root)) {
      if (graph.producer(root) != kNone && !constant_of(graph, root)) wanted_outputs_.emplace(root, o);
    }
  }
}

bool Placement::may_take_over(ValueId value, ValueId root, uint32_t unit) const {
  return reuse_memory_ && places_[root].slot == kArenaSlot && uses_.last[root] == unit &&
         bytes(root) == bytes(value) && !exchange_.of_value.contains(value);
}

Ref Placement::put_into_output(ValueId value, uint32_t index) { return places_[value] = of_output(index); }

Ref Placement::put_into_memory(ValueId value, uint32_t unit) {
  if (const auto it = exchange_.of_value.find(value); it != exchange_.of_value.end())
    return places_[value] = {kExchangeSlot, it->second};
  return places_[value] = {kArenaSlot, reserve(bytes(value), unit, uses_.last[value])};
}

Ref Placement::take_over(ValueId value, ValueId root, uint32_t unit) {
  record(places_[root].offset, bytes(value), unit, uses_.last[value], true);
  return places_[value] = places_[root];
}

void Placement::release(ValueId root, uint32_t unit) {
  if (!reuse_memory_ || places_[root].slot != kArenaSlot) return;
  if (is_read(root) && uses_.last[root] > unit) return;
  release_bytes(places_[root].offset, bytes(root));
  forget(root);
}

uint64_t Placement::reserve(uint64_t bytes, uint32_t first, uint32_t last) {
  const uint64_t offset = arena_.allocate(bytes);
  record(offset, bytes, first, last, false);
  return offset;
}

void Placement::release_bytes(uint64_t offset, uint64_t bytes) {
  if (reuse_memory_) arena_.free(offset, bytes);
}

void Placement::record(uint64_t offset, uint64_t size, uint32_t first, uint32_t last, bool in_place) {
  if (check_) live_ranges_.push_back({offset, size, first, last == Uses::kNever ? first : last, in_place});
}

}  // namespace espalier
