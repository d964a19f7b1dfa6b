// What ranks compare of a collective, and what they say where it differs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <espalier/communicator.h>

namespace espalier {

// The kinds of Collective, in their order, and any().
enum class CallKind : uint16_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kBarrier, kAny };
// Whether ranks give elements.
inline bool has_data(CallKind kind) { return kind < CallKind::kBarrier; }
// As StableHLO writes it.
std::string_view kind_name(CallKind kind);

// Of the programs that a rank runs: which call its collectives belong to.
struct ProgramCall {
  uint64_t number = 0;
  std::string name = {};
  void begin(std::string_view program) {
    ++number;
    name = program;
  }
  // One that another communicator hands on has its own.
  void mark(Collective& what) const {
    if (what.call == 0) what.call = number, what.program = name;
  }
};

// Of kind, name, type, element, count, root and the call of a program; equal where ranks make the same call.
uint64_t fingerprint(CallKind kind, const Collective& what);

// Raises ValueError[comm.call] for one that cannot be among `world` ranks.
void check_call(const Collective& what, int world);

// `all_reduce "gradients/1" of 1000 f32 sum`.
std::string collective_text(CallKind kind, std::string_view name, std::string_view type, uint64_t count,
                            int root);

// `call 8: "step"`; "" where a call is not told.
std::string call_text(uint64_t call, std::string_view program);

// What one rank calls.
struct RankCall {
  uint64_t fingerprint = 0;
  std::string text;
  std::string call = {};  // call_text(), of a program that it belongs to
};
// "rank 2 calls A where ranks 0, 1, 3 call B": the ranks that most do not agree with come first. `calls` in
// the order of ranks, of which the first is `first`. Of which calls of programs they are is said where those
// differ.
std::string mismatch_text(const std::vector<RankCall>& calls, int first = 0);

}  // namespace espalier
