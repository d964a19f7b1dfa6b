#include "runtime/steps.h"

#include <algorithm>

#include "runtime/tile_program.h"

namespace espalier {
namespace {

struct ReferenceBlock {
  const OpDef* op;
  const Attributes* attributes;
  const GraphPtr* regions;
  const std::shared_ptr<const Executable>* plans;
  uint32_t region_count, first_region, input_count, output_count;
  const Ref* refs;                 // inputs, then outputs
  const TensorType* const* types;  // the same
};

// Runs regions by their plans, in states that live as long as the run's.
class PlanRunner final : public RegionRunner {
 public:
  PlanRunner(const ReferenceBlock& block, const Frame& frame)
      : block_(block), state_(*frame.state), context_(*frame.context) {}

  void run(const Graph& region, std::span<const ArrayView> arguments,
           std::span<const MutableArrayView> results) override {
    uint32_t i = 0;
    while (i < block_.region_count && block_.regions[i].get() != &region) ++i;
    if (i == block_.region_count)
      throw InternalError(cat(block_.op->name, " runs a region that is not its own"));
    const Executable::Plan& plan = block_.plans[i]->plan();
    auto& state = state_.regions[block_.first_region + i];
    if (!state) state = std::make_unique<RunState>(plan, context_);
    for (const ArrayView& argument : arguments) {
      for (const MutableArrayView& result : results) {
        if (meet(argument, result)) return run_on_copies(plan, *state, arguments, results);
      }
    }
    replay(plan, *state, arguments, results, context_, nullptr);
  }

