// LAPACK's routines that programs of JAX for a CPU call by name, where an op of ours means the same.
#pragma once

#include <memory>

#include "text/build.h"

namespace espalier::text {

// Whether a custom call of this target is read: lapack_spotrf_ffi, lapack_dpotrf_ffi (cholesky),
// lapack_strsm_ffi, lapack_dtrsm_ffi (triangular_solve).
bool is_lapack(std::string_view target);

// The graph of such a call of operands of `types`, whose flags, the codes of LAPACK's letters, are in
// `flags`. Null where flags or operands are not those of the routine. REQUIRES: is_lapack(target).
std::shared_ptr<Graph> lapack_graph(std::string_view target, std::span<const TensorType> types,
                                    const AttributeValue* flags);

}  // namespace espalier::text
