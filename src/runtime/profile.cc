#include "runtime/profile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "ir/constant.h"
#include "runtime/fusion.h"
#include "runtime/plan.h"

namespace espalier {
namespace {

using Clock = std::chrono::steady_clock;

thread_local Profiler* current = nullptr;

constexpr size_t kNamedOps = 4;

// A splat is one element, however many it stands for.
size_t bytes_in_memory(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  if (producer == kNone || graph.node(producer).op != &op_constant) return graph.type(value).bytes();
  return static_cast<const ConstantAttributes&>(*graph.node(producer).attributes).value.raw_bytes();
}

// For each value, whether a unit reads it from memory, or an output is it.
std::vector<bool> values_in_memory(const Graph& graph, const Units& units) {
  std::vector<bool> out(graph.value_count());
  for (uint32_t unit = 0; unit < units.count(); ++unit)
    for_each_read(graph, units, unit, [&](ValueId value, bool) { out[value] = true; });
  for (const GraphOutput& output : graph.outputs()) out[units.root[output.value]] = true;
  return out;
}

StepProfile profile_of(const Graph& graph, const Units& units, uint32_t unit,
                       const std::vector<bool>& in_memory) {
  StepProfile out;
  std::vector<ValueId> read;
  std::string ops;
  const auto nodes = units.nodes_of(unit);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph.node(nodes[i]);
    out.flops += flops_of(graph, node);
    if (i < kNamedOps) ops += cat(i ? ", " : "", node.op->name);
    for (uint32_t k = 0; k < node.result_count; ++k) {
      const ValueId result = node.first_result + k;
      if (in_memory[result]) out.bytes += static_cast<double>(graph.type(result).bytes());
    }
  }
  if (nodes.size() > kNamedOps) ops += cat(" and ", nodes.size() - kNamedOps, " more");
  for_each_read(graph, units, unit, [&](ValueId value, bool) { read.push_back(value); });
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (const ValueId value : read) out.bytes += static_cast<double>(bytes_in_memory(graph, value));
  out.what = cat(ops, " ", graph.type(graph.node(nodes.back()).first_result));
  return out;
}

}  // namespace

double flops_of(const Graph& graph, const Node& node) {
  std::vector<const TensorType*> inputs;
  std::vector<TensorType> outputs;
  for (const ValueId input : graph.inputs(node)) inputs.push_back(&graph.type(input));
  for (uint32_t i = 0; i < node.result_count; ++i) outputs.push_back(graph.type(node.first_result + i));
  if (node.op->cost) return node.op->cost(node.attributes.get(), inputs, outputs).flops;
  double elements = 0;
  for (const TensorType& type : outputs) elements += static_cast<double>(type.elements());
  return node.op->flops_per_output * elements;
}

Profiler::Profiler() : previous_(std::exchange(espalier::current, this)) {}
Profiler::~Profiler() { espalier::current = previous_; }
Profiler* Profiler::current() { return espalier::current; }

Profiler::Counts& Profiler::counts_of(const Executable::Plan& plan) {
  Counts*& found = by_plan_[{plan.graph.get(), plan.fused, plan.casts}];
  if (found) return *found;
  plans_.push_back(std::make_unique<Counts>());
  found = plans_.back().get();
  found->graph = plan.graph;
  const Graph& graph = *plan.graph;
  const Units units = find_units(graph, plan.fused, plan.casts);
  const std::vector<bool> in_memory = values_in_memory(graph, units);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.step_units[i] != kNone) {
      found->steps.push_back(profile_of(graph, units, plan.step_units[i], in_memory));
      found->steps.back().reference_ops = plan.reference_ops[i];
    } else if (plan.step_nodes[i] != kNone) {
      found->steps.push_back({.what = cat("begin of ", graph.node(plan.step_nodes[i]).op->name)});
    } else {
      found->steps.push_back({.what = "copy"});
    }
  }
  return *found;
}

void Profiler::on_step(const StepEvent& event) {
  if (event.step == 0) now_ = &counts_of(*static_cast<const Executable::Plan*>(event.plan));
  StepProfile& step = now_->steps[event.step];
  step.seconds += std::chrono::duration<double>(event.end - event.begin).count();
  ++step.runs;
}

void replay_told(const Executable::Plan& plan, const Frame& frame, RunEvents& events) {
  const Graph& graph = *plan.graph;
  auto before = Clock::now();
  run_steps(plan, frame, [&](const Step& step, size_t i) {
    step.run(step.block, frame);
    const auto now = Clock::now();
    const NodeId node = plan.step_nodes[i];
    events.on_step({&plan, graph.name(), node == kNone ? "copy" : graph.node(node).op->name, i,
                    plan.steps.size(), before, now});
    before = now;
  });
}

std::vector<StepProfile> Profiler::steps() const {
  std::vector<StepProfile> out;
  for (const auto& counts : plans_) out.insert(out.end(), counts->steps.begin(), counts->steps.end());
  return out;
}

}  // namespace espalier
