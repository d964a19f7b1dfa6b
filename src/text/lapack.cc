#include "text/lapack.h"

#include "espalier/ops.h"
#include "ir/builder.h"
#include "ops/linear_algebra.h"

namespace espalier::text {
namespace {

// Whether the flag is the letter `yes`; nothing when it is neither that nor `no`.
std::optional<bool> flag(const AttributeValue* flags, const char* name, char yes, char no) {
  const AttributeValue* value = flags ? flags->find(name) : nullptr;
  if (!value || value->kind != AttributeValue::kInteger) return std::nullopt;
  if (value->integer == yes) return true;
  return value->integer == no ? std::optional(false) : std::nullopt;
}

// potrf: the factor in its triangle, what stood there in the other one, and 0, or 1 for a matrix that is not
// positive definite (LAPACK says how far it came).
std::shared_ptr<Graph> potrf(const TensorType& type, bool lower) {
  GraphBuilder builder("lapack.potrf");
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", type);
  const auto last = static_cast<int64_t>(type.rank()) - 1;
  const TensorType index{DType::kI64, type.shape};
  const Tensor inside =
      compare(iota(index, last - 1), iota(index, last), lower ? Comparison::kGE : Comparison::kLE);
  const Tensor factor = cholesky(x, lower);
  const Tensor failed = reduce_or(compare(factor, factor, Comparison::kNE), {last - 1, last});
  builder.result("factor", select(inside, factor, x));
  builder.result("info", convert(failed, DType::kI32));
  return builder.finish();
}

std::shared_ptr<Graph> trsm(const TensorType& a, const TensorType& b, const TriangularOptions& options) {
  GraphBuilder builder("lapack.trsm");
  SinkScope scope(builder);
  const Tensor matrix = builder.argument("a", a), right = builder.argument("b", b);
  builder.result("x", triangular_solve(matrix, right, options));
  return builder.finish();
}

}  // namespace

bool is_lapack(std::string_view target) {
  return target == "lapack_spotrf_ffi" || target == "lapack_dpotrf_ffi" || target == "lapack_strsm_ffi" ||
         target == "lapack_dtrsm_ffi";
}

std::shared_ptr<Graph> lapack_graph(std::string_view target, std::span<const TensorType> types,
                                    const AttributeValue* flags) {
  const DType dtype = target[7] == 's' ? DType::kF32 : DType::kF64;
  const bool factorises = target.find("potrf") != std::string_view::npos;
  if (types.size() != (factorises ? 1u : 2u)) return nullptr;
  for (const TensorType& type : types) {
    if (type.dtype != dtype || type.rank() < 2) return nullptr;
  }
  const auto lower = flag(flags, "uplo", 'L', 'U');
  if (!lower) return nullptr;
  if (factorises) return potrf(types[0], *lower);
  // Of real numbers the adjoint, 'C', is the transpose.
  auto transposed = flag(flags, "trans_x", 'T', 'N');
  if (!transposed) transposed = flag(flags, "trans_x", 'C', 'N');
  const auto left = flag(flags, "side", 'L', 'R'), unit = flag(flags, "diag", 'U', 'N');
  if (!left || !transposed || !unit) return nullptr;
  return trsm(types[0], types[1],
              {.left_side = *left, .lower = *lower, .unit_diagonal = *unit, .transpose_a = *transposed});
}

}  // namespace espalier::text
