// A call of a traced function that is about to run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "eager/traced_graph.h"

namespace espalier {

// By the arguments of the first replica here.
struct TracedCall {
  const std::string& name;
  std::span<const TensorType> signature;
  const TracedGraph& program;  // before passes
};
using BeforeCall = std::function<void(const TracedCall& call)>;

}  // namespace espalier
