// What the ranks of a run must do alike, decided in one place.
#pragma once

#include "strategy/host_collectives.h"

namespace espalier {

// Whether a batch is followed by its step, and what follows a step of fit().
struct Decisions {
  bool end_of_data = false;  // there is no further batch
  bool stop = false;         // somebody asked the run to end
  bool save = false;         // a checkpoint is due
  bool diverged = false;     // the loss of the epoch is no number any more
  bool go = false;           // somebody told a worker to save and go
  bool changed = false;      // a callback changed what is trained, or how fast
  bool counts = false;       // the next batch has a row that weighs something
  bool operator==(const Decisions&) const = default;
};

// What holds on any of the hosts, `mine` on this one. The same on all of them, so that none waits for
// another in a step, a save or an end that the other does not make.
Decisions agreed(const Decisions& mine, const HostCollectives& hosts);

}  // namespace espalier
