#include "data/column_leak.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"

namespace espalier {
namespace {

constexpr int64_t kFewRows = 20;
constexpr int64_t kSurePercent = 99;

Leak leak_of_classes(const ColumnProfile& profile, const FittedLabel& label) {
  const size_t classes = label.step.classes.size();
  // Values that stand in a handful of rows each tell the label by chance.
  if (profile.different() * 10 > profile.rows()) return {};
  std::map<uint32_t, std::map<int32_t, int64_t>> joint;
  std::vector<int64_t> of_class(classes);
  for (size_t i = 0; i < profile.codes.size(); ++i) {
    ++joint[profile.codes[i]][label.classes[i]];
    ++of_class[static_cast<size_t>(label.classes[i])];
  }
  int64_t told = 0;
  for (const auto& [code, counts] : joint) {
    told += std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
              return a.second < b.second;
            })->second;
  }
  Leak out;
  out.same = told == profile.rows() && profile.missing == 0 && joint.size() == classes;
  const int64_t most = *std::max_element(of_class.begin(), of_class.end());
  const int64_t rest = profile.rows() - most;
  // Nearly all of what guessing the largest class gets wrong.
  if (100 * told >= kSurePercent * profile.rows() && 10 * (told - most) >= 9 * rest) {
    out.suspicion = cat("alone it tells the label in ", share_of_rows(told, profile.rows()),
                        " of the rows: perhaps a leak, something known only with the answer");
  }
  return out;
}

Leak leak_of_numbers(const ColumnProfile& profile, const FittedLabel& label) {
  constexpr double kSure = 0.999;
  std::vector<double> values;
  for (const ColumnProfile::Value& value : profile.values) {
    const std::optional<double> number = read_number(value.text, NumberStyle::kPlain);
    if (!number) return {};
    values.push_back(*number);
  }
  double n = 0, x = 0, y = 0;
  const auto each = [&](auto&& add) {
    for (size_t i = 0; i < profile.codes.size(); ++i) {
      if (profile.codes[i] != ColumnProfile::kMissing) add(values[profile.codes[i]], label.numbers[i]);
    }
  };
  bool same = profile.missing == 0;
  each([&](double a, double b) {
    n += 1;
    x += a;
    y += b;
    same = same && a == b;
  });
  double xx = 0, yy = 0, xy = 0;
  each([&](double a, double b) {
    xx += (a - x / n) * (a - x / n);
    yy += (b - y / n) * (b - y / n);
    xy += (a - x / n) * (b - y / n);
  });
  Leak out{.same = same};
  const double correlation = xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
  if (2 * profile.missing < profile.rows() && std::fabs(correlation) >= kSure) {
    out.suspicion = cat("its correlation with the label is ", short_number(correlation),
                        ": perhaps a leak, something known only with the answer");
  }
  return out;
}

}  // namespace

Leak find_leak(const ColumnProfile& profile, const FittedLabel& label) {
  if (profile.rows() < kFewRows || profile.values.empty()) return {};
  return label.step.classification ? leak_of_classes(profile, label) : leak_of_numbers(profile, label);
}

}  // namespace espalier
