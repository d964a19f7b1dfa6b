#include "step/decisions.h"

namespace espalier {

Decisions agreed(const Decisions& mine, const HostCollectives& hosts) {
  const uint32_t bits =
      hosts.any(static_cast<uint32_t>(mine.end_of_data) | mine.stop << 1U | mine.save << 2U |
                mine.diverged << 3U | mine.go << 4U | mine.changed << 5U | mine.counts << 6U);
  return {(bits & 1U) != 0,  (bits & 2U) != 0,  (bits & 4U) != 0, (bits & 8U) != 0,
          (bits & 16U) != 0, (bits & 32U) != 0, (bits & 64U) != 0};
}

}  // namespace espalier
