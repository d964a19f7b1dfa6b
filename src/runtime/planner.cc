#include <algorithm>
#include <list>
#include <unordered_map>
#include <unordered_set>

#include "ops/collective.h"
#include "passes/pass.h"
#include "runtime/collective_schedule.h"
#include "runtime/constant_layout.h"
#include "runtime/decompose.h"
#include "runtime/exchange_layout.h"
#include "runtime/fusion.h"
#include "runtime/integer_products.h"
#include "runtime/plan.h"
#include "runtime/steps.h"
#include "runtime/tile_program.h"
#include "runtime/uses.h"

namespace espalier {
namespace {

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
        place_(graph_.value_count()) {
    plan_->graph = std::move(graph);
    plan_->fused = options.fuse;
    plan_->casts = options.fuse && options.fast_kernels;
    plan_->exchange_bytes = exchange_.bytes;
    plan_->constants = constants_.small;
    plan_->constant_bytes = constants_.small_bytes;
    plan_->large_constants = constants_.large;
    plan_->heir = donations_.output_of;
    for (const auto& input : graph_.inputs()) plan_->input_bytes.push_back(bytes(input.value));
    for (const auto& output : graph_.outputs()) plan_->output_bytes.push_back(bytes(output.value));
  }

  std::unique_ptr<Executable::Plan> finish() {
    assign_slots();
    assign_outputs();
    reserve_regions();
    split_collectives();
    find_fences();
    for (uint32_t unit = 0; unit <= end_; ++unit) {
      while (begun_ < splits_.size() && splits_[begun_].begin == unit) begin_collective(splits_[begun_++]);
      while (ended_ < begun_ && splits_[ended_].end == unit) end_collective(splits_[ended_++]);
      if (unit == end_) break;
      if (!split_units_.contains(unit)) plan_unit(unit);
      const auto [first, last] = held_until_.equal_range(unit);
      for (auto it = first; it != last; ++it) release(it->second, unit);
    }
    copy_outputs();
    plan_->arena_bytes = arena_.extent();
    plan_->exchanges |= plan_->exchange_bytes > 0;
    if (options_.check) check_live_ranges(plan_->live_ranges);
    return std::move(plan_);
  }

 private:
  size_t bytes(ValueId value) const { return graph_.type(value).bytes(); }
  bool is_input(ValueId root) const { return graph_.producer(root) == kNone; }

  CompileOptions options_of_regions() const {
    CompileOptions out = options_;
    out.donations.clear();
    return out;
  }

  void assign_slots() {
    plan_->first_input = kFirstFixedSlot + static_cast<uint32_t>(plan_->large_constants.size());
    plan_->first_output = plan_->first_input + static_cast<uint32_t>(graph_.inputs().size());
    plan_->slot_count = plan_->first_output + static_cast<uint32_t>(graph_.outputs().size());
    for (const auto& [root, place] : constants_.places) place_[root] = place;
    for (uint32_t i = 0; i < graph_.inputs().size(); ++i)
      place_[graph_.inputs()[i].value] = {plan_->first_input + i, 0};
  }

  // The output that a computed value may be written into, when nothing stands against it. What a kernel
  // updates is written there, too, so that the update is in place.
  void assign_outputs() {
    for (uint32_t o = 0; o < graph_.outputs().size(); ++o) {
      for (ValueId root = units_.root[graph_.outputs()[o].value]; root != kNone; root = updated_by(root)) {
        if (!is_input(root) && !constant_of(graph_, root)) wanted_outputs_.emplace(root, o);
      }
    }
  }
  // The value that this one is an update of, where nothing else reads that; else kNone.
  ValueId updated_by(ValueId root) const {
    const NodeId producer = graph_.producer(root);
    if (producer == kNone || units_.unit_of[producer] == kNone) return kNone;
    const Node& node = graph_.node(producer);
    const size_t index = root - node.first_result;
    if (!units_.updates(node, index)) return kNone;
    const ValueId operand = units_.read_from(graph_, node, index);
    return uses_.reads[operand] == 1 && !exchange_.of_value.contains(operand) ? operand : kNone;
  }

