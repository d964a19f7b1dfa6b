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

bool nobody_else_holds(const Tensor& tensor) {
  return tensor.node().use_count() == 1 && tensor.node()->owns_array();
}

}  // namespace

class PartsPlace::PartsProgram final : public Program {
 public:
  PartsProgram(const PartsPlace& place, const PlacedGraph& placed)
      : place_(place), graph_(with_part(*placed.graph)), last_use_(graph_->value_count()) {
    std::vector<bool> of_parts;
    for (const GraphInput& input : graph_->inputs()) of_parts.push_back(input.kind == InputKind::kArgument);
    of_parts_ = of_parts;
    CutGraph cut =
        cut_graph(*graph_, [](const Node& node) { return is_collective(*node.op); }, {.of_parts = of_parts});
    const auto compiled = [&](const GraphPtr& graph, std::vector<Alias> pairs) {
      const PlacedGraph one{graph, pairs};
      return Compiled{place_.one_->compile({&one, 1}), std::move(pairs)};
    };
    for (size_t i = 0; i <= cut.cuts.size(); ++i) {
      Step step;
      const size_t end = i < cut.cuts.size() ? cut.behind[i] : cut.stages.size();
      for (size_t k = i ? cut.behind[i - 1] : 0; k < end; ++k) {
        GraphPiece& piece = cut.stages[k];
        for (const ValueId input : piece.inputs) last_use_[input] = i;
        if (piece.outputs.empty()) continue;
        const bool last = k + 1 == cut.stages.size();
        Stage stage{compiled(graph_of(*graph_, piece, cat(graph_->name(), "/", k)),
                             last ? pairs_of(piece, placed.pairs) : std::vector<Alias>()),
                    std::move(piece.inputs), std::move(piece.outputs)};
        (piece.of_parts ? step.own : last ? step.last : step.shared).push_back(std::move(stage));
      }
      if (i < cut.cuts.size()) {
        GraphPiece& piece = cut.cuts[i];
        for (const ValueId input : piece.inputs) last_use_[input] = i;
        const Node& node = graph_->node(piece.nodes[0]);
        std::vector<Alias> pairs;
        for (size_t k = 0; k < node.input_count; ++k) pairs.push_back({k, k});
        step.sum = compiled(sum_of_two(*graph_, node), std::move(pairs));
        step.gives.assign(graph_->inputs(node).begin(), graph_->inputs(node).end());
        step.takes = std::move(piece.outputs);
      }
      steps_.push_back(std::move(step));
    }
    for (const GraphOutput& output : graph_->outputs()) last_use_[output.value] = steps_.size();
  }

