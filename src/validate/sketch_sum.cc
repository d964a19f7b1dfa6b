#include "validate/sketch_sum.h"

#include <algorithm>
#include <array>

#include "validate/whole_sums.h"

namespace espalier {

ExactSum::Digits ExactSum::normal() const {
  Digits out{};
  Wide carry = 0;
  const auto carry_all = [&](int64_t sign) {
    carry = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      carry += i < bins_.size() ? bins_[i] * sign : Wide{0};
      out[i] = static_cast<int64_t>(carry & 0xffffffff);
      carry >>= 32;
    }
  };
  carry_all(1);
  if (carry >= 0) return out;
  carry_all(-1);
  std::transform(out.begin(), out.end(), out.begin(), [](int64_t digit) { return -digit; });
  return out;
}

double ExactSum::value() const {
  const Digits digits = normal();
  size_t top = digits.size();
  while (top > 0 && digits[top - 1] == 0) --top;
  if (top == 0) return 0;
  // 64 bits and more, and whether anything is below them, are rounded by one conversion.
  Wide head = 0;
  const size_t low = top > 3 ? top - 3 : 0;
  for (size_t i = top; i-- > low;) head = head * (Wide{1} << 32) + digits[i];
  const bool below = std::any_of(digits.begin(), digits.begin() + static_cast<ptrdiff_t>(low),
                                 [](int64_t digit) { return digit != 0; });
  if (below) head = head * 2 + (head < 0 ? -1 : 1);
  return std::ldexp(static_cast<double>(head), static_cast<int>(32 * low) + kLowest - below);
}

void add_to_sums(std::span<const double> values, double most, ExactSum& sum, ExactSum& squares) {
  // Whole multiples of a unit that all are less than 2^kBits of: so many of them have sums in 64 bits, and
  // the parts of their squares too.
  constexpr int kBits = 2 * WholeSums::kHalf, kMostExponent = 400;
  const auto add_each = [&](std::span<const double> some) {
    for (const double value : some) {
      sum.add(value);
      squares.add_square(value);
    }
  };
  const int exponent = most > 0 ? std::ilogb(most) : 0;
  if (std::abs(exponent) > kMostExponent) return add_each(values);
  const double unit = std::ldexp(1, exponent + 1 - kBits), units = 1 / unit;
  std::array<double, WholeSums::kMostTerms> others;
  while (!values.empty()) {
    const auto terms = values.first(std::min(values.size(), WholeSums::kMostTerms));
    values = values.subspan(terms.size());
    const WholeSums whole = add_whole(terms, unit, units, others.data());
    add_each(std::span(others).first(whole.others));
    // In two parts, which are exact each.
    const auto add = [](ExactSum& to, int64_t count, double of, double of_again) {
      constexpr int kPart = 40;
      const int64_t low = count & ((int64_t{1} << kPart) - 1);
      to.add(static_cast<double>(low) * of * of_again);
      to.add(static_cast<double>(count - low) * of * of_again);
    };
    add(sum, whole.sum, unit, 1);
    const double half = std::ldexp(unit, WholeSums::kHalf);
    add(squares, static_cast<int64_t>(whole.high), half, half);
    add(squares, static_cast<int64_t>(whole.cross), half, 2 * unit);
    add(squares, static_cast<int64_t>(whole.low), unit, unit);
  }
}

Moments moments_of(const ExactSum& sum, const ExactSum& squares, const ExactSum& count) {
  const double n = count.value();
  if (!(n > 0)) return {};
  return {sum.value() / n, std::max(0.0, covariance_of(squares, sum, sum, count))};
}

double covariance_of(const ExactSum& products, const ExactSum& x, const ExactSum& y, const ExactSum& count) {
  const double n = count.value();
  if (!(n > 0)) return 0;
  const double mean_x = x.value() / n, mean_y = y.value() / n;
  // Of (x - mean)(y - mean) = xy - mean_x y - mean_y x + mean_x mean_y, where means may be any numbers near
  // them.
  ExactSum deviations = products;
  y.for_each_part([&](double part) { deviations.add_product(-mean_x, part); });
  x.for_each_part([&](double part) { deviations.add_product(-mean_y, part); });
  const auto [high, low] = exact_product(mean_x, mean_y);
  count.for_each_part([&, h = high, l = low](double part) {
    deviations.add_product(h, part);
    deviations.add_product(l, part);
  });
  const auto error_of = [&](const ExactSum& sum, double mean) {
    ExactSum shift = sum;
    count.for_each_part([&](double part) { shift.add_product(-mean, part); });
    return shift.value() / n;
  };
  return deviations.value() / n - error_of(x, mean_x) * error_of(y, mean_y);
}

void ExactSum::write(SketchWriter& out) const {
  for (const int64_t digit : normal()) out.number(static_cast<uint64_t>(digit));
}

void ExactSum::read(SketchReader& in) {
  constexpr int64_t kMost = int64_t{1} << 32, kMostLast = int64_t{1} << 24;
  const size_t last = bins_.size() - 1, digits = Digits().size();
  for (size_t i = 0; i < digits; ++i) {
    const auto digit = static_cast<int64_t>(in.number());
    const int64_t most = i + 1 < digits ? kMost : kMostLast;
    in.check(-most < digit && digit < most);
    // What lies above the bins is in the last one.
    const size_t bin = std::min(i, last);
    bins_[bin] += static_cast<Wide>(digit) * (Wide{1} << 32 * (i - bin));
  }
}

}  // namespace espalier
