// Sums that no order and no grouping of their terms changes.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "validate/sketch_bytes.h"

namespace espalier {

// a * b is the sum of the two; neither overflow nor underflow.
inline std::pair<double, double> exact_product(double a, double b) {
  const double high = a * b;
  return {high, std::fma(a, b, -high)};
}

// The exact sum of finite f64, in fixed point: a bin holds multiples of a power of two, 32 of them apart, and
// has room for 2^42 terms.
class ExactSum {
 public:
  void add(double term) {
    const auto bits = std::bit_cast<uint64_t>(term);
    const auto exponent = static_cast<uint32_t>(bits >> 52 & 0x7ff);
    auto mantissa = static_cast<int64_t>(bits & ((uint64_t{1} << 52) - 1));
    mantissa |= static_cast<int64_t>(exponent != 0) << 52;
    const uint32_t place = exponent - (exponent != 0);
    const auto sign = static_cast<int64_t>(bits) >> 63;
    bins_[place >> 5] += static_cast<Wide>((mantissa ^ sign) - sign) * (Wide{1} << (place & 31));
  }
  void add_product(double a, double b) {
    const auto [high, low] = exact_product(a, b);
    add(high);
    add(low);
  }
  void add_square(double a) {
    const auto [high, low] = exact_product(a, a);
    add(high);
    if (low != 0) add(low);
  }
  // Of a * b * b.
  void add_square(double a, double b) {
    const auto [high, low] = exact_product(b, b);
    add_product(a, high);
    add_product(a, low);
  }
  void merge(const ExactSum& other) {
    for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  }
  // As bytes, which are equal for equal sums.
  void write(SketchWriter& out) const;
  void read(SketchReader& in);
  // Rounded once.
  double value() const;
  // Calls f with doubles whose exact sum this is.
  template <class F>
  void for_each_part(const F& f) const {
    const Digits digits = normal();
    for (size_t i = 0; i < digits.size(); ++i) {
      if (digits[i]) f(std::ldexp(static_cast<double>(digits[i]), static_cast<int>(32 * i) + kLowest));
    }
  }

 private:
  __extension__ using Wide = __int128;
  static constexpr int kLowest = -1074;
  using Digits = std::array<int64_t, 68>;
  // All of one sign, each below 2^32.
  Digits normal() const;

  std::array<Wide, 65> bins_{};
};

// Adds finite numbers, none farther from 0 than `most`, to one sum and their squares to another: what add()
// and add_square() of each do.
void add_to_sums(std::span<const double> values, double most, ExactSum& sum, ExactSum& squares);

// The mean and the sum of squared deviations from it, divided by `count`, of terms whose sum and whose sum
// of squares these are: rounded a few times, whatever the mean is.
struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const ExactSum& sum, const ExactSum& squares, const ExactSum& count);
// The sum of products of deviations from both means, divided by `count`, in the same way; 0 of no terms.
double covariance_of(const ExactSum& products, const ExactSum& x, const ExactSum& y, const ExactSum& count);

}  // namespace espalier
