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

Moments moments_of(const ExactSum& sum, const ExactSum& squares, const ExactSum& count) {
  const double n = count.value();
  if (!(n > 0)) return {};
  const double mean = sum.value() / n;
  // Of (x - mean)^2 = x^2 - 2 mean x + mean^2, where the mean may be any number near it.
  ExactSum deviations = squares;
  sum.for_each_part([&](double part) { deviations.add_product(-2 * mean, part); });
  count.for_each_part([&](double part) { deviations.add_square(part, mean); });
  ExactSum shift = sum;
  count.for_each_part([&](double part) { shift.add_product(-mean, part); });
  const double error = shift.value() / n;
  return {mean, std::max(0.0, deviations.value() / n - error * error)};
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
