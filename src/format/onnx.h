// ONNX files: programs and their weights for other runtimes, and programs that others wrote.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "ir/graph.h"

namespace espalier {

struct OnnxWriteOptions {
  // The same program for another batch size. The size in which the arguments of both differ is then chosen at
  // run time, under the name `batch_symbol`. Without one, every size is fixed.
  const Graph* other_batch = nullptr;
  std::string batch_symbol = "N";
  std::string doc = {};                              // what the file says of itself to people
  std::map<std::string, std::string> metadata = {};  // and to programs: metadata_props
};

// A forward pass as an ONNX model of operator set 17: arguments are its inputs, results its outputs, and
// `variables`, values of the graph's variables by path, its initializers. Composites without an ONNX operator
// of the same meaning are written as their decompositions. Where they differ from ours: an index of argmax
// along NaN is any, log_plus_one and exponential_minus_one are exact to an absolute eps, erfc likewise.
// Raises UnsupportedError[onnx.op] naming an op that ONNX lacks, [onnx.update] for a graph that updates
// variables, [onnx.batch] where something else depends on the batch size, [onnx.size] beyond 2 GiB,
// ValueError[onnx.variable] for a variable without a value.
std::string onnx_bytes(const Graph& graph, const std::map<std::string, Literal>& variables,
                       const OnnxWriteOptions& options = {});

struct OnnxReadOptions {
  // Sizes of the symbols in the shapes of inputs; one that is not named, or has no name, is 1, but for
  // `batch`.
  std::map<std::string, int64_t> sizes = {};
  // The size of an input's first axis that has a symbol which is not named, or no name; 1 for 0.
  int64_t batch = 0;
};

// A graph whose variables are the model's floating-point initializers, and their values by path.
struct OnnxProgram {
  std::shared_ptr<Graph> graph;
  std::map<std::string, Literal> variables;
  std::set<std::string> averages;               // of them: means and variances of BatchNormalization
  std::map<std::string, std::string> metadata;  // OnnxWriteOptions'
};

// The program of an ONNX model of operator sets 11 to 28. Initializers of integers and bool are constants, as
// they are mostly shapes. What depends on constants alone and is small is computed here. Memory stays within
// 64 MiB and 16 times the bytes. Raises FormatError for bytes that are no model and, naming the node, for a
// node that does not follow its operator's rules; UnsupportedError naming the node for what is not read,
// ValueError[onnx.sizes] for a size that no input has.
OnnxProgram parse_onnx(std::span<const std::byte> bytes, const OnnxReadOptions& options = {});

}  // namespace espalier
