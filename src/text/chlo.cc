#include "text/chlo.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "espalier/ops.h"
#include "ir/builder.h"

namespace espalier::text {
namespace {

// Lanczos' series for g = 7 in the form of P. Godfrey: base + sum of coefficient[k] / (z + k + 1).
constexpr double kBase = 0.99999999999980993227684700473478;
constexpr double kSeries[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                              771.3234287776530788486528258894,   -176.61502916214059906584551354,
                              12.507343278686904814458936853,     -0.13857109526572011689554707,
                              9.984369578019570859563e-6,         1.50563273514931155834e-7};

Tensor lanczos(const Tensor& x) {
  const auto constant = [&](double value) { return full(x.shape(), value, x.dtype()); };
  const Tensor mirror = compare(x, constant(0.5), Comparison::kLT);
  const Tensor z = select(mirror, -x, x - constant(1));
  Tensor slope = constant(0), sum = constant(kBase);
  for (size_t k = 0; k < std::size(kSeries); ++k) {
    const Tensor place = z + constant(static_cast<double>(k + 1));
    slope = slope - constant(kSeries[k]) / (place * place);
    sum = sum + constant(kSeries[k]) / place;
  }
  const Tensor t = z + constant(7.5);
  const Tensor log_t = constant(std::log(7.5)) + log_plus_one(z / constant(7.5));
  const Tensor value = log_t + slope / sum - constant(7) / t;
  const Tensor turn = (x + abs(floor(x + constant(0.5)))) * constant(std::numbers::pi);
  const Tensor mirrored = value - constant(std::numbers::pi) * cosine(turn) / sine(turn);
  const Tensor pole =
      bitwise_and(compare(x, constant(0), Comparison::kLE), compare(x, floor(x), Comparison::kEQ));
  return select(pole, constant(std::numeric_limits<double>::quiet_NaN()), select(mirror, mirrored, value));
}

}  // namespace

std::shared_ptr<Graph> chlo_digamma(const TensorType& type) {
  GraphBuilder builder("chlo.digamma");
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", type);
  const bool narrow = size_of(type.dtype) == 2;
  builder.result("y", narrow ? convert(lanczos(convert(x, DType::kF32)), type.dtype) : lanczos(x));
  return builder.finish();
}

}  // namespace espalier::text