 private:
  static bool meet(const ArrayView& a, const ArrayView& b) {
    const auto *x = static_cast<const std::byte*>(a.data), *y = static_cast<const std::byte*>(b.data);
    return x < y + b.type->bytes() && y < x + a.type->bytes();
  }
  void run_on_copies(const Executable::Plan& plan, RunState& state, std::span<const ArrayView> arguments,
                     std::span<const MutableArrayView> results) const {
    std::vector<Literal> copies;
    std::vector<ArrayView> views;
    copies.reserve(arguments.size());
    for (const ArrayView& argument : arguments) {
      copies.push_back(Literal::copy(*argument.type, argument.data));
      views.push_back(copies.back().view());
    }
    replay(plan, state, views, results, context_, nullptr);
  }
  const ReferenceBlock& block_;
  RunState& state_;
  const RunContext& context_;
};

void run_reference(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const ReferenceBlock*>(memory);
  for (uint32_t i = 0; i < block.input_count; ++i) frame.views[i] = {block.types[i], frame.at(block.refs[i])};
  const Ref* refs = block.refs + block.input_count;
  const TensorType* const* types = block.types + block.input_count;
  for (uint32_t i = 0; i < block.output_count; ++i) frame.targets[i] = {types[i], frame.at(refs[i])};
  PlanRunner runner(block, frame);
  EvalContext context{block.attributes,
                      {frame.views, block.input_count},
                      {frame.targets, block.output_count},
                      {block.regions, block.region_count},
                      &runner,
                      frame.context,
                      frame.failure};
  block.op->eval(context);
}

struct KernelBlock {
  void (*run)(const KernelCall&);
  const void* params;
  uint32_t input_count, output_count;
  const Ref* refs;
  Ref workspace;
};

// Inlined: a plan of small arrays would see a second call a kernel.
[[gnu::always_inline]] inline void run_kernel_as(void (*run)(const KernelCall&), const KernelBlock& block,
                                                 const Frame& frame, const Epilogue& epilogue,
                                                 BegunExchange* begun) {
  for (uint32_t i = 0; i < block.input_count; ++i) frame.in[i] = frame.at(block.refs[i]);
  for (uint32_t i = 0; i < block.output_count; ++i)
    frame.out[i] = frame.at(block.refs[block.input_count + i]);
  run({frame.context, frame.failure, block.params, frame.in, frame.out, frame.at(block.workspace), epilogue,
       begun});
}
void run_kernel(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const KernelBlock*>(memory);
  run_kernel_as(block.run, block, frame, {}, nullptr);
}

struct SplitBlock {
  KernelBlock kernel;
  void (*end)(const KernelCall&);
};
// The first that has begun and not ended is the one whose end comes next.
void begin_kernel(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const SplitBlock*>(memory);
  if (frame.failure->failed()) return;
  RunState& state = *frame.state;
  BegunExchange& begun = state.exchanges[state.begun];
  begun = {};
  run_kernel_as(block.kernel.run, block.kernel, frame, {}, &begun);
  if (!frame.failure->failed()) ++state.begun;
}
void end_kernel(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const SplitBlock*>(memory);
  RunState& state = *frame.state;
  if (frame.failure->failed()) return;
  run_kernel_as(block.end, block.kernel, frame, {}, &state.exchanges[state.ended]);
  ++state.ended;
}

struct FollowedBlock {
  Step kernel, tiles;
};

void run_followed(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const FollowedBlock*>(memory);
  struct Context {
    const void* tiles;
    const Frame& frame;
  } const context{block.tiles.block, frame};
  const auto follow = [](const void* memory, int64_t first, int64_t last) {
    const auto& context = *static_cast<const Context*>(memory);
    run_tile_range(context.tiles, context.frame, first, last);
  };
  const auto& kernel = *static_cast<const KernelBlock*>(block.kernel.block);
  run_kernel_as(kernel.run, kernel, frame, {follow, &context}, nullptr);
}

void run_in_turn(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const FollowedBlock*>(memory);
  block.kernel.run(block.kernel.block, frame);
  block.tiles.run(block.tiles.block, frame);
}

struct CopyBlock {
  Ref from, to;
  uint64_t bytes;
};

void run_copy(const void* memory, const Frame& frame) {
  const auto& block = *static_cast<const CopyBlock*>(memory);
  const std::byte* from = frame.at(block.from);
  std::byte* to = frame.at(block.to);
  if (from != to) std::memcpy(to, from, block.bytes);
}

const Ref* join(Blocks& blocks, std::span<const Ref> inputs, std::span<const Ref> outputs) {
  Ref* refs = blocks.make<Ref>(inputs.size() + outputs.size());
  std::copy(outputs.begin(), outputs.end(), std::copy(inputs.begin(), inputs.end(), refs));
  return refs;
}

}  // namespace

Step reference_step(Executable::Plan& plan, const Node& node, std::span<const Ref> inputs,
                    std::span<const Ref> outputs, uint32_t first_region) {
  const Graph& graph = *plan.graph;
  const TensorType** types = plan.blocks.make<const TensorType*>(inputs.size() + outputs.size());
  size_t next = 0;
  for (const ValueId input : graph.inputs(node)) types[next++] = &graph.type(input);
  for (uint32_t i = 0; i < node.result_count; ++i) types[next++] = &graph.type(node.first_result + i);
  auto* block = plan.blocks.make<ReferenceBlock>();
  *block = {node.op,
            node.attributes.get(),
            graph.regions(node).data(),
            plan.regions.data() + first_region,
            node.region_count,
            first_region,
            static_cast<uint32_t>(inputs.size()),
            static_cast<uint32_t>(outputs.size()),
            join(plan.blocks, inputs, outputs),
            types};
  plan.max_operands = std::max({plan.max_operands, inputs.size(), outputs.size()});
  return {run_reference, block};
}

Step kernel_step(Executable::Plan& plan, const PreparedKernel& kernel, std::span<const Ref> inputs,
                 std::span<const Ref> outputs, Ref workspace) {
  auto* block = plan.blocks.make<KernelBlock>();
  *block = {kernel.run,
            kernel.params.get(),
            static_cast<uint32_t>(inputs.size()),
            static_cast<uint32_t>(outputs.size()),
            join(plan.blocks, inputs, outputs),
            workspace};
  plan.max_operands = std::max({plan.max_operands, inputs.size(), outputs.size()});
  return {run_kernel, block};
}

SplitSteps split_steps(Executable::Plan& plan, const PreparedKernel& kernel, std::span<const Ref> inputs,
                       std::span<const Ref> outputs, Ref workspace) {
  PreparedKernel first = kernel;
  first.run = kernel.begin;
  auto* block = plan.blocks.make<SplitBlock>();
  *block = {*static_cast<const KernelBlock*>(kernel_step(plan, first, inputs, outputs, workspace).block),
            kernel.end};
  ++plan.collectives;
  return {{begin_kernel, block}, {end_kernel, block}};
}

Step followed_step(Executable::Plan& plan, Step kernel, bool takes_epilogue, Step tiles) {
  auto* block = plan.blocks.make<FollowedBlock>();
  *block = {kernel, tiles};
  return {takes_epilogue ? run_followed : run_in_turn, block};
}

Step copy_step(Executable::Plan& plan, Ref from, Ref to, uint64_t bytes) {
  auto* block = plan.blocks.make<CopyBlock>();
  *block = {from, to, bytes};
  return {run_copy, block};
}

}  // namespace espalier
