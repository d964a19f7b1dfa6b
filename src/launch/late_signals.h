// A process that was told to end, and does what it has to before, may be told again: by a launcher and by who
// ends all processes of a service.
#pragma once

namespace espalier {

// For 2 s `signal` does nothing, then it ends the process: for one that was told by it and is about to end by
// itself, with a status that says how.
void ignore_late_signal(int signal);

}  // namespace espalier
