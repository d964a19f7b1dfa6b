#include "eager/bound_call.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/format.h"
#include "espalier/error.h"
#include "place/device_place.h"

namespace espalier {
namespace {

// Of VariableState::updating, and of values that calls on devices bring there.
std::mutex& moves_mutex() {
  static std::mutex one;
  return one;
}
std::condition_variable& moves_changed() {
  static std::condition_variable one;
  return one;
}

// Of calls on a device: while one lives no other thread brings or takes a variable that a program updates.
// Programs of two models may share some, as the default generator's.
class UpdateTurn {
 public:
  // `take` runs when it is its turn.
  template <class F>
  UpdateTurn(const TracedGraph& program, const F& take) : program_(program) {
    std::unique_lock lock(moves_mutex());
    moves_changed().wait(lock, [&] {
      return std::ranges::none_of(program.variables,
                                  [](const VariablePtr& variable) { return variable->updating; });
    });
    take();
    for (const VariablePtr& variable : program.updated) variable->updating = true;
  }
  ~UpdateTurn() {
    {
      const std::lock_guard lock(moves_mutex());
      for (const VariablePtr& variable : program_.updated) variable->updating = false;
    }
    moves_changed().notify_all();
  }
  UpdateTurn(const UpdateTurn&) = delete;
  UpdateTurn& operator=(const UpdateTurn&) = delete;

 private:
  const TracedGraph& program_;
};

std::vector<Alias> pairs_of(const TracedGraph& program, std::span<const size_t> donated) {
  const Graph& graph = *program.graph;
  const size_t arguments = graph.inputs().size() - program.variables.size();
  std::vector<Alias> out;
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const auto it = std::ranges::find(program.variables, program.updated[i]);
    if (it != program.variables.end())
      out.push_back({arguments + static_cast<size_t>(it - program.variables.begin()), program.results + i});
  }
  std::vector<char> taken(program.results, false);
  for (const size_t argument : donated) {
    if (argument >= arguments)
      throw ValueError("function.donate", cat("argument ", argument, " is to be donated, and \"",
                                              graph.name(), "\" takes ", counted(arguments, "argument")));
    const TensorType& type = graph.type(graph.inputs()[argument].value);
    size_t result = 0;
    while (result < program.results && (taken[result] || graph.type(graph.outputs()[result].value) != type))
      ++result;
    if (result == program.results)
      throw ValueError("function.donate", cat("argument ", argument, " of \"", graph.name(),
                                              "\" is donated, and no free result is ", type, " as it is"));
    taken[result] = true;
    out.push_back({argument, result});
  }
  return out;
}

}  // namespace

void bring(VariableState& variable, Device& device) {
  RemoteArrayPtr now = array_on(variable.value, device);
  if (now != variable.value.node()->remote()) variable.value = make_remote(std::move(now));
}

Tensor value_beside_calls(const VariableState& variable) {
  std::unique_lock lock(moves_mutex());
  moves_changed().wait(lock, [&] { return !variable.updating; });
  return variable.value;
}

TracedPairs::TracedPairs(TracedGraph traced, std::span<const size_t> donated)
    : program(std::move(traced)),
      donated(donated.begin(), donated.end()),
      pairs(pairs_of(program, donated)) {}

// What nobody else holds.
void BoundCall::donate(std::span<const TracedPairs* const> traced) {
  size_t first = 0;
  for (const TracedPairs* each : traced) {
    const size_t arguments = each->arguments();
    for (const Alias& pair : each->pairs) {
      const size_t input = first + pair.input;
      if (pair.input >= arguments) {
        donated_[input] = sole_owner(*inputs_[input]);
        continue;
      }
      // The caller holds it too, and has given it away.
      const auto& node = inputs_[input]->node();
      const auto same = [&](const Tensor* other) { return other->node() == node; };
      donated_[input] = !node->kept() && node->owns_array() && std::ranges::count_if(inputs_, same) == 1;
    }
    first += each->program.graph->inputs().size();
  }
}

std::vector<Tensor> BoundCall::results_of(const TracedPairs& traced, size_t first, size_t input) {
  std::vector<Tensor> out;
  out.reserve(traced.program.results);
  for (size_t i = 0; i < traced.program.results; ++i) out.push_back(std::move(outputs_[first + i]));
  for (const Alias& pair : traced.pairs) {
    if (pair.input >= traced.arguments() || out[pair.output].defined()) continue;
    const TensorNode& node = *inputs_[input + pair.input]->node();
    out[pair.output] = make_concrete(Literal(node.type, node.literal().buffer()));
  }
  for (const size_t argument : traced.donated) {
    const TensorNode& node = *inputs_[input + argument]->node();
    if (!node.kept()) node.donate(traced.program.graph->name());
  }
  return out;
}

void BoundCall::run(std::span<const TracedPairs* const> traced, const Place& place, const Program& program,
                    std::span<const std::span<const Tensor>> arguments, const RunContext& context,
                    std::span<std::vector<Tensor>> results) {
  inputs_.clear();
  size_t outputs = 0;
  for (size_t i = 0; i < traced.size(); ++i) {
    for (const Tensor& argument : arguments[i]) inputs_.push_back(&argument);
    for (const VariablePtr& variable : traced[i]->program.variables) inputs_.push_back(&variable->value);
    outputs += traced[i]->program.results + traced[i]->program.updated.size();
  }
  donated_.assign(inputs_.size(), false);
  // Of values that lie on a device: another call may bring one that none updates elsewhere.
  std::vector<Tensor> held;
  std::optional<UpdateTurn> turn;
  if (place.device) {
    turn.emplace(traced[0]->program, [&] {
      for (const VariablePtr& variable : traced[0]->program.variables) bring(*variable, *place.device);
      donate(traced);
      held.reserve(inputs_.size());
      for (const Tensor*& input : inputs_) input = &held.emplace_back(*input);
    });
  } else {
    donate(traced);
  }
  outputs_.resize(outputs);
  program.run(inputs_, donated_, outputs_, context);
  size_t input = 0, output = 0;
  for (size_t i = 0; i < traced.size(); ++i) {
    const TracedGraph& own = traced[i]->program;
    results[i] = results_of(*traced[i], output, input);
    output += own.results;
    for (const VariablePtr& variable : own.updated) {
      if (outputs_[output].defined()) variable->value = std::move(outputs_[output]);
      ++output;
    }
    input += own.graph->inputs().size();
  }
  outputs_.clear();
}

}  // namespace espalier
