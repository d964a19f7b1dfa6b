#include "place/parts_place.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.h"
#include "espalier/communicator.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "ir/attribute_reader.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "ops/registry.h"
#include "passes/cut_graph.h"
#include "place/packed_arrays.h"
#include "place/shares.h"

namespace espalier {
namespace {

[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& what) {
  const CallScope call(graph.location(node));
  throw UnsupportedError("shards.collective", cat(node.op->name, ": ", what), "all_reduce, over all");
}

void require_none_inside(const Graph& graph, const Node& node) {
  for (const GraphPtr& region : graph.regions(node)) {
    for (const Node& inner : region->nodes()) {
      if (is_collective(*inner.op) || inner.op == &op_replica_id)
        refuse(*region, inner, cat("inside of ", node.op->name, " logical shards cannot meet"));
      require_none_inside(*region, inner);
    }
  }
}

// Its last input is the number of the part.
std::shared_ptr<const Graph> with_part(const Graph& graph) {
  Rewriter rewriter(graph);
  const SinkScope scope(rewriter.builder());
  const Tensor part = rewriter.builder().argument("part", {DType::kU32, {}});
  for (const Node& node : graph.nodes()) {
    require_none_inside(graph, node);
    if (node.op == &op_replica_id)
      rewriter.replace(node.first_result, part);
    else
      rewriter.copy(node);
  }
  return rewriter.finish();
}

Tensor reduced(const Graph& graph, const Node& node, const Tensor& a, const Tensor& b) {
  if (node.op != &op_all_reduce ||
      !static_cast<const CollectiveAttributes&>(*node.attributes).groups.replica_groups.empty())
    refuse(graph, node, "logical shards do not meet so");
  switch (static_cast<Reducer>(read_integer(node.attributes.get(), "reducer"))) {
    case Reducer::kSum:
      return a + b;
    case Reducer::kProd:
      return a * b;
    case Reducer::kMax:
      return maximum(a, b);
    case Reducer::kMin:
      return minimum(a, b);
    case Reducer::kAnd:
      return a & b;
    case Reducer::kOr:
      return a | b;
    case Reducer::kXor:
      return a ^ b;
    default:
      refuse(graph, node, "logical shards do not meet so");
  }
}

// What two subtrees give together: a..., b..., of which a give their places.
std::shared_ptr<const Graph> sum_of_two(const Graph& graph, const Node& node) {
  GraphBuilder builder("both");
  const SinkScope scope(builder);
  std::vector<Tensor> a, b;
  for (std::vector<Tensor>* side : {&a, &b})
    for (const ValueId input : graph.inputs(node))
      side->push_back(builder.argument(cat(side == &a ? "a" : "b", side->size()), graph.type(input)));
  for (size_t i = 0; i < a.size(); ++i) builder.result(cat("r", i), reduced(graph, node, a[i], b[i]));
  return builder.finish();
}

// On its device; they are one rank here.
int replicas_of(const RunContext& context) {
  return context.device ? static_cast<int>(context.device->replicas()) : 1;
}

bool nobody_else_holds(const Tensor& tensor) {
  return tensor.node().use_count() == 1 && tensor.node()->owns_array();
}

}  // namespace

// The stages of a program for parts of one size.
class PartsStages {
 public:
  using Values = std::map<ValueId, Tensor>;
  struct Compiled {
    std::shared_ptr<const Program> program;
    std::vector<Alias> pairs;
  };
  struct Stage {
    Compiled program;
    std::vector<ValueId> inputs, outputs;
  };
  // Stages up to a collective, or to the end, and what is met there.
  struct Step {
    std::vector<Stage> shared, own, last;  // once, part after part, and once behind all others
    Compiled sum;
    std::vector<ValueId> gives, takes;
  };

