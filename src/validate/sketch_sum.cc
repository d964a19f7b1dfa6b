#include "validate/sketch_sum.h"

#include <algorithm>

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

std::pair<double, double> range_of(std::span<const double> values) {
  // Each lane waits for itself alone.
  std::array<double, 4> low, high;
  low.fill(values[0]);
  high.fill(values[0]);
  const auto take = [&](size_t lane, double value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  };
  size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) take(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) take(0, values[i]);
  return {*std::ranges::min_element(low), *std::ranges::max_element(high)};
}

void add_to_sums(std::span<const double> values, double most, ExactSum& sum, ExactSum& squares) {
  // Whole multiples of a unit that all are less than 2^kBits of: so many of them have sums in 64 bits, and
  // their squares in 128.
  constexpr int kBits = 50, kMostExponent = 400;
  constexpr size_t kMostTerms = size_t{1} << 12;
  __extension__ using Wide = __int128;
  const int exponent = most > 0 ? std::ilogb(most) : 0;
  if (std::abs(exponent) > kMostExponent) {
    for (const double value : values) {
      sum.add(value);
      squares.add_square(value);
    }
    return;
  }
  const double unit = std::ldexp(1, exponent + 1 - kBits), units = 1 / unit;
  while (!values.empty()) {
    const auto terms = values.first(std::min(values.size(), kMostTerms));
    values = values.subspan(terms.size());
    int64_t total = 0;
    Wide total_squares = 0;
    for (const double value : terms) {
      const auto whole = static_cast<int64_t>(value * units);
      if (static_cast<double>(whole) * unit != value) {
        sum.add(value);
        squares.add_square(value);
        continue;
      }
      total += whole;
      total_squares += static_cast<Wide>(whole) * whole;
    }
    constexpr int kPart = 40;
    for (int part = 0; part < 3; ++part, total_squares >>= kPart) {
      const auto bits = static_cast<int64_t>(total_squares & ((Wide{1} << kPart) - 1));
      squares.add(std::ldexp(static_cast<double>(bits), kPart * part) * unit * unit);
    }
    const int64_t low = total & ((int64_t{1} << kPart) - 1);
    sum.add(static_cast<double>(low) * unit);
    sum.add(static_cast<double>(total - low) * unit);
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
