#include "ops/linear_algebra.h"

namespace espalier {
namespace {

struct CholeskyAttributes final : Attributes {
  bool lower = false;
  void fields(FieldVisitor& v) override { v.field("lower", lower); }
};

void infer_cholesky(InferContext& c) {
  c.require_inputs(1);
  require_square(c, c.in(0));
  c.result(c.in(0));
}

template <class T>
void factorize(const T* a, T* out, int64_t n, bool lower) {
  using A = Wide<T>;
  std::vector<A> l(static_cast<size_t>(n * n));
  const auto at = [n](int64_t i, int64_t j) { return static_cast<size_t>(i * n + j); };
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      A sum = static_cast<A>(lower ? a[at(i, j)] : a[at(j, i)]);
      for (int64_t k = 0; k < j; ++k) sum -= l[at(i, k)] * l[at(j, k)];
      l[at(i, j)] = i == j ? std::sqrt(sum) : sum / l[at(j, j)];
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) out[at(i, j)] = static_cast<T>(lower ? l[at(i, j)] : l[at(j, i)]);
  }
}

void eval_cholesky(EvalContext& c) {
  const Shape& shape = c.in(0).type->shape;
  const int64_t n = shape.back(), total = num_elements(shape);
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t start = 0; start < total; start += n * n) {
      factorize(c.in(0).as<T>() + start, c.out(0).as<T>() + start, n,
                c.attributes<CholeskyAttributes>().lower);
    }
  });
}

// The lower triangle with half its diagonal.
Tensor half_lower(const Tensor& a) {
  return (keep_triangle(a, Comparison::kGE) + keep_triangle(a, Comparison::kGT)) * 0.5;
}

// Murray, Differentiation of the Cholesky decomposition (2016), for a function of the triangle that is read.
void gradient_cholesky(GradientContext& c) {
  const bool lower = c.attributes<CholeskyAttributes>().lower;
  const auto flip = [&](const Tensor& t) { return lower ? t : matrix_transpose(t); };
  const Tensor l = flip(c.out(0)), g = keep_triangle(flip(c.cotangent()), Comparison::kGE);
  const Tensor inner = half_lower(matrix_product(matrix_transpose(l), g));
  const Tensor left = triangular_solve(l, inner, {.lower = true, .transpose_a = true});
  const Tensor s = triangular_solve(l, left, {.left_side = false, .lower = true});
  c.set(0, flip(half_lower(s + matrix_transpose(s))));
}

}  // namespace

const OpDef op_cholesky = {
    .name = "cholesky",
    .doc =
        "The triangular factor of symmetric positive definite matrices in the last two axes: L with L L^T = "
        "a when `lower`, else U with U^T U = a. Only that triangle of a is read; the other of the result is "
        "zero. A matrix that is not positive definite gives NaN. Computed in f64, f16 and bf16 in f32. c1: "
        "floating-point elements. c2: square matrices.",
    .attributes = make_attributes<CholeskyAttributes>,
    .infer = infer_cholesky,
    .eval = eval_cholesky,
    .gradient = gradient_cholesky,
    .batch = batch_elementwise,
    .cost =
        [](const Attributes*, std::span<const TensorType* const> inputs, std::span<const TensorType>) {
          const double n = static_cast<double>(inputs[0]->shape.back());
          return Cost{n * static_cast<double>(inputs[0]->elements()) / 3,
                      2 * static_cast<double>(inputs[0]->bytes())};
        },
};

Tensor cholesky(Operand a, bool lower) {
  CallScope scope(a.at());
  auto attributes = std::make_shared<CholeskyAttributes>();
  attributes->lower = lower;
  return emit(op_cholesky, attributes, {a.tensor()});
}

}  // namespace espalier
