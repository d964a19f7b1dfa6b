#include <immintrin.h>

namespace espalier {
namespace {

using Vector = __m512;
constexpr int kLanes = 16, kVectors = 24, kFlopsPerCycle = 4 * kLanes;
inline Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }

}  // namespace
}  // namespace espalier

#define ESPALIER_REGISTER(x) "+v"(x)
#include "kernels/probe_body.h"

namespace espalier {

constinit const Probe probe_avx512 = {kFlops, run_fma, kFlopsPerCycle, run_triad, run_stream_4r3w};

}  // namespace espalier