  struct Split : SplitCollective {
    uint64_t workspace_offset = 0, workspace_bytes = 0;
    Step last = {};
  };

  // What they read lives until they end.
  void split_collectives() {
    if (!options_.fast_kernels) return;
    for (const SplitCollective& split :
         schedule_collectives(graph_, units_, [this](ValueId root, uint32_t unit) {
           return exchange_.of_value.contains(root) && uses_.last[root] == unit;
         })) {
      splits_.push_back({split});
      split_units_.insert(split.unit);
    }
    for (const Split& split : splits_) {
      const Node& node = graph_.node(units_.nodes_of(split.unit)[0]);
      for (uint32_t i = 0; i < node.input_count; ++i) {
        const ValueId root = units_.read_from(graph_, node, i);
        uses_.last[root] = std::max(uses_.last[root], split.end);
        held_until_.emplace(uses_.last[root], root);
      }
    }
  }

  void find_fences() {
    for (uint32_t unit = 0; unit < end_; ++unit) {
      if (!split_units_.contains(unit) && may_fail(graph_, graph_.node(units_.nodes_of(unit)[0])))
        open_from_ = unit + 1;
    }
    for (const Split& split : splits_) open_from_ = std::max(open_from_, split.end);
  }
  // Until the last fence has passed, outputs wait in the arena: a run that fails has written nothing.
  bool is_open(uint32_t unit) const { return unit >= open_from_; }

  // Steps point into the list, so it must not move.
  void reserve_regions() {
    size_t count = 0;
    for (const NodeId id : units_.nodes) count += graph_.node(id).region_count;
    plan_->regions.reserve(count);
  }

  Ref arena_place(ValueId value, uint32_t unit) {
    if (const auto it = exchange_.of_value.find(value); it != exchange_.of_value.end())
      return place_[value] = {kExchangeSlot, it->second};
    const uint64_t offset = arena_.allocate(bytes(value));
    place_[value] = {kArenaSlot, offset};
    record(offset, bytes(value), unit, uses_.last[value], false);
    return place_[value];
  }
  void record(uint64_t offset, uint64_t size, uint32_t first, uint32_t last, bool in_place) {
    if (options_.check)
      plan_->live_ranges.push_back({offset, size, first, last == Uses::kNever ? first : last, in_place});
  }
  void release(ValueId root, uint32_t unit) {
    if (!options_.reuse_memory || place_[root].slot != kArenaSlot) return;
    if (uses_.last[root] != Uses::kNever && uses_.last[root] > unit) return;
    arena_.free(place_[root].offset, bytes(root));
    place_[root] = {};
  }
  // Gives `value` the bytes of `dying`, which nothing else reads.
  void take_over(ValueId value, ValueId dying, uint32_t unit) {
    place_[value] = place_[dying];
    place_[dying] = {};
    record(place_[value].offset, bytes(value), unit, uses_.last[value], true);
  }
  bool dies(ValueId root, uint32_t unit) const {
    return options_.reuse_memory && place_[root].slot == kArenaSlot && uses_.last[root] == unit;
  }

  // The output to write `value` into at `unit`. `reads_in_step`: whether the variable may be overwritten by
  // this very step.
  template <class InPlace>
  uint32_t output_for(ValueId value, uint32_t unit, InPlace overwrites) const {
    if (!is_open(unit)) return kNone;
    const auto [first, last] = wanted_outputs_.equal_range(value);
    for (auto it = first; it != last; ++it) {
      const uint32_t input = donations_.input_of[it->second];
      if (input == kNone) return it->second;
      const ValueId old = graph_.inputs()[input].value;
      if (uses_.last[old] == Uses::kNever || uses_.last[old] < unit) return it->second;
      if (uses_.last[old] == unit && overwrites(old)) return it->second;
    }
    return kNone;
  }
  Ref output_place(uint32_t output) const { return {plan_->first_output + output, 0}; }

  // `unit`: kNone of a copy, and where a collective begins.
  void add_step(const Step& step, NodeId node, uint32_t unit, int reference_ops = 0, bool fence = false) {
    if (fence) plan_->fences.push_back(static_cast<uint32_t>(plan_->steps.size()));
    plan_->steps.push_back(step);
    plan_->step_nodes.push_back(node);
    plan_->step_units.push_back(unit);
    plan_->reference_ops.push_back(static_cast<uint16_t>(reference_ops));
  }

