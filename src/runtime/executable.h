// Plans: a graph is compiled once and replayed many times.
#pragma once

#include <memory>
#include <vector>

#include "espalier/run_context.h"
#include "ir/alias.h"
#include "ir/graph.h"

namespace espalier {

struct CompileOptions {
  bool fuse = true;          // run chains of elementwise ops tile by tile
  bool reuse_memory = true;  // let values share arena bytes when their lives do not meet
  bool fast_kernels = true;  // false: every op runs its reference body
  bool check = false;        // prove that no two living values share bytes; raises InternalError
  int world = 1;             // of the contexts it will run in: among several, each collective needs a kernel
  // Of these pairs the output may be the very array of the input, in any run. Raises InternalError for types
  // that differ, and an input or output that stands in two.
  std::vector<Alias> donations = {};
  // Of the graph of a region: which it is, so that its collectives have names that those outside have not.
  std::string within = {};
};

// An immutable plan. Any number of threads may run one at once: each run has its own arena.
class Executable {
 public:
  struct Plan;
  explicit Executable(std::unique_ptr<Plan> plan);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // What is run: the compiled graph with composites that have no body of their own inlined.
  const Graph& graph() const;
  // Bytes of intermediate values of one run (without those of regions).
  size_t arena_bytes() const;
  size_t step_count() const;
  // Whether it has collectives, and each begins apart from its end.
  bool begins_apart() const;
  // About how many bytes of memory it holds, with its regions: its graph and steps, all constants, of whom
  // others may hold some, too, and the intermediate values of one run, which are kept for the next. Runs that
  // meet have as many each, and what kernels keep is not counted.
  size_t bytes() const;
  // The arena byte ranges of the plan's values; empty unless compiled with `check`.
  const Plan& plan() const { return *plan_; }

 private:
  std::unique_ptr<Plan> plan_;
};

std::shared_ptr<const Executable> compile(std::shared_ptr<const Graph> graph,
                                          const CompileOptions& options = {});

// Runs on row-major arrays in the order of the graph's signature. An output may be the array of the input
// that was donated to it (CompileOptions::donations); other outputs must not overlap anything. Raises
// ShapeError[run.inputs], ShapeError[run.outputs] or ValueError[run.overlap] before anything is computed, and
// RunError[run.failed] where a fallible op failed: outputs are as they were.
void run(const Executable& executable, std::span<const ArrayView> inputs,
         std::span<const MutableArrayView> outputs, const RunContext& context);
// The same. REQUIRES: what run() checks: who made the outputs and the plan for these types knows.
void run_unchecked(const Executable& executable, std::span<const ArrayView> inputs,
                   std::span<const MutableArrayView> outputs, const RunContext& context);
// A run in two parts, up to where its first collective is waited for, and the rest: meanwhile the caller may
// begin others, or compute. Several end in the order in which they began, as collectives do. Of its steps
// neither a profiler nor the context's events are told.
class BegunRun {
 public:
  // The first part, or all of it where no collective begins apart. `executable` and `context` outlive this.
  // Raises what run() raises.
  BegunRun(const Executable& executable, std::span<const Literal> inputs, const RunContext& context);
  // Of one that has not ended: waits until nobody reads or writes its memory.
  ~BegunRun();
  BegunRun(const BegunRun&) = delete;
  BegunRun& operator=(const BegunRun&) = delete;
  // The second part, once; what the outputs are.
  std::vector<Literal> end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same as run(), on literals.
std::vector<Literal> run(const Executable& executable, std::span<const Literal> inputs,
                         const RunContext& context);

}  // namespace espalier