  void call(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
            const RunContext& context) const override {
    const size_t takes = graph_->inputs().size() - 1, gives = graph_->outputs().size();
    const ShardRange owned = place_.owned(place_.key.rank);
    Run run{context, {}, std::vector<Values>(static_cast<size_t>(owned.count()))};
    std::vector<ValueId> given;
    for (size_t i = 0; i < takes; ++i) {
      const ValueId value = graph_->inputs()[i].value;
      for (size_t part = 0; part < run.own.size() && of_parts_[i]; ++part)
        run.own[part][value] = *inputs[part * takes + i];
      if (of_parts_[i]) continue;
      run.shared[value] = *inputs[i];
      if (donated[i]) given.push_back(value);
    }
    for (size_t part = 0; part < run.own.size(); ++part)
      run.own[part][graph_->inputs().back().value] =
          Tensor::scalar(static_cast<uint32_t>(owned.first) + static_cast<uint32_t>(part));
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      for (const Stage& stage : step.shared) run.stage(stage, nullptr);
      if (!step.takes.empty()) {
        std::vector<Tensor> sums = meet(run, i, owned);
        for (size_t k = 0; k < sums.size(); ++k) run.shared[step.takes[k]] = std::move(sums[k]);
        continue;
      }
      for (Values& own : run.own)
        for (const Stage& stage : step.own) run.stage(stage, &own);
      // All others have come that may fail: from here on old values go.
      for (const Stage& stage : step.last) run.stage(stage, nullptr, given);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const GraphOutput& output = graph_->outputs()[i % gives];
      // New values are the same in all parts.
      if (output.kind == OutputKind::kUpdate && i >= gives) continue;
      if (const auto shared = run.shared.find(output.value); shared != run.shared.end())
        outputs[i] = shared->second;
      else if (i / gives < run.own.size())
        outputs[i] = run.own[i / gives].at(output.value);
    }
  }

 private:
  using Values = std::map<ValueId, Tensor>;
  struct Compiled {
    std::shared_ptr<const Program> program;
    std::vector<Alias> pairs;

    std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, std::span<const char> donated,
                                   size_t results, const RunContext& context) const {
      std::vector<const Tensor*> views;
      for (const Tensor& input : inputs) views.push_back(&input);
      std::vector<Tensor> out(results);
      run_within(*program, views, donated, out, context);
      for (const Alias& pair : pairs)
        if (!out[pair.output].defined()) out[pair.output] = inputs[pair.input];
      return out;
    }
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
  struct Run {
    const RunContext& context;
    Values shared;
    std::vector<Values> own;

    const Tensor& value(ValueId id, const Values* part) const {
      if (part)
        if (const auto it = part->find(id); it != part->end()) return it->second;
      return shared.at(id);
    }
    void stage(const Stage& stage, Values* part, const std::vector<ValueId>& given = {}) {
      std::vector<Tensor> inputs;
      std::vector<char> donated(stage.inputs.size(), false);
      for (const ValueId input : stage.inputs) inputs.push_back(value(input, part));
      for (const Alias& pair : stage.program.pairs)
        donated[pair.input] = std::ranges::count(given, stage.inputs[pair.input]) > 0;
      std::vector<Tensor> results = stage.program(inputs, donated, stage.outputs.size(), context);
      Values& to = part ? *part : shared;
      for (size_t i = 0; i < results.size(); ++i) to[stage.outputs[i]] = std::move(results[i]);
    }
  };

  // Of the last stage, by places of its own: variables whose old values nobody is given.
  std::vector<Alias> pairs_of(const GraphPiece& last, std::span<const Alias> pairs) const {
    const auto times = [&](ValueId value) {
      return std::ranges::count(graph_->outputs(), value, &GraphOutput::value);
    };
    std::vector<Alias> out;
    for (const Alias& pair : pairs) {
      const ValueId before = graph_->inputs()[pair.input].value, next = graph_->outputs()[pair.output].value;
      const auto input = std::ranges::find(last.inputs, before),
                 output = std::ranges::find(last.outputs, next);
      if (input == last.inputs.end() || output == last.outputs.end() || times(before) || times(next) > 1)
        continue;
      out.push_back({static_cast<size_t>(input - last.inputs.begin()),
                     static_cast<size_t>(output - last.outputs.begin())});
    }
    return out;
  }

  std::vector<Tensor> both(const Step& step, std::vector<Tensor> a, std::vector<Tensor> b,
                           const RunContext& context) const {
    std::vector<char> donated;
    for (const Tensor& each : a) donated.push_back(nobody_else_holds(each));
    donated.resize(2 * a.size(), false);
    std::ranges::move(b, std::back_inserter(a));
    return step.sum(a, donated, b.size(), context);
  }

  // The stages of each part up to a collective, and what all give together. A part's values go as soon as
  // nobody needs them.
  std::vector<Tensor> meet(Run& run, size_t number, const ShardRange& owned) const {
    const Step& step = steps_[number];
    const auto part = [&](const ShardRange& range) -> std::optional<std::vector<Tensor>> {
      if (range.count() > 1) return std::nullopt;
      Values& own = run.own[static_cast<size_t>(range.first - owned.first)];
      for (const Stage& stage : step.own) run.stage(stage, &own);
      std::vector<Tensor> out;
      for (const ValueId value : step.gives) out.push_back(run.value(value, &own));
      std::erase_if(own, [&](const auto& each) { return last_use_[each.first] <= number; });
      return out;
    };
    const auto add = [&](std::vector<Tensor> a, std::vector<Tensor> b) {
      return both(step, std::move(a), std::move(b), run.context);
    };
    FoundArrays found;
    for (const ShardRange& range : subtrees({0, place_.parts_}, owned))
      found.emplace_back(range, *sum_over<std::vector<Tensor>>(range, part, add));
    if (place_.key.world > 1) found = gathered(found, step, run.context);
    const auto known = [&](const ShardRange& range) -> std::optional<std::vector<Tensor>> {
      const auto it = std::ranges::find(found, range, &FoundArrays::value_type::first);
      return it == found.end() ? std::nullopt : std::optional(std::move(it->second));
    };
    return *sum_over<std::vector<Tensor>>({0, place_.parts_}, known, add);
  }

  // Those of all ranks.
  FoundArrays gathered(const FoundArrays& own, const Step& step, const RunContext& context) const {
    std::vector<TensorType> types;
    for (const ValueId value : step.gives) types.push_back(graph_->type(value));
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
  const std::shared_ptr<const Graph> graph_;
  std::vector<bool> of_parts_;    // by input
  std::vector<size_t> last_use_;  // by value: the step; behind all for what is given
  std::vector<Step> steps_;
};

PartsPlace::PartsPlace(int parts, const RunContext& context)
    : Place({new_place_number(), context.rank, context.world, true,
             context.device ? matmul_precision() : MatmulPrecision::kHighest},
            context.device),
      parts_(parts),
      one_(context) {}

std::shared_ptr<Program> PartsPlace::make(std::span<const PlacedGraph> graphs) const {
  require_equal_arguments(graphs, static_cast<size_t>(parts_));
  require_equal_updates(*graphs[0].graph);
  return std::make_shared<PartsProgram>(*this, graphs[0]);
}

}  // namespace espalier