  PartsStages(const PlacedGraph& placed, const Place& place)
      : placed(placed.graph), graph(with_part(*placed.graph)), last_use(graph->value_count()) {
    for (const GraphInput& input : graph->inputs()) of_parts.push_back(input.kind == InputKind::kArgument);
    CutGraph cut =
        cut_graph(*graph, [](const Node& node) { return is_collective(*node.op); }, {.of_parts = of_parts});
    const auto compiled = [&](const GraphPtr& piece, std::vector<Alias> pairs) {
      const PlacedGraph one{piece, pairs};
      return Compiled{place.compile({&one, 1}), std::move(pairs)};
    };
    for (size_t i = 0; i <= cut.cuts.size(); ++i) {
      Step step;
      const size_t end = i < cut.cuts.size() ? cut.behind[i] : cut.stages.size();
      for (size_t k = i ? cut.behind[i - 1] : 0; k < end; ++k) {
        GraphPiece& piece = cut.stages[k];
        for (const ValueId input : piece.inputs) last_use[input] = i;
        if (piece.outputs.empty()) continue;
        const bool last = k + 1 == cut.stages.size();
        Stage stage{compiled(graph_of(*graph, piece, cat(graph->name(), "/", k)),
                             last ? pairs_of(piece, placed.pairs) : std::vector<Alias>()),
                    std::move(piece.inputs), std::move(piece.outputs)};
        (piece.of_parts ? step.own : last ? step.last : step.shared).push_back(std::move(stage));
      }
      if (i < cut.cuts.size()) {
        GraphPiece& piece = cut.cuts[i];
        for (const ValueId input : piece.inputs) last_use[input] = i;
        const Node& node = graph->node(piece.nodes[0]);
        std::vector<Alias> pairs;
        for (size_t k = 0; k < node.input_count; ++k) pairs.push_back({k, k});
        step.sum = compiled(sum_of_two(*graph, node), std::move(pairs));
        step.gives.assign(graph->inputs(node).begin(), graph->inputs(node).end());
        step.takes = std::move(piece.outputs);
      }
      steps.push_back(std::move(step));
    }
    for (const GraphOutput& output : graph->outputs()) last_use[output.value] = steps.size();
  }

  const GraphPtr placed;
  const std::shared_ptr<const Graph> graph;
  std::vector<bool> of_parts;    // by input
  std::vector<size_t> last_use;  // by value: the step; behind all for what is given
  std::vector<Step> steps;

 private:
  // Of the last stage, by places of its own: variables whose old values nobody is given.
  std::vector<Alias> pairs_of(const GraphPiece& last, std::span<const Alias> pairs) const {
    const auto times = [&](ValueId value) {
      return std::ranges::count(graph->outputs(), value, &GraphOutput::value);
    };
    std::vector<Alias> out;
    for (const Alias& pair : pairs) {
      const ValueId before = graph->inputs()[pair.input].value, next = graph->outputs()[pair.output].value;
      const auto input = std::ranges::find(last.inputs, before),
                 output = std::ranges::find(last.outputs, next);
      if (input == last.inputs.end() || output == last.outputs.end() || times(before) || times(next) > 1)
        continue;
      out.push_back({static_cast<size_t>(input - last.inputs.begin()),
                     static_cast<size_t>(output - last.outputs.begin())});
    }
    return out;
  }
};

// Parts of a batch may have a row more than others: then they have stages of their own, and meet alike.
class PartsPlace::PartsProgram final : public Program {
 public:
  PartsProgram(const PartsPlace& place, std::span<const PlacedGraph> parts) : place_(place) {
    for (const PlacedGraph& part : parts) {
      const auto known = std::ranges::find(sizes_, part.graph, &PartsStages::placed);
      of_part_.push_back(static_cast<size_t>(known - sizes_.begin()));
      if (known == sizes_.end()) sizes_.emplace_back(part, *place.one_);
    }
    const ShardRange owned = place.owned(place.key.rank);
    for (size_t part = 0; part < static_cast<size_t>(owned.count()); ++part) {
      const auto takes_it = [&](const Group& group) {
        return group.size == of_part_[part] && group.parts.size() < place.at_once();
      };
      auto group = std::ranges::find_if(groups_, takes_it);
      if (group == groups_.end()) group = groups_.insert(group, {of_part_[part], {}});
      seats_.push_back({static_cast<size_t>(group - groups_.begin()), group->parts.size()});
      group->parts.push_back(part);
    }
    const auto number = [&](size_t part) {
      return Tensor::scalar(static_cast<uint32_t>(owned.first) + static_cast<uint32_t>(part));
    };
    for (const Group& group : groups_) numbers_.push_back(of_each(group, number));
  }

