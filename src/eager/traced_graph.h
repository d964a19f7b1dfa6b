// Programs that were traced, and rewrites of them: what stands between a trace and its plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eager/observations.h"

namespace espalier {

struct NamedTensor {
  std::string name;
  Tensor value;
};
using NamedTensors = std::vector<NamedTensor>;

struct NamedType {
  std::string name;
  TensorType type;
};

// What a program observes of its rows: an Observation whose increments are results of these names.
struct TracedObservation {
  Observation how;
  std::vector<std::string> increments;
};

// Whether a result of this name is a gradient: add_gradients() calls it "gradient/" and its variable.
inline bool is_gradient(std::string_view result) { return result.starts_with("gradient/"); }

// A graph of arguments, then variables; it gives results, then new values of variables.
struct TracedGraph {
  std::shared_ptr<const Graph> graph;
  std::vector<VariablePtr> variables, updated;  // in the order of its inputs and outputs
  size_t results = 0;
  std::vector<TracedObservation> observations;                 // that are not folded yet
  std::vector<std::pair<VariablePtr, std::string>> gradients;  // results that are these variables'
  Structures structures;                                       // what it depends on, rewrites included
  // In a rewrite, where there is a tracer to ask: what this one would be for arguments of other types, as of
  // one row. `types` are those of the trace, before rewrites add or bind some; the ones before this one are
  // done to it. It makes no variables.
  std::function<TracedGraph(std::span<const TensorType> types)> retrace = {};

  std::vector<NamedType> arguments() const;
  std::vector<std::string> result_names() const;
  // Raises InternalError where there is no such result.
  size_t result_number(const std::string& name) const;
  // The names of the inputs that `variables` are: paths, with a number where two are equal.
  std::vector<std::string> variable_names() const;
};

// Names the increments "observation/" and the path of the first variable, and of those beyond the variables
// that and a number, and adds them to results.
std::vector<TracedObservation> name_observations(const ObservationScope& scope, NamedTensors& results);

// Traces `body`. `again`: it was traced before, so that it makes no variables.
TracedGraph trace_graph(const std::string& name, bool again, std::span<const NamedType> arguments,
                        const std::function<NamedTensors(std::span<const Tensor>)>& body);

// The nodes of a traced graph once more, in the trace that is under construction, with their locations.
class Inlined {
 public:
  // Variables are read as the trace has them now.
  Inlined(const TracedGraph& from, std::span<const Tensor> arguments);
  // The same, with gradients of the result `target`, weighed by `seed`, with respect to its variables of
  // these numbers.
  Inlined(const TracedGraph& from, std::span<const Tensor> arguments, const std::string& target,
          const Tensor& seed, std::span<const size_t> variables);

  // Undefined where there is no such result.
  Tensor result(const std::string& name) const;
  void assign_updates() const;

  struct Update {
    Variable variable;
    Tensor next;
  };
  NamedTensors results;
  std::vector<Update> updates;    // not assigned yet
  std::vector<Tensor> gradients;  // undefined for variables that the target does not depend on

 private:
  void take(const TracedGraph& from, const std::vector<Tensor>& outputs);
};

// How a rewrite changes the signature of a program, by names.
struct SignatureChange {
  std::vector<std::string> added_arguments, bound_arguments, added_results, dropped_results;
  bool operator==(const SignatureChange&) const = default;
};
// Names are sorted.
SignatureChange signature_change(const TracedGraph& before, const TracedGraph& after);

struct Rewritten {
  TracedGraph program;
  SignatureChange change;
};

// A rewrite of a traced program, its options inside: it may change what the program computes, and its
// signature as it says. Those of a step of training stand before add_gradients (per example, synchronised
// statistics) or behind it (buckets, clipping, noise). Passes (passes/pass.h) come later, and keep every bit.
struct Rewrite {
  std::string name;  // as `espalier graph --after` calls it
  // `again`: the program was rewritten before, so that this makes no variables.
  std::function<Rewritten(const TracedGraph& program, bool again)> run;
};
using Rewrites = std::vector<std::shared_ptr<const Rewrite>>;

// Adds the argument "seed", which weighs the result `target`, and behind the results the gradients of that
// with respect to the variables that `of` gives, by name: "gradient/" and the variable. Those that the target
// does not depend on have none.
Rewrite add_gradients(std::string target, std::function<std::vector<Variable>()> of);
// Folds increments into the variables that observations are kept in.
Rewrite fold_observations();
// Drops all results but these.
Rewrite keep_results(std::vector<std::string> names);

// The program before its rewrites, as `espalier graph --after` calls it.
inline constexpr const char* kTraced = "trace";
// Runs them in order and verifies the graph after each. Raises InternalError for a change of the signature
// that its rewrite does not say. Ends after the one called `after`, before all for kTraced, if that is not
// empty. `program.retrace`, if there is one, gives traces before all rewrites.
TracedGraph rewrite(TracedGraph program, const Rewrites& rewrites, bool again, const std::string& after = "");

}  // namespace espalier
