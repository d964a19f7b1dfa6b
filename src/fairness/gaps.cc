#include "fairness/gaps.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

struct Side {
  double rate = 0;
  size_t group = Gap::kNoGroup;
};
// Lower and higher; of a comparison with a sign, group and reference.
struct Pair {
  Side a, b;
};

bool has_sign(Against against) { return against == Against::kReference || against == Against::kRest; }

Pair ascending(const Side& a, const Side& b) { return a.rate <= b.rate ? Pair{a, b} : Pair{b, a}; }

// The rates that a convention compares; none and `undefined` groups where one has no value.
class ComparedRates {
 public:
  ComparedRates(const Rate& rate, const Groups& groups, const Convention& convention)
      : rate_(rate), groups_(groups), convention_(convention) {
    const size_t reference = convention.reference, count = groups.of.size();
    if (has_sign(convention.against) && reference >= count) {
      throw ValueError("fairness.reference",
                       cat("the reference is one of the groups: ", reference, " of ", count));
    }
  }

  std::vector<Pair> pairs() {
    std::vector<Pair> out;
    const std::vector<Side> sides = convention_.against == Against::kRest ? of_rest() : of_groups();
    if (!undefined_.empty() || sides.empty()) return {};
    switch (convention_.against) {
      case Against::kEachOther: {
        const auto [low, high] = std::ranges::minmax(sides, {}, &Side::rate);
        if (sides.size() > 1) out.push_back({low, high});
        break;
      }
      case Against::kOverall:
        if (const std::optional<double> overall = value(groups_.overall)) {
          for (const Side& side : sides) out.push_back(ascending(side, {*overall}));
        }
        break;
      case Against::kReference:
        for (const Side& side : sides) {
          if (side.group != convention_.reference) out.push_back({side, sides[convention_.reference]});
        }
        break;
      case Against::kRest:
        out.push_back({sides[0], sides[1]});
        break;
    }
    return out;
  }
  std::vector<size_t> undefined() const { return undefined_; }

 private:
  std::optional<double> value(const Confusion& confusion) const {
    const std::optional<double> out = rate_(confusion);
    return out || convention_.zero_division == ZeroDivision::kUndefined ? out : 0;
  }
  void add(std::vector<Side>& sides, const Confusion& confusion, size_t group) {
    if (const std::optional<double> rate = value(confusion)) {
      sides.push_back({*rate, group});
    } else {
      undefined_.push_back(group);
    }
  }
  std::vector<Side> of_groups() {
    std::vector<Side> out;
    for (size_t i = 0; i < groups_.of.size(); ++i) add(out, groups_.of[i], i);
    return out;
  }
  std::vector<Side> of_rest() {
    Confusion rest;
    for (size_t i = 0; i < groups_.of.size(); ++i) {
      if (i != convention_.reference) rest += groups_.of[i];
    }
    std::vector<Side> out;
    add(out, rest, Gap::kNoGroup);
    add(out, groups_.of[convention_.reference], convention_.reference);
    return out;
  }

  const Rate& rate_;
  const Groups& groups_;
  const Convention& convention_;
  std::vector<size_t> undefined_;
};

std::optional<double> measured(const Pair& pair, Measure measure, Against against) {
  const double a = pair.a.rate, b = pair.b.rate;
  if (measure == Measure::kDifference) return has_sign(against) ? a - b : b - a;
  if (b == 0) return std::nullopt;
  return a / b;
}

}  // namespace

double distance(Measure measure, double value) {
  return measure == Measure::kDifference ? std::abs(value) : 1 - std::min(value, 1 / value);
}

Gap gap_of(const Rate& rate, const Groups& groups, Measure measure, const Convention& convention) {
  ComparedRates sides(rate, groups, convention);
  Gap out;
  for (const Pair& pair : sides.pairs()) {
    const std::optional<double> value = measured(pair, measure, convention.against);
    if (!value || (out.value && distance(measure, *value) <= distance(measure, *out.value))) continue;
    const auto [low, high] = ascending(pair.a, pair.b);
    out = {.value = value, .low = low.group, .high = high.group};
  }
  out.undefined = sides.undefined();
  return out;
}

std::optional<Interval> interval(const Gap& gap, const Rate& rate, const Groups& groups, double level) {
  if (!rate.is_proportion() || gap.low == Gap::kNoGroup || gap.high == Gap::kNoGroup) return std::nullopt;
  const auto low = proportion(rate, groups.of[gap.low]), high = proportion(rate, groups.of[gap.high]);
  if (!low || !high) return std::nullopt;
  return newcombe(*high, *low, level);
}

}  // namespace espalier
