// A model as one plain C99 file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace espalier {

struct CExportOptions {
  // What every name of the file begins with; its macros begin with the same in capitals. A C identifier.
  std::string name = "model";
  // The caller gives the scratch memory with each call, so that calls may run at once; otherwise it is
  // static.
  bool caller_scratch = false;
  // Lines for the comment at the top of the file: what the columns of the input are, for example.
  std::vector<std::string> notes = {};
};

struct CExport {
  std::string source, header;
};

// The graph as the function
//
//     int NAME_predict(const float *input, float *output);
//
// of one C99 file that includes <stdint.h> and <stddef.h> alone, calls no library (elementary functions are
// its own, their errors stand beside them), allocates nothing and does not recurse. Weights are static const
// arrays; values share scratch memory of NAME_SCRATCH_SIZE bytes. Arguments are parameters in their order
// (input_0, input_1, ... when there are several), then come results (output_0, ...), row-major, of
// NAME_INPUT_SIZE and NAME_OUTPUT_SIZE elements; bool is a uint8_t of 0 or 1. Returns 0, or 1 when a pointer
// is null. Arrays of a call must not overlap. Sums are made in the dtype of their result, so that results
// differ from ours by rounding.
//
// Variables are inputs of the graph by name, or constants already. What depends on constants alone is
// computed by every call: hand in a graph that optimize() has folded. Raises ValueError[c.name] for a name
// that is no C identifier, ValueError[c.variable] for a variable without a value, ShapeError[c.variable] for
// a value of another type, UnsupportedError[c.*] for graphs that update variables, for ops and dtypes (f16,
// bf16) that have no C form, with their place, and for tensors of 2^31 elements or more.
CExport print_c(const Graph& graph, const std::map<std::string, Literal>& variables = {},
                const CExportOptions& options = {});

}  // namespace espalier
