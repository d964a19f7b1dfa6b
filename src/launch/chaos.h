// Faults that a run is to have, to see what it does then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

enum class ChaosKind : uint8_t {
  kKill,   // ends by signal 9
  kStop,   // stops, and is continued `seconds` later
  kThrow,  // raises an error, as a callback might
  kExit,   // ends with status 0, as one that returns early
};
// "kill".
std::string_view name(ChaosKind kind);

// At the begin of this step of this rank.
struct ChaosEvent {
  ChaosKind kind = ChaosKind::kKill;
  int rank = 0;
  int64_t step = 0;
  double seconds = 0;
  bool operator==(const ChaosEvent&) const = default;
};

// "kill:2@step40,stop:1@step60:5s,throw:0@step9,exit:3@step2", in the order of the text; "" is none. Seconds
// may have a fraction, and are at most 3600. Raises ValueError[chaos.syntax] with the part that is wrong,
// [chaos.rank] for a rank that a run of `world` ranks has not.
std::vector<ChaosEvent> parse_chaos(std::string_view text, int world);

// Those that this process is to have: ESPALIER_CHAOS. Raises as parse_chaos().
std::vector<ChaosEvent> chaos_from_environment(int rank, int world);

}  // namespace espalier
