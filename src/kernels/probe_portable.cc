namespace espalier {
namespace {

typedef float Vector __attribute__((vector_size(16)));
constexpr int kLanes = 4, kVectors = 8, kFlopsPerCycle = 2 * kLanes;
// Without the instruction a multiplication and an addition.
inline Vector fused(Vector a, Vector b, Vector c) { return a * b + c; }

}  // namespace
}  // namespace espalier

#if defined(__x86_64__)
#define ESPALIER_REGISTER(x) "+x"(x)
#else
#define ESPALIER_REGISTER(x) "+m"(x)
#endif
#include "kernels/probe_body.h"

namespace espalier {

constinit const Probe probe_portable = {kFlops, run_fma, kFlopsPerCycle, run_triad, run_stream_4r3w};

}  // namespace espalier
