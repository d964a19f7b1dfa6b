#include "data/column_leak.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/format.h"
#include "data/column_guess.h"

namespace espalier {
namespace {

constexpr int64_t kLeakRows = 20;
constexpr int64_t kSurePercent = 99;

std::string telling(int64_t told, int64_t rows, const char* how) {
  return cat(how, share_of_rows(told, rows),
             " of the rows: perhaps a leak, something known only with the answer");
}

// Of two classes: whether the numbers of one lie above those of the other.
Leak leak_by_threshold(const ColumnProfile& whole, const FittedLabel& label) {
  constexpr int64_t kFewOfClass = 10;  // fewer lie at one end by chance
  const ColumnProfile profile = numbers_alone(whole);
  const std::optional<NumberForm> form = form_of_all(profile);
  if (!form) return {};
  const std::vector<double> values = value_numbers(profile, *form);
  std::map<double, std::array<int64_t, 2>> at;
  std::array<int64_t, 2> above{}, below{}, missing{};
  for (size_t i = 0; i < profile.codes.size(); ++i) {
    const auto c = static_cast<size_t>(label.classes[i]);
    const uint32_t code = profile.codes[i];
    ++(code == ColumnProfile::kMissing ? missing : at[values[code]])[c];
    above[c] += code != ColumnProfile::kMissing;
  }
  const std::array<int64_t, 2> all{above[0] + missing[0], above[1] + missing[1]};
  int64_t told = 0;
  for (const auto& [value, counts] : at) {
    for (size_t c = 0; c < 2; ++c) {
      below[c] += counts[c];
      above[c] -= counts[c];
    }
    told = std::max({told, below[0] + above[1], below[1] + above[0]});
  }
  told += std::max(missing[0], missing[1]);
  const int64_t most = std::max(all[0], all[1]), rest = profile.rows() - most;
  if (rest < kFewOfClass || 100 * told < kSurePercent * profile.rows() || 10 * (told - most) < 9 * rest)
    return {};
  return {.same = false,
          .suspicion = telling(told, profile.rows(), "one threshold of it tells the label in ")};
}

Leak leak_of_classes(const ColumnProfile& profile, const FittedLabel& label) {
  const size_t classes = label.step.classes.size();
  // Values that stand in a handful of rows each tell the label by chance.
  if (profile.different() * 10 > profile.rows())
    return classes == 2 ? leak_by_threshold(profile, label) : Leak{};
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
    out.suspicion = telling(told, profile.rows(), "alone it tells the label in ");
  }
  return out;
}

// Values of a column against a label of numbers: whether they stand for its numbers, one for each, or part
// them without an overlap.
Leak leak_by_values(const ColumnProfile& profile, const FittedLabel& label) {
  constexpr size_t kFewOfValue = 10;  // fewer lie apart by chance
  if (profile.missing > 0 || profile.different() < 2 || profile.different() * 10 > profile.rows()) return {};
  struct Span {
    double least, most;
    size_t rows = 0;
  };
  std::vector<Span> spans(profile.values.size());
  for (size_t i = 0; i < profile.codes.size(); ++i) {
    Span& span = spans[profile.codes[i]];
    const double number = label.numbers[i];
    span = span.rows == 0 ? Span{number, number, 1}
                          : Span{std::min(span.least, number), std::max(span.most, number), span.rows + 1};
  }
  std::ranges::sort(spans, {}, &Span::least);
  bool alone = true, few = false;
  for (size_t i = 0; i < spans.size(); ++i) {
    alone = alone && spans[i].least == spans[i].most;
    few = few || spans[i].rows < kFewOfValue;
    if (i > 0 && spans[i].least <= spans[i - 1].most) return {};
  }
  if (few) return {};
  return {.same = alone,
          .suspicion =
              "its values part the label's numbers without an overlap: perhaps a leak, something "
              "known only with the answer"};
}

Leak leak_of_numbers(const ColumnProfile& profile, const FittedLabel& label) {
  constexpr double kSure = 0.999;
  const std::optional<NumberForm> form = form_of_all(profile);
  if (!form) return leak_by_values(profile, label);
  const std::vector<double> values = value_numbers(profile, *form);
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
  if (profile.rows() < kLeakRows || profile.values.empty()) return {};
  return label.step.classification ? leak_of_classes(profile, label) : leak_of_numbers(profile, label);
}

}  // namespace espalier