  void plan_unit(uint32_t unit) {
    const NodeId first = units_.nodes_of(unit)[0];
    const UnitKind kind = units_.kinds[unit];
    if (kind == UnitKind::kTiles) {
      TileDraft draft(graph_, units_, unit, options_.fast_kernels);
      const Step tiles = place_tiles(draft, unit, {});
      add_step(tiles, first, unit, draft.reference_ops());
      return release_loads(draft, unit);
    }
    const NodeStep node = place_node(unit, unit);
    const bool fence = may_fail(graph_, graph_.node(first));
    if (kind == UnitKind::kNode) {
      add_step(node.step, first, unit, node.reference_ops, fence);
      return release_node(node, unit);
    }
    // The tiles run while the kernel reads its operands and its workspace.
    TileDraft draft(graph_, units_, unit, options_.fast_kernels);
    const Step tiles = place_tiles(draft, unit, node.roots);
    add_step(followed_step(*plan_, node.step, node.takes_follower, tiles), first, unit,
             node.reference_ops + draft.reference_ops(), fence);
    release_node(node, unit);
    release_loads(draft, unit);
  }

  void begin_collective(Split& split) {
    const NodeId first = units_.nodes_of(split.unit)[0];
    const NodeStep node = place_node(split.unit, split.begin);
    split.workspace_offset = node.workspace_offset;
    split.workspace_bytes = node.workspace_bytes;
    split.last = node.last;
    if (node.last.run) return add_step(node.step, first, kNone);
    // By its reference body, at once.
    add_step(node.step, first, split.unit, node.reference_ops, true);
  }

  void end_collective(const Split& split) {
    if (split.last.run) add_step(split.last, units_.nodes_of(split.unit)[0], split.unit, 0, true);
    if (split.workspace_bytes && options_.reuse_memory)
      arena_.free(split.workspace_offset, split.workspace_bytes);
  }

  void release_loads(const TileDraft& draft, uint32_t unit) {
    for (const auto& load : draft.loads()) {
      if (!load.splat) release(load.access.value, unit);
    }
  }

  // `kept`: values that the tiles' results must not overwrite.
  Step place_tiles(TileDraft& draft, uint32_t unit, std::span<const ValueId> kept) {
    const auto is_kept = [&](ValueId root) { return std::count(kept.begin(), kept.end(), root) > 0; };
    std::vector<ValueId> taken;
    for (uint32_t i = 0; i < draft.size(); ++i) {
      const ValueId value = draft.result(i);
      if (uses_.last[value] == Uses::kNever) continue;
      // Overwritten variables are stored after the tile has been read.
      bool late = false;
      const uint32_t output = output_for(value, unit, [&](ValueId old) {
        bool direct = !is_kept(old);
        for (const auto& load : draft.loads()) {
          if (load.access.value != old) continue;
          direct = direct && load.access.direct;
          late = late || load.last_read > i;
        }
        return direct;
      });
      if (output != kNone) {
        place_[value] = output_place(output);
        draft.store(i, place_[value], late);
        continue;
      }
      ValueId dying = kNone;
      for (const auto& load : draft.loads()) {
        const ValueId root = load.access.value;
        if (exchange_.of_value.contains(value) || load.splat || !load.access.direct || load.last_read > i ||
            bytes(root) != bytes(value) || !dies(root, unit) || is_kept(root) ||
            std::count(taken.begin(), taken.end(), root)) {
          continue;
        }
        const bool once = std::count_if(draft.loads().begin(), draft.loads().end(),
                                        [&](const auto& other) { return other.access.value == root; }) == 1;
        if (once) {
          dying = root;
          break;
        }
      }
      if (dying == kNone) {
        draft.store(i, arena_place(value, unit), false);
      } else {
        taken.push_back(dying);
        place_[value] = place_[dying];
        record(place_[value].offset, bytes(value), unit, uses_.last[value], true);
        draft.store(i, place_[value], false);
      }
    }
    const Step step = draft.finish(*plan_, [&](ValueId root) { return place_[root]; });
    for (const ValueId root : taken) place_[root] = {};
    return step;
  }

