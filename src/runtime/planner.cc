#include <algorithm>
#include <unordered_map>

#include "ops/collective.h"
#include "passes/pass.h"
#include "runtime/collective_schedule.h"
#include "runtime/kernel_choice.h"
#include "runtime/lowering.h"
#include "runtime/place_tiles.h"
#include "runtime/steps.h"

namespace espalier {
namespace {

// A collective in two parts.
struct Split : SplitCollective {
  uint64_t workspace_offset = 0, workspace_bytes = 0;
  Step last = {};
};

// In the order in which they begin. What they read is used until they end.
std::vector<Split> split_collectives(const Graph& graph, const Units& units, const ExchangeLayout& exchange,
                                     Uses& uses) {
  std::vector<Split> out;
  for (const SplitCollective& split : schedule_collectives(graph, units, [&](ValueId root, uint32_t unit) {
         return exchange.of_value.contains(root) && uses.last[root] == unit;
       }))
    out.push_back({split});
  for (const Split& split : out) {
    const Node& node = graph.node(units.nodes_of(split.unit)[0]);
    for (uint32_t i = 0; i < node.input_count; ++i) {
      uint32_t& last = uses.last[units.read_from(graph, node, i)];
      last = std::max(last, split.end);
    }
  }
  return out;
}

// By unit: what a collective in two parts reads, and nobody behind that unit.
std::unordered_multimap<uint32_t, ValueId> sent_values(const Graph& graph, const Units& units,
                                                       const Uses& uses, std::span<const Split> splits) {
  std::unordered_multimap<uint32_t, ValueId> out;
  for (const Split& split : splits) {
    const Node& node = graph.node(units.nodes_of(split.unit)[0]);
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const ValueId root = units.read_from(graph, node, i);
      out.emplace(uses.last[root], root);
    }
  }
  return out;
}

const Split* split_of(std::span<const Split> splits, uint32_t unit) {
  const auto it = std::ranges::find(splits, unit, &Split::unit);
  return it == splits.end() ? nullptr : &*it;
}

// The first unit behind the last fence: before, outputs wait in the arena, so that a run that fails has
// written nothing.
uint32_t first_open_unit(const Graph& graph, const Units& units, std::span<const Split> splits) {
  uint32_t out = 0;
  for (uint32_t unit = 0; unit < units.count(); ++unit) {
    if (!split_of(splits, unit) && may_fail(graph, graph.node(units.nodes_of(unit)[0]))) out = unit + 1;
  }
  for (const Split& split : splits) out = std::max(out, split.end);
  return out;
}

// One unit after the other gets its places and its step.
class Planner {
 public:
  Planner(std::shared_ptr<const Graph> graph, const CompileOptions& options)
      : options_(options),
        plan_(std::make_unique<Executable::Plan>()),
        graph_(*graph),
        units_(find_units(graph_, options.fuse, options.fuse && options.fast_kernels)),
        end_(static_cast<uint32_t>(units_.count())),
        donations_(find_donations(graph_, options.donations)),
        uses_(find_uses(graph_, units_, donations_)),
        exchange_(options.fast_kernels ? lay_out_exchange(graph_, units_, uses_) : ExchangeLayout()),
        constants_(lay_out_constants(graph_, uses_.constants)),
        splits_(options.fast_kernels ? split_collectives(graph_, units_, exchange_, uses_)
                                     : std::vector<Split>()),
        sent_until_(sent_values(graph_, units_, uses_, splits_)),
        placement_(graph_, units_, donations_, uses_, exchange_, constants_,
                   first_open_unit(graph_, units_, splits_), options) {
    plan_->graph = std::move(graph);
    plan_->fused = options.fuse;
    plan_->casts = options.fuse && options.fast_kernels;
    plan_->exchange_bytes = exchange_.bytes;
    plan_->constants = constants_.small;
    plan_->constant_bytes = constants_.small_bytes;
    plan_->large_constant_bytes = constants_.large_bytes;
    plan_->large_constants = constants_.large;
    plan_->donated_to = donations_.output_of;
    plan_->first_input = placement_.first_input();
    plan_->first_output = placement_.first_output();
    plan_->slot_count = plan_->first_output + static_cast<uint32_t>(graph_.outputs().size());
    for (const auto& input : graph_.inputs()) plan_->input_bytes.push_back(bytes(input.value));
    for (const auto& output : graph_.outputs()) plan_->output_bytes.push_back(bytes(output.value));
  }

