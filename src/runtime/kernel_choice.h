// How a node that has a step of its own runs: by a kernel, or by its reference body.
#pragma once

#include <list>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/constant_layout.h"
#include "runtime/fusion.h"

namespace espalier {

struct KernelChoice {
  std::vector<ValueId> roots;            // per input: what is read from memory
  std::vector<const TensorType*> types;  // of the inputs, as they lie in memory
  std::list<TensorType> cast_types;      // those of inputs that the kernel casts
  std::vector<const void*> splats;       // of an input that the kernel updates: its one element, else null
  std::vector<const TensorType*> result_types;
  PreparedKernel kernel;     // no `run`: the reference body
  bool elementwise = false;  // a reference body that reads element i before it writes it

  // Whether result `index` may be written over `root`, which it reads.
  bool overwrites(uint32_t index, ValueId root) const;
};

// Raises UnsupportedError[compile.collective] where ranks would have to meet in a reference body.
KernelChoice choose_kernel(const Graph& graph, const Units& units, const Node& node,
                           const ConstantLayout& constants, const CompileOptions& options);

}  // namespace espalier
