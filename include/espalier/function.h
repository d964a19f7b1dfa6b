// function(f): trace once per signature, then replay.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "espalier/tensor_function.h"

namespace espalier {

class Graph;
class Place;
class RunContext;
class Rewrite;
struct TracedCall;
struct TracedGraph;

struct FunctionOptions {
  std::string name = "function";
  // Least recently used plans are dropped beyond this; at least one is kept. Left out: eight are kept, and on
  // a CPU more, until all hold more than max_plan_bytes together: about what their graphs, steps and
  // constants take, and the intermediate values of a run of each. What a plan takes on a device nobody knows.
  std::optional<size_t> max_plans = {};
  size_t max_plan_bytes = size_t{256} << 20;
  bool check_captures = true;  // trace again on the second call and compare (always in checked builds)
  // Arguments, by their numbers, that a call may overwrite: each gives its memory to the first result of its
  // type that has none yet, as a cache that comes back with a row more. Who reads the tensor afterwards hears
  // StateError[tensor.donated]. What a variable, a tape or another tensor holds, too, is copied instead; a
  // variable and a tape go on reading it. Under a tape nothing is donated.
  std::vector<size_t> donate = {};
  // What is done to the graph between its trace and its plan, in order (docs/decisions/0007-seams.md).
  std::vector<std::shared_ptr<const Rewrite>> rewrites = {};
};

// A C++ function of tensors, traced into a graph at its first call with each signature (dtypes and shapes)
// and replayed afterwards. What the C++ code does besides tensor ops happens at trace time only. C++ values
// that the function captures are constants of the graph; since C++ cannot see them change, the second call
// traces once more and raises StateError[function.capture] naming the first difference. Variables may be made
// in the first trace only (StateError[variable.trace] later), so that each exists once. Inside another traced
// function, a region or a transform the body's ops join those around them. Calls from several
// threads are allowed when the function assigns no variables.
class TracedFunction {
 public:
  using Body = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  TracedFunction(Body body, FunctionOptions options);
  // A function whose program its owner traces and rewrites by options.rewrites, up to the one called `after`,
  // for arguments of these types; `again`: it was traced before, so that it makes no variables now. It is
  // called outside of graphs under construction only.
  using Tracer =
      std::function<TracedGraph(std::span<const TensorType> arguments, bool again, const std::string& after)>;
  TracedFunction(Tracer tracer, FunctionOptions options);

  // As the options have it.
  const std::string& name() const;
  std::vector<Tensor> call(std::span<const Tensor> arguments) const;
  // Makes the plan for arguments like these, so that calls on other threads find it.
  void prepare(std::span<const Tensor> arguments) const;
  // The program on the replicas of a place at once, which meet in its collectives: replica i takes
  // arguments[i]. Each new value of a variable is made once. Gives the results of each; raises what the first
  // one raises that did not wait for others, and then nothing has changed. Of several: called outside of
  // graphs under construction, and not under a tape. `before` is called when the program is known, and before
  // it runs.
  std::vector<std::vector<Tensor>> call_each(std::span<const std::vector<Tensor>> arguments,
                                             const Place& place, const RunContext& context,
                                             const std::function<void(const TracedCall&)>& before = {}) const;
  // Calls `body` while no thread traces this function, as for another look at what its trace runs.
  void between_traces(const std::function<void()>& body) const;
  // How often the body has been traced to make a plan: a number that grows with every call is a program that
  // recompiles all the time.
  size_t traces() const;
  // For who runs the same code in another way. The body is empty where the owner traces the program; copies
  // of a function have one identity, which lives as long as they do.
  const Body& body() const;
  const FunctionOptions& options() const;
  std::shared_ptr<const void> identity() const;
  // The graph for arguments like these, which it traces: before the passes, or after "trace", a rewrite, a
  // pass or a lowering of this CPU's plans. Raises ValueError[function.after] for another name.
  std::shared_ptr<const Graph> graph(std::span<const Tensor> arguments, const std::string& after = "") const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

namespace detail {
template <class F>
struct CallTraits : CallTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct CallTraits<R (C::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};
template <class C, class R, class... A>
struct CallTraits<R (C::*)(A...)> : CallTraits<R (C::*)(A...) const> {};
template <class R, class... A>
struct CallTraits<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};
}  // namespace detail

// A traced function with the argument list and result of the C++ function it was made from. Errors name the
// line of the call.
template <class Result, size_t kArity, class = std::make_index_sequence<kArity>>
class TypedFunction;
template <class Result, size_t kArity, size_t... I>
class TypedFunction<Result, kArity, std::index_sequence<I...>> : public TracedFunction {
  template <size_t>
  using Argument = Operand;

 public:
  using TracedFunction::TracedFunction;
  Result operator()(const Argument<I>&... arguments) const {
    const std::array<Location, kArity> at{arguments.at()...};
    const CallScope scope(kArity ? at[0] : Location{});
    const std::array<Tensor, kArity> inputs{arguments.tensor()...};
    std::vector<Tensor> results = call(inputs);
    if constexpr (std::is_same_v<Result, Tensor>) {
      return results[0];
    } else if constexpr (!std::is_void_v<Result>) {
      return results;
    }
  }
};

// Makes a traced function of a lambda or a C++ function that takes tensors and returns a Tensor, a
// std::vector<Tensor> or nothing.
template <class F>
auto function(F f, FunctionOptions options = {}) {
  using Traits = detail::CallTraits<F>;
  constexpr size_t kArity = std::tuple_size_v<typename Traits::Arguments>;
  auto body = [f = std::move(f)](std::span<const Tensor> inputs) mutable -> std::vector<Tensor> {
    if (inputs.size() != kArity) detail::wrong_argument_count(kArity, inputs.size());
    return [&]<size_t... I>(std::index_sequence<I...>)->std::vector<Tensor> {
      if constexpr (std::is_void_v<typename Traits::Result>) {
        f(inputs[I]...);
        return {};
      } else if constexpr (std::is_same_v<typename Traits::Result, Tensor>) {
        return {f(inputs[I]...)};
      } else {
        return f(inputs[I]...);
      }
    }
    (std::make_index_sequence<kArity>{});
  };
  return TypedFunction<typename Traits::Result, kArity>(std::move(body), std::move(options));
}

}  // namespace espalier