  std::unique_ptr<Executable::Plan> finish() {
    reserve_regions();
    size_t begun = 0, ended = 0;
    for (uint32_t unit = 0; unit <= end_; ++unit) {
      while (begun < splits_.size() && splits_[begun].begin == unit) begin_collective(splits_[begun++]);
      while (ended < begun && splits_[ended].end == unit) end_collective(splits_[ended++]);
      if (unit == end_) break;
      if (!split_of(splits_, unit)) plan_unit(unit);
      const auto [first, last] = sent_until_.equal_range(unit);
      for (auto it = first; it != last; ++it) placement_.release(it->second, unit);
    }
    copy_outputs();
    plan_->arena_bytes = placement_.arena_bytes();
    plan_->live_ranges = std::move(placement_.live_ranges());
    plan_->exchanges |= plan_->exchange_bytes > 0;
    plan_->meets |=
        std::ranges::any_of(graph_.nodes(), [](const Node& node) { return is_collective(*node.op); });
    if (options_.check) check_live_ranges(plan_->live_ranges);
    return std::move(plan_);
  }

 private:
  size_t bytes(ValueId value) const { return graph_.type(value).bytes(); }
  NodeId first_node(uint32_t unit) const { return units_.nodes_of(unit)[0]; }

  // Steps point into the list, so it must not move.
  void reserve_regions() {
    size_t count = 0;
    for (const NodeId id : units_.nodes) count += graph_.node(id).region_count;
    plan_->regions.reserve(count);
  }

  // `unit`: kNone of a copy, and where a collective begins.
  void add_step(const Step& step, NodeId node, uint32_t unit, int reference_ops = 0, bool fence = false) {
    if (fence) plan_->fences.push_back(static_cast<uint32_t>(plan_->steps.size()));
    plan_->steps.push_back(step);
    plan_->step_nodes.push_back(node);
    plan_->step_units.push_back(unit);
    plan_->reference_ops.push_back(static_cast<uint16_t>(reference_ops));
  }

  void plan_unit(uint32_t unit) {
    const NodeId first = first_node(unit);
    const UnitKind kind = units_.kinds[unit];
    if (kind == UnitKind::kTiles) {
      TileDraft draft(graph_, units_, unit, options_.fast_kernels);
      const Step tiles = place_tiles(draft, unit, {}, placement_, *plan_);
      add_step(tiles, first, unit, draft.reference_ops());
      return release_loads(draft, unit, placement_);
    }
    const NodeStep node = place_node(unit, nullptr);
    const bool fence = may_fail(graph_, graph_.node(first));
    if (kind == UnitKind::kNode) {
      add_step(node.step, first, unit, node.reference_ops, fence);
      return release_node(node, unit);
    }
    // The tiles run while the kernel reads its operands and its workspace.
    TileDraft draft(graph_, units_, unit, options_.fast_kernels);
    const Step tiles = place_tiles(draft, unit, node.roots, placement_, *plan_);
    add_step(followed_step(*plan_, node.step, node.takes_epilogue, tiles), first, unit,
             node.reference_ops + draft.reference_ops(), fence);
    release_node(node, unit);
    release_loads(draft, unit, placement_);
  }

  void begin_collective(Split& split) {
    const NodeId first = first_node(split.unit);
    const NodeStep node = place_node(split.unit, &split);
    split.workspace_offset = node.workspace_offset;
    split.workspace_bytes = node.workspace_bytes;
    split.last = node.last;
    if (node.last.run) return add_step(node.step, first, kNone);
    // By its reference body, at once.
    add_step(node.step, first, split.unit, node.reference_ops, true);
  }

  void end_collective(const Split& split) {
    if (split.last.run) add_step(split.last, first_node(split.unit), split.unit, 0, true);
    if (split.workspace_bytes) placement_.release_bytes(split.workspace_offset, split.workspace_bytes);
  }

  struct NodeStep {
    Step step, last = {};  // where it has two parts: the end
    int reference_ops = 0;
    bool takes_epilogue = false;
    std::vector<ValueId> roots;  // of its inputs
    uint64_t workspace_offset = 0, workspace_bytes = 0;
  };

  // The first node of a unit. `split`: of a collective in two parts, which begins before its unit.
  NodeStep place_node(uint32_t unit, const Split* split) {
    const Node& node = graph_.node(first_node(unit));
    const uint32_t from = split ? split->begin : unit, until = split ? split->end - 1 : unit;
    const KernelChoice choice = choose_kernel(graph_, units_, node, constants_, options_);
    std::vector<Ref> inputs;
    for (size_t i = 0; i < node.input_count; ++i) {
      const bool read = bytes(graph_.inputs(node)[i]) && !choice.splats[i];
      inputs.push_back(read ? placement_.of(choice.roots[i]) : Ref{kArenaSlot, 0});
    }
    std::vector<Ref> outputs;
    for (uint32_t i = 0; i < node.result_count; ++i)
      outputs.push_back(place_result(choice, i, node.first_result + i, from));
    NodeStep out;
    out.roots = choice.roots;
    if (!choice.kernel.run) {
      out.step = reference_step(*plan_, node, inputs, outputs, compile_regions(node));
      out.reference_ops = 1;
      return out;
    }
    Ref workspace{kArenaSlot, 0};
    if (choice.kernel.exchange) {
      workspace = {kExchangeSlot, exchange_workspace(unit, choice.kernel.workspace)};
    } else if (choice.kernel.workspace) {
      out.workspace_bytes = choice.kernel.workspace;
      out.workspace_offset = workspace.offset = placement_.reserve(out.workspace_bytes, from, until);
    }
    if (choice.kernel.begin && split) {
      const SplitSteps steps = split_steps(*plan_, choice.kernel, inputs, outputs, workspace);
      out.step = steps.begin;
      out.last = steps.end;
    } else {
      out.step = kernel_step(*plan_, choice.kernel, inputs, outputs, workspace);
    }
    out.takes_epilogue = choice.kernel.takes_epilogue;
    if (choice.kernel.params) plan_->params.push_back(choice.kernel.params);
    return out;
  }

