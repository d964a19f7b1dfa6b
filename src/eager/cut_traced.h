// A traced program cut in two at values with names.
#pragma once

#include <string>
#include <vector>

#include "eager/traced_graph.h"

namespace espalier {

// In a trace: values that a part of a batch gives; from here on they are those of all parts together. What
// runs in one piece has one part. One call a trace.
std::vector<Tensor> meet_parts(const std::vector<Tensor>& values);

struct CutTraced {
  TracedGraph part, rest;
};
// What computes the values that a program has given to meet_parts(), as its results `names`, and the rest,
// whose arguments they are. The first takes all arguments and updates nothing. What depends on no argument is
// computed wherever it is needed. The graph of the rest is called `rest_name`. Raises InternalError where the
// rest depends on an argument otherwise.
CutTraced cut_traced(const TracedGraph& program, std::span<const std::string> names,
                     const std::string& rest_name);

}  // namespace espalier
