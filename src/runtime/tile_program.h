// Fused elementwise nodes as a program over tiles that stay in the first cache.
#pragma once

#include "runtime/fusion.h"
#include "runtime/plan.h"

namespace espalier {

// Elements [first, last) of a program's step, on this thread.
void run_tile_range(const void* block, const Frame& frame, int64_t first, int64_t last);

// A program before its values have places.
class TileDraft {
 public:
  // `fast` false: every instruction runs its reference body.
  TileDraft(const Graph& graph, const Units& units, uint32_t unit, bool fast);

  struct Load {
    Access access;
    size_t size;           // bytes of an element
    const Literal* splat;  // its one element is all there is
    uint32_t last_read;    // instruction
  };
  const std::vector<Load>& loads() const { return loads_; }
  // The value that instruction i computes.
  ValueId result(uint32_t i) const { return instructions_[i].result; }
  uint32_t size() const { return static_cast<uint32_t>(instructions_.size()); }
  // Instructions without a loop of their own, known once finished.
  uint16_t reference_ops() const { return reference_ops_; }

  // Marks instruction i's value as one to store. `late`: only after every read of the tile.
  void store(uint32_t i, Ref to, bool late);
  // `place` gives the place of a loaded value.
  template <class Place>
  Step finish(Executable::Plan& plan, Place place) {
    std::vector<Ref> refs;
    for (const Load& load : loads_) refs.push_back(load.splat ? Ref{} : place(load.access.value));
    return finish_with(plan, refs);
  }

 private:
  struct Instruction {
    const Node* node;
    ValueId result;
    int operands[3];  // a load, or ~(an instruction)
    uint32_t last_read = 0;
    Ref stored;
    bool late = false;
  };
  Step finish_with(Executable::Plan& plan, std::span<const Ref> refs);

  const Graph& graph_;
  bool fast_;
  int64_t elements_ = 0;
  uint16_t reference_ops_ = 0;
  std::vector<Load> loads_;
  std::vector<Instruction> instructions_;
};

}  // namespace espalier