  struct NodeStep {
    Step step, last = {};  // where it has two parts: the end

    uint16_t reference_ops = 0;
    bool takes_follower = false;
    std::vector<ValueId> roots;  // of its inputs
    uint64_t workspace_offset = 0, workspace_bytes = 0;
  };

  // The first node of a unit, placed as those of unit `at` are.
  uint32_t workspace_until(uint32_t unit) const {
    const auto split = std::ranges::find(splits_, unit, &Split::unit);
    return split == splits_.end() ? unit : split->end - 1;
  }

  NodeStep place_node(uint32_t unit, uint32_t at) {
    const Node& node = graph_.node(units_.nodes_of(unit)[0]);
    NodeStep out;
    std::vector<ValueId>& roots = out.roots;
    std::vector<Ref> inputs, outputs;
    std::vector<const TensorType*> types, result_types;
    std::list<TensorType> cast_types;
    std::vector<const void*> constants, splats;
    for (size_t i = 0; i < node.input_count; ++i) {
      const ValueId input = graph_.inputs(node)[i];
      roots.push_back(units_.read_from(graph_, node, i));
      constants.push_back(constants_.elements(graph_, roots.back()));
      const Literal* literal = units_.updates(node, i) ? constant_of(graph_, roots.back()) : nullptr;
      splats.push_back(literal && is_one_element(*literal) ? literal->raw() : nullptr);
      inputs.push_back(bytes(input) && !splats.back() ? place_[roots.back()] : Ref{kArenaSlot, 0});
      const DType memory = graph_.type(roots.back()).dtype;
      const bool cast = memory != graph_.type(input).dtype;
      types.push_back(cast ? &cast_types.emplace_back(TensorType{memory, graph_.type(input).shape})
                           : &graph_.type(input));
    }
    for (uint32_t i = 0; i < node.result_count; ++i)
      result_types.push_back(&graph_.type(node.first_result + i));
    PreparedKernel kernel;
    if (options_.fast_kernels && node.region_count == 0)
      kernel = prepare_kernel({*node.op, node.attributes.get(), types, result_types,
                               types.empty() ? DType::kF32 : graph_.type(graph_.inputs(node)[0]).dtype,
                               constants, graph_.scope(node), splats});
    if (!kernel.run && !node.op->eval) throw InternalError(cat(node.op->name, " has no body"));
    if (!kernel.run && is_collective(*node.op) && options_.world > 1) {
      const Location at = graph_.location(node);
      throw UnsupportedError("compile.collective",
                             cat(node.op->name, at.known() ? cat(" at ", at) : std::string(),
                                 " has no kernel that runs among ", options_.world, " processes"));
    }

    const bool elementwise = !kernel.run && node.op->fusion == Fusion::kElementwise && node.result_count == 1;
    // Whether result i may be written over an operand.
    const auto overwrites = [&](uint32_t i, ValueId root) {
      size_t reads = 0;
      bool allowed = false;
      for (size_t k = 0; k < roots.size(); ++k) {
        if (roots[k] != root) continue;
        ++reads;
        allowed =
            (kernel.run && k == i && k < kernel.in_place) || (elementwise && *types[k] == *result_types[i]);
      }
      return reads == 1 && allowed && bytes(root) == result_types[i]->bytes();
    };
    for (uint32_t i = 0; i < node.result_count; ++i) {
      const ValueId value = node.first_result + i;
      if (bytes(value) == 0) {
        outputs.push_back({kArenaSlot, 0});
        continue;
      }
      const uint32_t output = output_for(value, at, [&](ValueId old) { return overwrites(i, old); });
      if (output != kNone) {
        place_[value] = output_place(output);
      } else {
        ValueId dying = kNone;
        for (const ValueId root : roots) {
          if (dying == kNone && dies(root, at) && overwrites(i, root) && !exchange_.of_value.contains(value))
            dying = root;
        }
        if (dying != kNone) {
          take_over(value, dying, at);
        } else {
          arena_place(value, at);
        }
      }
      outputs.push_back(place_[value]);
    }
    if (kernel.run) {
      Ref workspace{kArenaSlot, 0};
      if (kernel.exchange) {
        const auto in_place = exchange_.of_unit.find(unit);
        const bool apart = in_place == exchange_.of_unit.end();
        workspace = {kExchangeSlot, apart ? plan_->exchange_bytes : in_place->second};
        if (apart) plan_->exchange_bytes += exchange_room(kernel.workspace);
      } else if (kernel.workspace) {
        out.workspace_bytes = kernel.workspace;
        out.workspace_offset = workspace.offset = arena_.allocate(kernel.workspace);
        record(out.workspace_offset, kernel.workspace, at, workspace_until(unit), false);
      }
      if (kernel.begin && split_units_.contains(unit)) {
        const SplitSteps steps = split_steps(*plan_, kernel, inputs, outputs, workspace);
        out.step = steps.begin;
        out.last = steps.end;
      } else {
        out.step = kernel_step(*plan_, kernel, inputs, outputs, workspace);
      }
      out.takes_follower = kernel.takes_follower;
      if (kernel.params) plan_->params.push_back(std::move(kernel.params));
    } else {
      const auto first_region = static_cast<uint32_t>(plan_->regions.size());
      for (const GraphPtr& region : graph_.regions(node)) {
        plan_->regions.push_back(compile(region, options_of_regions()));
        plan_->exchanges |= plan_->regions.back()->plan().exchanges;
      }
      out.step = reference_step(*plan_, node, inputs, outputs, first_region);
      out.reference_ops = 1;
    }
    return out;
  }