  void call(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
            const RunContext& context) const override {
    const ShardRange owned = place_.owned(place_.key.rank);
    Run run{context, std::vector<Values>(sizes_.size()), std::vector<Values>(groups_.size()),
            std::vector<std::vector<Tensor>>(seats_.size())};
    std::vector<ValueId> given;  // of the first size
    std::vector<size_t> firsts;  // of the inputs of each part
    // Programs may name their variables in other orders.
    for (size_t part = 0, first = 0; part < of_part_.size(); ++part) {
      const size_t size = of_part_[part];
      const std::vector<GraphInput>& takes = sizes_[size].graph->inputs();
      const bool begins = run.shared[size].empty();
      firsts.push_back(first);
      for (size_t i = 0; i + 1 < takes.size(); ++i, ++first) {
        if (!begins || sizes_[size].of_parts[i]) continue;
        run.shared[size][takes[i].value] = *inputs[first];
        if (donated[first] && size == 0) given.push_back(takes[i].value);
      }
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      const PartsStages& of = sizes_[groups_[i].size];
      const std::vector<GraphInput>& takes = of.graph->inputs();
      for (size_t k = 0; k + 1 < takes.size(); ++k)
        if (of.of_parts[k])
          run.own[i][takes[k].value] =
              of_each(groups_[i], [&](size_t part) { return *inputs[firsts[part] + k]; });
      run.own[i][takes.back().value] = numbers_[i];
    }
    for (size_t i = 0; i < sizes_[0].steps.size(); ++i) {
      for (size_t size = 0; size < sizes_.size(); ++size)
        for (const Stage& stage : sizes_[size].steps[i].shared) run.stage(stage, nullptr, run.shared[size]);
      if (!sizes_[0].steps[i].takes.empty()) {
        const std::vector<Tensor> sums = meet(run, i, owned);
        for (size_t size = 0; size < sizes_.size(); ++size)
          for (size_t k = 0; k < sums.size(); ++k) run.shared[size][sizes_[size].steps[i].takes[k]] = sums[k];
        continue;
      }
      for (size_t k = 0; k < groups_.size(); ++k)
        for (const Stage& stage : sizes_[groups_[k].size].steps[i].own)
          run.stage(stage, &run.own[k], run.shared[groups_[k].size]);
      // All others have come that may fail: from here on old values go, once others have read them.
      for (size_t size = sizes_.size(); size-- > 0;)
        for (const Stage& stage : sizes_[size].steps[i].last)
          run.stage(stage, nullptr, run.shared[size], size == 0 ? given : std::vector<ValueId>());
    }
    for (size_t part = 0, i = 0; part < of_part_.size(); ++part) {
      const Values& shared = run.shared[of_part_[part]];
      for (const GraphOutput& output : sizes_[of_part_[part]].graph->outputs()) {
        Tensor& out = outputs[i++];
        // New values are the same in all parts.
        if (output.kind == OutputKind::kUpdate && part > 0) continue;
        if (part < seats_.size() || shared.contains(output.value)) out = value_of(run, output.value, part);
      }
    }
  }

 private:
  using Values = PartsStages::Values;
  using Stage = PartsStages::Stage;
  using Step = PartsStages::Step;
  // Parts of one size, which run at once.
  struct Group {
    size_t size;
    std::vector<size_t> parts;
  };
  struct Seat {
    size_t group, place;
  };

  static std::vector<Tensor> run_compiled(const PartsStages::Compiled& of, const std::vector<Tensor>& inputs,
                                          std::span<const char> donated, size_t results,
                                          const RunContext& context) {
    std::vector<const Tensor*> views;
    for (const Tensor& input : inputs) views.push_back(&input);
    std::vector<Tensor> out(results);
    run_within(*of.program, views, donated, out, context);
    for (const Alias& pair : of.pairs)
      if (!out[pair.output].defined()) out[pair.output] = inputs[pair.input];
    return out;
  }

  struct Run {
    const RunContext& context;
    std::vector<Values> shared;              // of each size
    std::vector<Values> own;                 // of each group
    std::vector<std::vector<Tensor>> gives;  // of each part, to the next collective

    static const Tensor& value(ValueId id, const Values* own, const Values& shared) {
      if (own)
        if (const auto it = own->find(id); it != own->end()) return it->second;
      return shared.at(id);
    }
    void stage(const Stage& stage, Values* own, Values& shared, const std::vector<ValueId>& given = {}) {
      std::vector<Tensor> inputs;
      std::vector<char> donated(stage.inputs.size(), false);
      for (const ValueId input : stage.inputs) inputs.push_back(value(input, own, shared));
      for (const Alias& pair : stage.program.pairs)
        donated[pair.input] = std::ranges::count(given, stage.inputs[pair.input]) > 0;
      std::vector<Tensor> results =
          run_compiled(stage.program, inputs, donated, stage.outputs.size(), context);
      Values& to = own ? *own : shared;
      for (size_t i = 0; i < results.size(); ++i) to[stage.outputs[i]] = std::move(results[i]);
    }
  };

  std::vector<Tensor> both(const Step& step, std::vector<Tensor> a, std::vector<Tensor> b,
                           const RunContext& context) const {
    std::vector<char> donated;
    for (const Tensor& each : a) donated.push_back(nobody_else_holds(each));
    donated.resize(2 * a.size(), false);
    std::ranges::move(b, std::back_inserter(a));
    return run_compiled(step.sum, a, donated, b.size(), context);
  }

