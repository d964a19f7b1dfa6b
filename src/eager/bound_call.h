// A call of a traced program: its arguments and variables bound to the inputs of what a place has made of it.
#pragma once

#include <span>
#include <vector>

#include "eager/traced_graph.h"
#include "place/place.h"

namespace espalier {

// A program that was traced, and which inputs give their places to which outputs: of each update the old
// value of its variable, and donated arguments. Raises ValueError[function.donate] for an argument that is
// not there, or that no result has the type of.
struct TracedPairs {
  TracedPairs(TracedGraph program, std::span<const size_t> donated);
  const TracedGraph program;
  const std::vector<size_t> donated;
  const std::vector<Alias> pairs;
  size_t arguments() const { return program.graph->inputs().size() - program.variables.size(); }
};

// Keeps its lists from call to call; used by one at a time.
class BoundCall {
 public:
  // Runs the program of the place's replicas on the arguments of each and keeps the new values of variables;
  // gives the results of each. Variables stay on the place's device, if it has one; one whose value nobody
  // else holds gives its memory to its update. What is refused has changed nothing.
  void run(std::span<const TracedPairs* const> traced, const Place& place, const Program& program,
           std::span<const std::span<const Tensor>> arguments, const RunContext& context,
           std::span<std::vector<Tensor>> results);

 private:
  void donate(std::span<const TracedPairs* const> traced);
  // The results of one, from output `first` on, whose inputs begin at `input`.
  std::vector<Tensor> results_of(const TracedPairs& traced, size_t first, size_t input);

  std::vector<const Tensor*> inputs_;
  std::vector<char> donated_;
  std::vector<Tensor> outputs_;
};

// Brings a variable to a device, where it stays.
void bring(VariableState& variable, Device& device);

}  // namespace espalier
