#include "eager/traced_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.h"
#include "grad/grad.h"
#include "ir/sink.h"

namespace espalier {
namespace {

Trace& current_trace_of(const TracedGraph& program) {
  Trace* const trace = Trace::current();
  if (!trace || &Sink::current() != &trace->builder())
    throw InternalError(cat("graph ", program.graph->name(), " is inlined outside of a trace"));
  return *trace;
}

// The inputs of a graph in the trace under construction.
std::vector<Tensor> inputs_in(Trace& trace, const TracedGraph& from, std::span<const Tensor> arguments) {
  std::vector<Tensor> out;
  size_t argument = 0, variable = 0;
  for (const GraphInput& input : from.graph->inputs()) {
    if (input.kind == InputKind::kVariable) {
      out.push_back(trace.read(from.variables.at(variable++)));
    } else if (argument < arguments.size()) {
      out.push_back(arguments[argument++]);
    } else {
      break;
    }
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<NamedType>& arguments) {
  std::vector<std::string> out;
  for (const NamedType& argument : arguments) out.push_back(argument.name);
  return out;
}

// What `a` has and `b` has not.
std::vector<std::string> without(std::vector<std::string> a, std::vector<std::string> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<std::string> out;
  std::ranges::set_difference(a, b, std::back_inserter(out));
  return out;
}

}  // namespace

std::vector<NamedType> TracedGraph::arguments() const {
  std::vector<NamedType> out;
  for (const GraphInput& input : graph->inputs()) {
    if (input.kind == InputKind::kArgument) out.push_back({input.name, graph->type(input.value)});
  }
  return out;
}

std::vector<std::string> TracedGraph::result_names() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < results; ++i) out.push_back(graph->outputs()[i].name);
  return out;
}

size_t TracedGraph::result_number(const std::string& name) const {
  const std::vector<std::string> names = result_names();
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) throw InternalError(cat("graph ", graph->name(), " has no result ", name));
  return static_cast<size_t>(at - names.begin());
}

std::vector<std::string> TracedGraph::variable_names() const {
  std::vector<std::string> out;
  for (const GraphInput& input : graph->inputs()) {
    if (input.kind == InputKind::kVariable) out.push_back(input.name);
  }
  return out;
}

std::vector<TracedObservation> name_observations(const ObservationScope& scope, NamedTensors& results) {
  std::vector<TracedObservation> out;
  std::map<std::string, int> copies;
  for (const Observation& observation : scope.observations()) {
    TracedObservation traced{observation, {}};
    traced.how.increments.clear();
    for (size_t i = 0; i < observation.increments.size(); ++i) {
      const bool own = i < observation.variables.size();
      std::string name = cat("observation/", observation.variables[own ? i : 0].path());
      if (!own) name += cat("/", i);
      if (const int copy = copies[name]++) name += cat("#", copy + 1);
      traced.increments.push_back(name);
      results.push_back({name, observation.increments[i]});
    }
    out.push_back(std::move(traced));
  }
  return out;
}

TracedGraph trace_graph(const std::string& name, bool again, std::span<const NamedType> arguments,
                        const std::function<NamedTensors(std::span<const Tensor>)>& body) {
  Trace trace(name, again);
  const SinkScope scope(trace.builder());
  std::vector<Tensor> inputs;
  for (const NamedType& argument : arguments)
    inputs.push_back(trace.builder().argument(argument.name, argument.type));
  const NamedTensors results = body(inputs);
  for (const NamedTensor& result : results) trace.builder().result(result.name, result.value);
  TracedGraph out;
  out.results = results.size();
  out.graph = trace.finish();
  out.variables = trace.variables();
  out.updated = trace.updated();
  out.structures = trace.structures();
  return out;
}

Inlined::Inlined(const TracedGraph& from, std::span<const Tensor> arguments) {
  Trace& trace = current_trace_of(from);
  Rewriter rewriter(*from.graph, trace.builder(), inputs_in(trace, from, arguments));
  for (const Node& node : from.graph->nodes()) rewriter.copy(node);
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : from.graph->outputs()) outputs.push_back(rewriter.mapped(output.value));
  take(from, outputs);
}

Inlined::Inlined(const TracedGraph& from, std::span<const Tensor> arguments, const std::string& target,
                 const Tensor& seed, std::span<const size_t> variables) {
  Trace& trace = current_trace_of(from);
  std::vector<size_t> places, sources;
  for (size_t i = 0; i < from.graph->inputs().size(); ++i) {
    if (from.graph->inputs()[i].kind == InputKind::kVariable) places.push_back(i);
  }
  for (const size_t variable : variables) sources.push_back(places.at(variable));
  WithGradients all = append_with_gradients(trace.builder(), *from.graph, inputs_in(trace, from, arguments),
                                            from.result_number(target), seed, sources);
  take(from, all.outputs);
  gradients = std::move(all.gradients);
}

void Inlined::take(const TracedGraph& from, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < from.results; ++i) results.push_back({from.graph->outputs()[i].name, outputs[i]});
  for (size_t i = 0; i < from.updated.size(); ++i)
    updates.push_back({Variable(from.updated[i]), outputs[from.results + i]});
}

void Inlined::assign_updates() const {
  for (const Update& update : updates) Variable(update.variable).assign(update.next);
}