  // What the parts of a group have of a value, as the place takes it.
  template <class F>
  Tensor of_each(const Group& group, F&& of_part) const {
    if (place_.at_once() == 1) return of_part(group.parts[0]);
    std::vector<Tensor> values;
    for (const size_t part : group.parts) values.push_back(of_part(part));
    // Where there are fewer parts the last one runs again.
    while (values.size() < place_.at_once()) values.push_back(of_part(group.parts.back()));
    return make_remote(array_of_each(values, *place_.device));
  }
  // What a part has of a value.
  Tensor value_of(const Run& run, ValueId id, size_t part) const {
    if (part < seats_.size()) {
      const auto& [group, place] = seats_[part];
      if (const auto it = run.own[group].find(id); it != run.own[group].end())
        return place_.one_->value_of(it->second, place);
    }
    return run.shared[of_part_[part]].at(id);
  }

  // The stages of a group up to a collective.
  void run_group(Run& run, size_t number, size_t group) const {
    const auto& [size, parts] = groups_[group];
    const Step& step = sizes_[size].steps[number];
    for (const Stage& stage : step.own) run.stage(stage, &run.own[group], run.shared[size]);
    for (const size_t part : parts)
      for (const ValueId value : step.gives) run.gives[part].push_back(value_of(run, value, part));
    std::erase_if(run.own[group],
                  [&](const auto& each) { return sizes_[size].last_use[each.first] <= number; });
  }

  // The stages of each part up to a collective, and what all give together. A part's values go as soon as
  // nobody needs them.
  std::vector<Tensor> meet(Run& run, size_t number, const ShardRange& owned) const {
    const Step& first = sizes_[0].steps[number];
    const auto part = [&](const ShardRange& range) -> std::optional<std::vector<Tensor>> {
      if (range.count() > 1) return std::nullopt;
      const auto i = static_cast<size_t>(range.first - owned.first);
      if (run.gives[i].empty()) run_group(run, number, seats_[i].group);
      return std::exchange(run.gives[i], {});
    };
    const auto add = [&](std::vector<Tensor> a, std::vector<Tensor> b) {
      return both(first, std::move(a), std::move(b), run.context);
    };
    FoundArrays found;
    for (const ShardRange& range : subtrees({0, place_.parts_}, owned))
      found.emplace_back(range, *sum_over<std::vector<Tensor>>(range, part, add));
    if (place_.key.world > 1) found = gathered(found, first, run.context);
    const auto known = [&](const ShardRange& range) -> std::optional<std::vector<Tensor>> {
      const auto it = std::ranges::find(found, range, &FoundArrays::value_type::first);
      return it == found.end() ? std::nullopt : std::optional(std::move(it->second));
    };
    return *sum_over<std::vector<Tensor>>({0, place_.parts_}, known, add);
  }

  // Those of all ranks.
  FoundArrays gathered(const FoundArrays& own, const Step& step, const RunContext& context) const {
    std::vector<TensorType> types;
    for (const ValueId value : step.gives) types.push_back(sizes_[0].graph->type(value));
    std::vector<std::vector<ShardRange>> of_ranks;
    for (int rank = 0; rank < place_.key.world; ++rank)
      of_ranks.push_back(subtrees({0, place_.parts_}, place_.owned(rank)));
    return found_by_all(own, of_ranks, types, [&](std::span<const std::byte> mine, std::byte* all) {
      const Collective what{
          .kind = Collective::Kind::kAllGather, .name = "shards", .type = "bytes", .count = mine.size()};
      run_collective(*context.communicator, what, const_cast<std::byte*>(mine.data()), all, context.pool);
    });
  }

  const PartsPlace& place_;
  std::vector<PartsStages> sizes_;  // of each number of rows
  std::vector<size_t> of_part_;     // which of them a part has
  std::vector<Group> groups_;       // of this rank's parts
  std::vector<Seat> seats_;         // of each of them
  std::vector<Tensor> numbers_;     // of each group
};

PartsPlace::PartsPlace(int parts, const RunContext& context)
    : Place({new_place_number(), context.rank / replicas_of(context), context.world / replicas_of(context),
             true, context.device ? matmul_precision() : MatmulPrecision::kHighest},
            context.device),
      parts_(parts),
      one_(context) {}

std::shared_ptr<Program> PartsPlace::make(std::span<const PlacedGraph> graphs) const {
  require_parts_of_one_batch(graphs);
  return std::make_shared<PartsProgram>(*this, graphs);
}

}  // namespace espalier