  // Result `index` of a node is `value`.
  Ref place_result(const KernelChoice& choice, uint32_t index, ValueId value, uint32_t unit) {
    if (bytes(value) == 0) return {kArenaSlot, 0};
    const auto overwrites = [&](ValueId root) { return choice.overwrites(index, root); };
    const uint32_t output = placement_.output_for(value, unit, overwrites);
    if (output != kNone) return placement_.put_into_output(value, output);
    for (const ValueId root : choice.roots) {
      if (!placement_.may_take_over(value, root, unit) || !overwrites(root)) continue;
      const Ref place = placement_.take_over(value, root, unit);
      placement_.forget(root);
      return place;
    }
    return placement_.put_into_memory(value, unit);
  }

  // The offset of a collective's workspace in memory that other ranks reach.
  uint64_t exchange_workspace(uint32_t unit, size_t bytes) {
    const auto in_place = exchange_.of_unit.find(unit);
    if (in_place != exchange_.of_unit.end()) return in_place->second;
    const uint64_t offset = plan_->exchange_bytes;
    plan_->exchange_bytes += exchange_room(bytes);
    return offset;
  }

  // The place of the first in the list of regions.
  uint32_t compile_regions(const Node& node) {
    CompileOptions options = options_;
    options.donations.clear();
    const auto first = static_cast<uint32_t>(plan_->regions.size());
    for (const GraphPtr& region : graph_.regions(node)) {
      options.within = cat(options_.within, " in ", node.op->name, " ", plan_->regions.size());
      plan_->regions.push_back(compile(region, options));
      plan_->meets |= plan_->regions.back()->plan().meets;
      plan_->exchanges |= plan_->regions.back()->plan().exchanges;
    }
    return first;
  }

  void release_node(const NodeStep& step, uint32_t unit) {
    const Node& node = graph_.node(first_node(unit));
    if (step.workspace_bytes) placement_.release_bytes(step.workspace_offset, step.workspace_bytes);
    for (const ValueId root : step.roots) placement_.release(root, unit);
    for (uint32_t i = 0; i < node.result_count; ++i) {
      if (!placement_.is_read(node.first_result + i)) placement_.release(node.first_result + i, unit);
    }
  }

  // Outputs that are inputs, constants, or values already written into another output. An input that a
  // sibling update overwrites is put aside first.
  void copy_outputs() {
    struct Copy {
      Ref from, to;
      size_t bytes;
    };
    std::vector<Copy> aside, copies;
    for (uint32_t o = 0; o < graph_.outputs().size(); ++o) {
      const ValueId root = units_.root[graph_.outputs()[o].value];
      const Ref to = placement_.of_output(o);
      Ref from = placement_.of(root);
      if (bytes(root) == 0 || (from.slot == to.slot && from.offset == to.offset)) continue;
      const bool input = graph_.producer(root) == kNone;
      if (input && !is_unchanged(graph_, units_, donations_, o) &&
          donations_.output_of[from.slot - plan_->first_input] != kNone) {
        aside.push_back({from, {kArenaSlot, placement_.reserve(bytes(root), end_, end_)}, bytes(root)});
        from = aside.back().to;
      }
      copies.push_back({from, to, bytes(root)});
    }
    for (const auto* list : {&aside, &copies}) {
      for (const Copy& copy : *list)
        add_step(copy_step(*plan_, copy.from, copy.to, copy.bytes), kNone, kNone);
    }
  }

  const CompileOptions options_;
  std::unique_ptr<Executable::Plan> plan_;
  const Graph& graph_;
  const Units units_;
  const uint32_t end_;
  const Donations donations_;
  Uses uses_;
  const ExchangeLayout exchange_;
  const ConstantLayout constants_;
  std::vector<Split> splits_;
  const std::unordered_multimap<uint32_t, ValueId> sent_until_;
  Placement placement_;
};

}  // namespace

std::shared_ptr<const Executable> compile(std::shared_ptr<const Graph> graph, const CompileOptions& options) {
  Planner planner(lower_graph(std::move(graph), options.fast_kernels), options);
  return std::make_shared<Executable>(planner.finish());
}

}  // namespace espalier
