#include "eager/bound_call.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

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

std::vector<Alias> pairs_of(const TracedGraph& program) {
  const size_t arguments = program.graph->inputs().size() - program.variables.size();
  std::vector<Alias> out;
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const auto it = std::ranges::find(program.variables, program.updated[i]);
    if (it != program.variables.end())
      out.push_back({arguments + static_cast<size_t>(it - program.variables.begin()), program.results + i});
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

TracedPairs::TracedPairs(TracedGraph traced) : program(std::move(traced)), pairs(pairs_of(program)) {}

// What nobody else holds.
void BoundCall::donate(std::span<const TracedPairs* const> traced) {
  size_t first = 0;
  for (const TracedPairs* each : traced) {
    for (const Alias& pair : each->pairs)
      donated_[first + pair.input] = sole_owner(*inputs_[first + pair.input]);
    first += each->program.graph->inputs().size();
  }
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
  auto output = outputs_.begin();
  for (size_t i = 0; i < traced.size(); ++i) {
    const TracedGraph& own = traced[i]->program;
    results[i].reserve(own.results);
    for (size_t k = 0; k < own.results; ++k) results[i].push_back(std::move(*output++));
    for (const VariablePtr& variable : own.updated) {
      if (output->defined()) variable->value = std::move(*output);
      ++output;
    }
  }
  outputs_.clear();
}

}  // namespace espalier
