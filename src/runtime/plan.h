// The inside of an executable: steps and what they need. Steps hold {slot, offset}, never addresses; a run is
// an arena and a table of slots.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "base/failure.h"
#include "base/object_pool.h"
#include "espalier/run_context.h"
#include "ir/graph.h"
#include "kernels/exchange.h"
#include "runtime/executable.h"
#include "runtime/memory.h"

namespace espalier {

struct RunState;

// Where a value lies: a slot of the run's table, and a distance from it.
struct Ref {
  uint32_t slot = kNone;
  uint64_t offset = 0;
};

// What a step sees while it runs.
struct Frame {
  std::byte* const* slots;
  ArrayView* views;
  MutableArrayView* targets;
  const void** in;
  void** out;
  RunState* state;
  const RunContext* context;
  Failure* failure;

  std::byte* at(const Ref& ref) const { return slots[ref.slot] + ref.offset; }
};

struct Step {
  void (*run)(const void* block, const Frame& frame);
  const void* block;
};

// Argument blocks: trivially destructible, made once, never moved.
class Blocks {
 public:
  template <class T>
  T* make(size_t count = 1) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (take(sizeof(T) * count)) T[count];
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kChunk = size_t{1} << 16;
  void* take(size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > left_) {
      left_ = bytes > kChunk ? bytes : kChunk;
      bytes_ += left_;
      chunks_.push_back(std::make_unique<std::byte[]>(left_));
      next_ = chunks_.back().get();
    }
    std::byte* out = next_;
    next_ += bytes;
    left_ -= bytes;
    return out;
  }
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  size_t left_ = 0, bytes_ = 0;
};

// Slots: the arena, the small constants, memory that other ranks reach, then large constants, inputs,
// outputs.
inline constexpr uint32_t kArenaSlot = 0, kConstantSlot = 1, kExchangeSlot = 2, kFirstFixedSlot = 3;

struct Executable::Plan {
  std::shared_ptr<const Graph> graph;
  std::vector<Step> steps;
  // Steps that may fail: no array outside of the run is written before the last of them has passed.
  std::vector<uint32_t> fences;
  std::vector<NodeId> step_nodes;    // per step its first node; kNone for a copy
  std::vector<uint32_t> step_units;  // per step its unit; kNone for a copy, and where a collective begins
  size_t collectives = 0;            // that have a step where they begin, and one where they end
  // For profiles: per step, ops that run by their reference bodies; how units were found.
  std::vector<uint16_t> reference_ops;
  bool fused = true, casts = true;
  Blocks blocks;
  std::vector<std::shared_ptr<const void>> params;  // owned by kernels' blocks
  std::vector<std::shared_ptr<const Executable>> regions;
  Buffer constants;
  std::vector<Buffer> large_constants;
  uint32_t first_input = 0, first_output = 0, slot_count = 0;
  uint64_t arena_bytes = 0, exchange_bytes = 0, constant_bytes = 0, large_constant_bytes = 0;
  bool exchanges = false;   // it has such bytes, or a region has
  bool meets = false;       // other ranks: it has a collective, or a region has
  size_t max_operands = 0;  // of one step
  // Input i may lie exactly where output donated_to[i] lies; kNone: nowhere near any output.
  std::vector<uint32_t> donated_to;
  std::vector<size_t> input_bytes, output_bytes;
  std::vector<LiveRange> live_ranges;  // kept on request

  mutable ObjectPool<RunState> states;  // of finished runs
};

// What one run owns: kept for the next run of the plan.
struct RunState {
  RunState(const Executable::Plan& plan, const RunContext& context);
  Buffer arena;
  std::shared_ptr<std::byte[]> exchange;  // of this communicator
  Communicator* communicator;
  std::vector<std::byte*> slots;
  std::vector<ArrayView> views;
  std::vector<MutableArrayView> targets;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<std::unique_ptr<RunState>> regions;  // made when first entered
  std::vector<std::pair<const std::byte*, const std::byte*>> spans;
  // Collectives that have begun in this run, in their order, and how many have, and have ended.
  std::vector<BegunExchange> exchanges;
  size_t begun = 0, ended = 0;
  Failure failure;  // of a step; such a state is not used again
};

// Runs without checks on arrays that do not overlap. `state` is used by nothing else meanwhile. Raises
// RunError[run.failed] where a step failed. `events`: told of the steps; may be null.
void replay(const Executable::Plan& plan, RunState& state, std::span<const ArrayView> inputs,
            std::span<const MutableArrayView> outputs, const RunContext& context, RunEvents* events);

[[noreturn]] void throw_failed(const Executable::Plan& plan, uint32_t step, const Failure& failure);

// Calls each(step, its number) for the steps of a plan from `first` to before `last` in turn, up to one that
// failed.
template <class Each>
void run_steps(const Executable::Plan& plan, const Frame& frame, Each each, size_t first, size_t last) {
  const Step* const steps = plan.steps.data();
  size_t i = first;
  for (const uint32_t fence : plan.fences) {
    if (fence >= last) break;
    for (; i <= fence; ++i) each(steps[i], i);
    if (frame.state->failure.failed()) throw_failed(plan, fence, frame.state->failure);
  }
  for (; i < last; ++i) each(steps[i], i);
}
template <class Each>
void run_steps(const Executable::Plan& plan, const Frame& frame, Each each) {
  run_steps(plan, frame, each, 0, plan.steps.size());
}

}  // namespace espalier
