#include <immintrin.h>

namespace espalier {
namespace {

using Vector = __m256;
constexpr int kLanes = 8, kVectors = 12, kFlopsPerCycle = 4 * kLanes;
inline Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }

}  // namespace
}  // namespace espalier

#define ESPALIER_REGISTER(x) "+x"(x)
#include "kernels/probe_body.h"

namespace espalier {

constinit const Probe probe_avx2 = {kFlops, run_fma, kFlopsPerCycle, run_triad, run_stream_4r3w};

}  // namespace espalier
