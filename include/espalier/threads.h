// The threads of this process.
#pragma once

namespace espalier {

// How many threads work on one call, the caller included. At first: ESPALIER_THREADS, or the processors this
// process may use. Results do not depend on it.
int threads();
// Waits for a running call. Raises ValueError[threads.count] below 1 and above 1024.
void set_threads(int count);

}  // namespace espalier