  void release_node(const NodeStep& step, uint32_t unit) {
    const Node& node = graph_.node(units_.nodes_of(unit)[0]);
    if (step.workspace_bytes && options_.reuse_memory)
      arena_.free(step.workspace_offset, step.workspace_bytes);
    for (const ValueId root : step.roots) release(root, unit);
    for (uint32_t i = 0; i < node.result_count; ++i) {
      if (uses_.last[node.first_result + i] == Uses::kNever) release(node.first_result + i, unit);
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
      const Ref to = output_place(o);
      Ref from = place_[root];
      if (bytes(root) == 0 || (from.slot == to.slot && from.offset == to.offset)) continue;
      const bool unchanged = is_unchanged(graph_, units_, donations_, o);
      if (is_input(root) && !unchanged && plan_->heir[from.slot - plan_->first_input] != kNone) {
        const uint64_t offset = arena_.allocate(bytes(root));
        record(offset, bytes(root), end_, end_, false);
        aside.push_back({from, {kArenaSlot, offset}, bytes(root)});
        from = aside.back().to;
      }
      copies.push_back({from, to, bytes(root)});
    }
    for (const auto* list : {&aside, &copies}) {
      for (const Copy& copy : *list) {
        add_step(copy_step(*plan_, copy.from, copy.to, copy.bytes), kNone, kNone);
      }
    }
  }

  const CompileOptions options_;
  std::unique_ptr<Executable::Plan> plan_;
  const Graph& graph_;
  const Units units_;
  const uint32_t end_;
  const Donations donations_;
  Uses uses_;  // what a collective in two parts reads is used until it ends
  const ExchangeLayout exchange_;
  const ConstantLayout constants_;
  std::vector<Ref> place_;
  std::unordered_multimap<ValueId, uint32_t> wanted_outputs_;
  std::vector<Split> splits_;  // as they begin
  size_t begun_ = 0, ended_ = 0;
  std::unordered_set<uint32_t> split_units_;
  std::unordered_multimap<uint32_t, ValueId> held_until_;  // by unit: what a collective reads until there
  uint32_t open_from_ = 0;
  ArenaAllocator arena_;
};

}  // namespace

std::shared_ptr<const Executable> compile(std::shared_ptr<const Graph> graph, const CompileOptions& options) {
  graph = decompose_bodiless(std::move(graph));
  if (options.fast_kernels) graph = integer_products_in_f32(std::move(graph));
  Planner planner(std::move(graph), options);
  return std::make_shared<Executable>(planner.finish());
}

}  // namespace espalier
