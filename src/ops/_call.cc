#include <algorithm>
#include <array>
#include <cmath>

#include "ops/elementwise.h"

namespace espalier {

const std::string& set_text(unsigned set) {
  static const std::array<std::string, kAnyDType + 1> kTexts = [] {
    std::array<std::string, kAnyDType + 1> out;
    for (unsigned i = 0; i <= kAnyDType; ++i) {
      const auto add = [&](unsigned bit, const char* word) {
        if (i & bit) out[i] += cat(out[i].empty() ? "" : ", ", word);
      };
      add(kFloats, "floating-point");
      add(kSigned, "signed");
      add(kUnsigned, "unsigned");
      add(kBools, "bool");
    }
    return out;
  }();
  return kTexts[set];
}

Tensor unary(const OpDef& op, const Operand& x) {
  CallScope scope(x.at());
  return emit(op, nullptr, {x.tensor()});
}

Shape broadcast_shapes(const char* rule, const Shape& a, const Shape& b) {
  Shape out = Dims::filled(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw ShapeError(cat(rule, ".broadcast"), cat("shapes must agree or be 1 from the last axis on: ", a,
                                                    " and ", b, " (", x, " vs ", y, ")"));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::pair<Tensor, Tensor> same_dtype(const char* rule, const Operand& a, const Operand& b) {
  if (a.is_scalar() && b.is_scalar()) a.tensor();
  const DType dtype = a.is_scalar() ? b.tensor().dtype() : a.tensor().dtype();
  std::pair<Tensor, Tensor> out{a.as(dtype), b.as(dtype)};
  if (out.first.dtype() != out.second.dtype()) {
    throw DTypeError(cat(rule, ".dtype"),
                     cat("dtypes must be equal: ", out.first.type(), " and ", out.second.type()),
                     "spell the cast: convert(x, dtype)");
  }
  return out;
}

Tensor binary(const OpDef& op, const Operand& a, const Operand& b) {
  CallScope scope(a.at());
  auto [x, y] = same_dtype(op.name, a, b);
  // A C++ scalar is as large as the tensor beside it.
  const auto grown = [](const Tensor& scalar, const Shape& shape) {
    return make_concrete(Literal::splat(TensorType{scalar.dtype(), shape}, scalar.node()->literal().raw()));
  };
  if (a.is_scalar()) x = grown(x, y.shape());
  if (b.is_scalar()) y = grown(y, x.shape());
  if (x.shape() != y.shape()) {
    const Shape shape = broadcast_shapes(op.name, x.shape(), y.shape());
    x = broadcast_to(x, shape);
    y = broadcast_to(y, shape);
  }
  return emit(op, nullptr, {std::move(x), std::move(y)});
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const size_t lead = x.rank() - shape.size();
  Dims axes;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  }
  return reshape(reduce_sum(x, axes), shape);
}

Tensor constant_like(const TensorType& type, double value) {
  return make_concrete(Literal::splat(type, value));
}

bool holds(DType dtype, double value) {
  if (is_float(dtype)) return true;
  if (dtype == DType::kBool) return value == 0 || value == 1;
  const bool is_signed = is_signed_integer(dtype);
  const int bits = static_cast<int>(size_of(dtype)) * 8 - is_signed;
  return value == std::trunc(value) && value >= (is_signed ? -std::ldexp(1.0, bits) : 0) &&
         value < std::ldexp(1.0, bits);
}

int64_t normalize_axis(const char* rule, int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    throw ShapeError(cat(rule, ".axis"), cat("axis ", axis, " is outside of rank ", r));
  return axis < 0 ? axis + r : axis;
}

Tensor batch_expand(const BatchContext& c, size_t i) {
  if (c.batched[i]) return c.in(i);
  Shape shape = c.in(i).shape();
  shape.insert(0, c.size);
  return broadcast_to(c.in(i), shape);
}

std::vector<Tensor> batch_expand_all(const BatchContext& c) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < c.inputs.size(); ++i) out.push_back(batch_expand(c, i));
  return out;
}

void batch_elementwise(BatchContext& c) {
  c.outputs = emit_all(c.op, c.attributes_ptr, batch_expand_all(c), c.regions);
}

WantedCotangents wanted_cotangents(const GradientContext& c) {
  WantedCotangents out;
  for (size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.wants(i) || !c.cotangents[i].defined()) continue;
    out.positions.push_back(i);
    out.cotangents.push_back(c.cotangents[i]);
  }
  return out;
}

}  // namespace espalier
