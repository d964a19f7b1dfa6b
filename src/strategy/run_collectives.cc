// What functions call that Strategy::run() runs.
#include <algorithm>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/strategy.h"
#include "ops/collective.h"
#include "strategy/replicas.h"
#include "strategy/sums.h"

namespace espalier {
namespace {

// Raises StateError[strategy.outside] where one of several replicas of this process has no value of its own.
void require_inside(const char* call, bool traced) {
  const Replicas* const replicas = current_replicas().get();
  if (traced || !replicas || replicas->mesh().count == 1) return;
  throw StateError(
      "strategy.outside",
      cat(call, "() of a value outside of a function that replicas run: here is one value, and there are ",
          replicas->mesh().world, " replicas"),
      "call it in a function that Strategy::run() runs; Strategy::reduce() and gather() take a "
      "PerReplica");
}
bool is_traced(const Tensor& value) { return Trace::current() || !value.concrete(); }

}  // namespace

std::vector<Tensor> strategy::all_reduce(const std::vector<Tensor>& values, ReduceOp op, Location at) {
  const CallScope scope(at);
  require_inside("all_reduce", std::ranges::any_of(values, is_traced));
  if (op == ReduceOp::kSum) return espalier::all_reduce(values);
  if (values.empty()) return {};
  require_mean(values[0].dtype());
  // A program that was traced for some replicas may be run by others: they count themselves.
  std::vector<Tensor> with_count;
  for (const Tensor& value : values) with_count.push_back(widened(value));
  with_count.push_back(full({}, 1, with_count[0].dtype()));
  std::vector<Tensor> out = espalier::all_reduce(with_count);
  const Tensor count = out.back();
  out.pop_back();
  for (Tensor& value : out) value = convert(value / count, values[0].dtype());
  return out;
}

Tensor strategy::all_gather(const Tensor& value, int64_t axis, Location at) {
  const CallScope scope(at);
  require_inside("all_gather", is_traced(value));
  return espalier::all_gather({value}, axis, Trace::replicas())[0];
}

Tensor strategy::broadcast(const Tensor& value, int root, Location at) {
  const CallScope scope(at);
  require_inside("broadcast", is_traced(value));
  const int replicas = Trace::replicas();
  if (root < 0 || root >= replicas)
    throw ValueError("strategy.root", cat("the root is replica ", root, ", and there ",
                                          replicas == 1 ? "is " : "are ", replicas, ", counted from 0"));
  // The first of a group is its root.
  std::vector<int64_t> group{root};
  for (int replica = 0; replica < replicas; ++replica)
    if (replica != root) group.push_back(replica);
  return collective_broadcast({value}, {flat_groups({group})})[0];
}

Tensor strategy::barrier(const Tensor& value, Location at) {
  const CallScope scope(at);
  require_inside("barrier", is_traced(value));
  // One for each that has its value; what is given is chosen by how many there are.
  const std::vector<Tensor> held = optimization_barrier({value, full({}, 1, DType::kU32)});
  const Tensor came = espalier::all_reduce({held[1]})[0];
  return select(compare(came, 0, Comparison::kGT), held[0], constant_like(value.type(), 0));
}

}  // namespace espalier
