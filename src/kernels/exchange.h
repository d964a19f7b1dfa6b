// A collective of a program among the ranks of its context.
#pragma once

#include "espalier/communicator.h"
#include "espalier/run_context.h"

namespace espalier {

// What one that has begun is ended by.
struct BegunExchange {
  static constexpr uint64_t kNoTicket = ~uint64_t{0};
  uint64_t ticket =
      kNoTicket;  // of the communicator; none where there was nothing to send, or nobody to send it to
  Activity told;
};

// Begins it, and tells the context's events. REQUIRES: there is a communicator; `begun` outlives it.
void begin_exchange(const RunContext& context, const Collective& what, std::byte* data, std::byte* out,
                    BegunExchange& begun);
// Waits for it, if it has a ticket.
void end_exchange(const RunContext& context, const BegunExchange& begun);

}  // namespace espalier
