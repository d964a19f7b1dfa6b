// A call of a traced program: its arguments and variables bound to the inputs of what a place has made of it.
#pragma once

#include <span>
#include <vector>

#include "eager/traced_graph.h"
#include "place/place.h"

namespace espalier {

// A program that was traced, and of each update the old value of its variable, whose place it may take.
struct TracedPairs {
  explicit TracedPairs(TracedGraph program);
  const TracedGraph program;
  const std::vector<Alias> pairs;
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

  std::vector<const Tensor*> inputs_;
  std::vector<char> donated_;
  std::vector<Tensor> outputs_;
};

// Brings a variable to a device, where it stays.
void bring(VariableState& variable, Device& device);

}  // namespace espalier