Tensor Inlined::result(const std::string& name) const {
  const auto at = std::ranges::find(results, name, &NamedTensor::name);
  return at == results.end() ? Tensor() : at->value;
}

Rewrite add_gradients(std::string target, std::function<std::vector<Variable>()> of) {
  const auto run = [target = std::move(target), of = std::move(of)](const TracedGraph& program, bool again) {
    std::vector<NamedType> arguments = program.arguments();
    const GraphOutput& output = program.graph->outputs()[program.result_number(target)];
    arguments.push_back({"seed", program.graph->type(output.value)});
    Rewritten out;
    out.change.added_arguments = {"seed"};
    std::vector<std::pair<VariablePtr, std::string>> gradients;
    out.program = trace_graph(program.graph->name(), again, arguments, [&](std::span<const Tensor> in) {
      std::vector<size_t> wanted;
      for (const Variable& variable : of()) {
        const auto input = std::ranges::find(program.variables, variable.state());
        if (input != program.variables.end())
          wanted.push_back(static_cast<size_t>(input - program.variables.begin()));
      }
      Inlined all(program, in.first(in.size() - 1), target, in.back(), wanted);
      all.assign_updates();
      const std::vector<std::string> names = program.variable_names();
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (!all.gradients[i].defined()) continue;
        out.change.added_results.push_back(cat("gradient/", names[wanted[i]]));
        gradients.emplace_back(program.variables[wanted[i]], out.change.added_results.back());
        all.results.push_back({out.change.added_results.back(), all.gradients[i]});
      }
      return all.results;
    });
    out.program.gradients = std::move(gradients);
    return out;
  };
  return {"add_gradients", run};
}

Rewrite fold_observations() {
  const auto run = [](const TracedGraph& program, bool again) {
    Rewritten out;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined all(program, in);
          all.assign_updates();
          for (const TracedObservation& observed : program.observations) {
            std::vector<Tensor> now, increments;
            for (const Variable& variable : observed.how.variables) now.push_back(variable.state()->read());
            for (const std::string& name : observed.increments) increments.push_back(all.result(name));
            const std::vector<Tensor> next = folded(observed.how, now, increments);
            for (size_t i = 0; i < now.size(); ++i) Variable(observed.how.variables[i]).assign(next[i]);
            auto& dropped = out.change.dropped_results;
            dropped.insert(dropped.end(), observed.increments.begin(), observed.increments.end());
          }
          std::erase_if(all.results, [&](const NamedTensor& result) {
            return std::ranges::find(out.change.dropped_results, result.name) !=
                   out.change.dropped_results.end();
          });
          return all.results;
        });
    return out;
  };
  return {"fold_observations", run};
}

Rewrite keep_results(std::vector<std::string> names) {
  const auto run = [names = std::move(names)](const TracedGraph& program, bool again) {
    Rewritten out;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          const Inlined all(program, in);
          all.assign_updates();
          NamedTensors kept;
          for (const NamedTensor& result : all.results) {
            if (std::ranges::find(names, result.name) != names.end())
              kept.push_back(result);
            else
              out.change.dropped_results.push_back(result.name);
          }
          return kept;
        });
    return out;
  };
  return {"keep_results", run};
}

SignatureChange signature_change(const TracedGraph& before, const TracedGraph& after) {
  const auto old_arguments = names_of(before.arguments()), new_arguments = names_of(after.arguments());
  const auto old_results = before.result_names(), new_results = after.result_names();
  return {without(new_arguments, old_arguments), without(old_arguments, new_arguments),
          without(new_results, old_results), without(old_results, new_results)};
}

TracedGraph rewrite(TracedGraph program, const Rewrites& rewrites, bool again, const std::string& after) {
  const auto trace = std::exchange(program.retrace, {});
  if (after == kTraced) return program;
  for (size_t i = 0; i < rewrites.size(); ++i) {
    const auto& each = rewrites[i];
    Structures asked;
    if (trace) {
      program.retrace =
          [&, before = Rewrites(rewrites.begin(), rewrites.begin() + i)](std::span<const TensorType> types) {
            TracedGraph other = trace(types);
            other.retrace = trace;
            other = rewrite(std::move(other), before, true);
            asked.add(other.structures);
            return other;
          };
    }
    Rewritten next = each->run(program, again);
    next.program.retrace = {};
    next.program.structures.add(asked);
    next.program.graph->verify();
    SignatureChange& said = next.change;
    for (auto* names :
         {&said.added_arguments, &said.bound_arguments, &said.added_results, &said.dropped_results})
      std::ranges::sort(*names);
    if (signature_change(program, next.program) != said)
      throw InternalError(cat("the rewrite ", each->name, " changes the signature of ", program.graph->name(),
                              " otherwise than it says"));
    next.program.structures.add(program.structures);
    // What is still to be folded.
    const std::vector<std::string> results = next.program.result_names();
    for (TracedObservation& observed : program.observations) {
      if (std::ranges::find(results, observed.increments.front()) != results.end())
        next.program.observations.push_back(std::move(observed));
    }
    for (auto& gradient : program.gradients) {
      if (std::ranges::find(results, gradient.second) != results.end())
        next.program.gradients.push_back(std::move(gradient));
    }
    program = std::move(next.program);
    if (each->name == after) break;
  }
  return program;
}

}  // namespace espalier
