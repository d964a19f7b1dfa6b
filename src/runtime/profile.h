// What each step of a plan costs: counted while plans run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "runtime/executable.h"

namespace espalier {

// The arithmetic of one call, as its op's definition counts it.
double flops_of(const Graph& graph, const Node& node);

// One step of a plan. Arithmetic is what the ops' definitions count; bytes are those of every array it reads
// or writes in memory, once each.
struct StepProfile {
  std::string what;  // "dot_general f32[64,128]", "add, maximum f32[8192]"
  // Ops of the step that ran by their reference bodies.
  int reference_ops = 0;
  double flops = 0, bytes = 0;  // of one run
  double seconds = 0;           // of all runs
  int64_t runs = 0;
};

struct Frame;

// Runs the steps of a plan and tells of each.
void replay_told(const Executable::Plan& plan, const Frame& frame, RunEvents& events);

// Times every step of the plans that this thread runs while it lives, and of those in a context whose events
// it is (one thread at a time); what a region runs counts for the step that owns the region. A timed step
// costs about 50 ns more.
class Profiler final : public RunEvents {
 public:
  Profiler();
  ~Profiler() override;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // The steps of every plan that ran, plan by plan in the order of their first runs.
  std::vector<StepProfile> steps() const;

  // The one of this thread, or null. A run asks once.
  static Profiler* current();
  void on_step(const StepEvent& event) override;

 private:
  struct Counts {
    std::vector<StepProfile> steps;
    std::shared_ptr<const Graph> graph;  // so that no other plan takes its address
  };
  Counts& counts_of(const Executable::Plan& plan);

  Profiler* previous_;
  Counts* now_ = nullptr;  // of the plan that runs
  std::vector<std::unique_ptr<Counts>> plans_;
  std::map<std::tuple<const Graph*, bool, bool>, Counts*> by_plan_;  // and how its units were found
};

}  // namespace espalier
