// What a traced function keeps for one signature: the traced graph, and what places have compiled of it.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/made_once.h"
#include "eager/bound_call.h"
#include "eager/trace.h"
#include "ir/graph_bytes.h"
#include "place/place.h"

namespace espalier {

// What is compiled of it is made when it is first asked for, outside of the function's lock: a compilation
// may take minutes, and calls of other programs do not wait for it.
struct Plan : TracedPairs {
  using TracedPairs::TracedPairs;  // before passes
  const size_t traced_bytes = graph_bytes(*program.graph);
  std::vector<TensorType> signature;
  Structures structures;
  uint64_t context = 0;

  struct Compiled {
    PlaceKey key;
    std::vector<std::weak_ptr<const Plan>> others;  // of the replicas behind the first
    std::unique_ptr<MadeOnce<Program>> program = std::make_unique<MadeOnce<Program>>();
    std::optional<size_t> bytes = 0;  // Program::bytes(), once it is made

    bool is_of(const Place& place, std::span<const std::shared_ptr<Plan>> plans) const {
      const auto is = [](const std::weak_ptr<const Plan>& known, const std::shared_ptr<Plan>& plan) {
        return !known.owner_before(plan) && !plan.owner_before(known);
      };
      return key == place.key && std::ranges::equal(others, plans.subspan(1), is);
    }
  };
  // Behind the function's lock, as what follows.
  std::list<Compiled> compiled;  // for the places that have called it
  bool checked = false;          // that the function captures nothing that changes

  // Of the graph and all programs; nothing where nobody knows of one.
  std::optional<size_t> bytes() const {
    size_t out = traced_bytes;
    for (const Compiled& each : compiled) {
      if (!each.bytes) return std::nullopt;
      out += *each.bytes;
    }
    return out;
  }

  bool takes(std::span<const Tensor> arguments, const RunContext& run) const {
    // Of many plans all but one are told by their shapes.
    return std::ranges::equal(signature, arguments,
                              [](const TensorType& type, const Tensor& x) { return type == x.type(); }) &&
           context == trace_context() && structures.hold(run);
  }
};

}  // namespace espalier
