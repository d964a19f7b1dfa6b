#include "ops/linear_algebra.h"

namespace espalier {
namespace {

enum class Transposition : uint8_t { kNone, kTranspose, kAdjoint };
constexpr const char* kTranspositions[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};

struct SolveAttributes final : Attributes {
  bool left_side = false, lower = false, unit_diagonal = false;
  Transposition transpose_a = Transposition::kNone;
  void fields(FieldVisitor& v) override {
    v.field("left_side", left_side);
    v.field("lower", lower);
    v.field("unit_diagonal", unit_diagonal);
    v.word("transpose_a", transpose_a, kTranspositions);
  }
  bool transposed() const { return transpose_a != Transposition::kNone; }
  TriangularOptions options() const { return {left_side, lower, unit_diagonal, transposed()}; }
};

void infer_triangular_solve(InferContext& c) {
  c.require_inputs(2);
  const auto& a = c.attributes<SolveAttributes>();
  const TensorType &matrix = c.in(0), &b = c.in(1);
  require_square(c, matrix);
  c.require_dtype(b.dtype == matrix.dtype, "c3", "dtypes must be equal: ", matrix, " and ", b);
  c.require(b.rank() == matrix.rank(), "c4", "operands must have one rank: ", matrix, " and ", b);
  for (size_t i = 0; i + 2 < b.rank(); ++i)
    c.require(b.shape[i] == matrix.shape[i], "c4", "leading axes must be equal: ", matrix, " and ", b);
  const size_t axis = b.rank() - (a.left_side ? 2 : 1);
  c.require(b.shape[axis] == matrix.shape.back(), "c5", "axis ", axis, " of ", b, " must have the size of ",
            matrix);
  c.result(b);
}

// Solves M x = b for one vector of b with a stride, where M(i,j) is a at i rows and j columns.
template <class T>
struct Solver {
  const T* a;
  int64_t n, row, column;
  bool forward, unit;

  void solve(const T* b, T* out, int64_t step, std::vector<Wide<T>>& x) const {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = forward ? k : n - 1 - k;
      Wide<T> sum = static_cast<Wide<T>>(b[i * step]);
      for (int64_t p = 0; p < k; ++p) {
        const int64_t j = forward ? p : n - 1 - p;
        sum -= static_cast<Wide<T>>(a[i * row + j * column]) * x[static_cast<size_t>(j)];
      }
      x[static_cast<size_t>(i)] = unit ? sum : sum / static_cast<Wide<T>>(a[i * row + i * column]);
      out[i * step] = static_cast<T>(x[static_cast<size_t>(i)]);
    }
  }
};

void eval_triangular_solve(EvalContext& c) {
  const auto& o = c.attributes<SolveAttributes>();
  const Shape &as = c.in(0).type->shape, &bs = c.in(1).type->shape;
  const int64_t n = as.back(), rows = bs[bs.size() - 2], columns = bs.back();
  const bool flip = o.transposed() != !o.left_side;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<Wide<T>> x(static_cast<size_t>(n));
    const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
    T* out = c.out(0).as<T>();
    const int64_t total = num_elements(bs);
    for (int64_t start = 0; start < total; start += rows * columns, a += n * n) {
      const Solver<T> solver{a, n, flip ? 1 : n, flip ? n : 1, o.lower != flip, o.unit_diagonal};
      const int64_t vectors = o.left_side ? columns : rows;
      for (int64_t i = 0; i < vectors; ++i) {
        const int64_t offset = start + (o.left_side ? i : i * columns);
        solver.solve(b + offset, out + offset, o.left_side ? columns : 1, x);
      }
    }
  });
}

void gradient_triangular_solve(GradientContext& c) {
  const auto& a = c.attributes<SolveAttributes>();
  TriangularOptions adjoint = a.options();
  adjoint.transpose_a = !adjoint.transpose_a;
  const Tensor gb = triangular_solve(c.in(0), c.cotangent(), adjoint);
  if (c.wants(1)) c.set(1, gb);
  if (!c.wants(0)) return;
  const Tensor& x = c.out(0);
  const Tensor outer =
      a.left_side ? matrix_product(gb, matrix_transpose(x)) : matrix_product(matrix_transpose(x), gb);
  const Tensor full = negate(a.transposed() ? matrix_transpose(outer) : outer);
  c.set(0, keep_triangle(full, a.lower ? (a.unit_diagonal ? Comparison::kGT : Comparison::kGE)
                                       : (a.unit_diagonal ? Comparison::kLT : Comparison::kLE)));
}

}  // namespace

const OpDef op_triangular_solve = {
    .name = "triangular_solve",
    .doc =
        "x with op(a) x = b, or x op(a) = b unless `left_side`, for triangular matrices a in the last two "
        "axes, of which only the lower (or upper) triangle is read, without its diagonal, taken as ones, "
        "when `unit_diagonal`. op transposes by `transpose_a`. Computed in f64, f16 and bf16 in f32. c1: "
        "floating-point elements. c2: square a. c3: one dtype. c4: one rank and equal leading axes. c5: b "
        "has a's size on the axis that op(a) meets.",
    .attributes = make_attributes<SolveAttributes>,
    .infer = infer_triangular_solve,
    .eval = eval_triangular_solve,
    .gradient = gradient_triangular_solve,
    .batch = batch_elementwise,
    .cost =
        [](const Attributes*, std::span<const TensorType* const> inputs, std::span<const TensorType>) {
          const double n = static_cast<double>(inputs[0]->shape.back());
          return Cost{n * static_cast<double>(inputs[1]->elements()),
                      static_cast<double>(inputs[0]->bytes() + 2 * inputs[1]->bytes())};
        },
};

Tensor triangular_solve(Operand a, Operand b, const TriangularOptions& options) {
  CallScope scope(a.at());
  auto attributes = std::make_shared<SolveAttributes>();
  attributes->left_side = options.left_side;
  attributes->lower = options.lower;
  attributes->unit_diagonal = options.unit_diagonal;
  attributes->transpose_a = options.transpose_a ? Transposition::kTranspose : Transposition::kNone;
  return emit(op_triangular_solve, attributes, {a.tensor(), b.tensor()});
}

}  // namespace espalier
