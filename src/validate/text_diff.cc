#include "validate/text_diff.h"

#include <algorithm>

#include "base/format.h"

namespace espalier {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Which lines of both stay, by the algorithm of Myers: from the start, the furthest line that can be reached
// by d removed or added ones, for d = 0, 1, ... Memory grows with the square of d.
struct Kept {
  std::vector<bool> before, after;
};
constexpr int kMostSteps = 2000;

Kept all_changed(const Lines& a, const Lines& b) {
  return {std::vector<bool>(a.size()), std::vector<bool>(b.size())};
}

Kept kept_lines(const Lines& a, const Lines& b) {
  Kept kept = all_changed(a, b);
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  const auto at = [](const Lines& lines, int i) { return lines[static_cast<size_t>(i)]; };
  // reached[d][k + d]: the line of `a` reached on diagonal k (line of a less line of b) after d steps.
  std::vector<std::vector<int>> reached;
  for (int d = 0; d <= std::min(n + m, kMostSteps); ++d) {
    std::vector<int> now(static_cast<size_t>(2 * d + 1));
    for (int k = -d; k <= d; k += 2) {
      const auto before = [&](int diagonal) {
        return reached[static_cast<size_t>(d - 1)][static_cast<size_t>(diagonal + d - 1)];
      };
      const bool down = d > 0 && (k == -d || (k != d && before(k - 1) < before(k + 1)));
      int x = d == 0 ? 0 : down ? before(k + 1) : before(k - 1) + 1;
      while (x < n && x - k < m && at(a, x) == at(b, x - k)) ++x;
      now[static_cast<size_t>(k + d)] = x;
      if (x < n || x - k < m) continue;
      // Back along the way: lines between two steps stay.
      for (int y = x - k; d >= 0; --d) {
        const auto last = [&](int diagonal) {
          return d == 0 ? 0 : reached[static_cast<size_t>(d - 1)][static_cast<size_t>(diagonal + d - 1)];
        };
        const int diagonal = x - y;
        const bool added =
            d > 0 && (diagonal == -d || (diagonal != d && last(diagonal - 1) < last(diagonal + 1)));
        const int from = d == 0 ? 0 : added ? last(diagonal + 1) : last(diagonal - 1) + 1;
        while (x > from) {
          kept.before[static_cast<size_t>(--x)] = true;
          kept.after[static_cast<size_t>(--y)] = true;
        }
        (added ? y : x) -= 1;
      }
      return kept;
    }
    reached.push_back(std::move(now));
  }
  return all_changed(a, b);
}

struct Region {
  size_t before, after;  // lines ahead of it
  size_t removed = 0, added = 0;
};

std::vector<Region> regions_of(const Lines& a, const Lines& b) {
  size_t head = 0, tail = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head]) ++head;
  while (tail < std::min(a.size(), b.size()) - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<ptrdiff_t>(head), lines.end() - static_cast<ptrdiff_t>(tail));
  };
  const Kept kept = kept_lines(middle(a), middle(b));
  std::vector<Region> out;
  size_t i = 0, j = 0;
  while (i < kept.before.size() || j < kept.after.size()) {
    Region region{head + i, head + j};
    while (i < kept.before.size() && !kept.before[i]) ++i, ++region.removed;
    while (j < kept.after.size() && !kept.after[j]) ++j, ++region.added;
    if (region.removed > 0 || region.added > 0) out.push_back(region);
    while (i < kept.before.size() && kept.before[i] && j < kept.after.size() && kept.after[j]) ++i, ++j;
  }
  return out;
}

void write_lines(const Lines& lines, size_t from, size_t count, char sign, std::string& out) {
  for (size_t i = from; i < from + count; ++i) out += cat(std::string(1, sign), lines[i], "\n");
}

}  // namespace

std::vector<TextChange> text_changes(std::string_view before, std::string_view after) {
  const Lines a = lines_of(before), b = lines_of(after);
  std::vector<TextChange> out;
  for (const Region& region : regions_of(a, b)) {
    TextChange change{region.before + 1, {}, {}};
    for (size_t i = 0; i < region.removed; ++i) change.removed.emplace_back(a[region.before + i]);
    for (size_t i = 0; i < region.added; ++i) change.added.emplace_back(b[region.after + i]);
    out.push_back(std::move(change));
  }
  return out;
}

std::string unified_diff(std::string_view before, std::string_view after, size_t context) {
  const Lines a = lines_of(before), b = lines_of(after);
  const std::vector<Region> regions = regions_of(a, b);
  std::string out;
  for (size_t first = 0, last = 0; first < regions.size(); first = ++last) {
    // Changes whose surroundings touch are written together.
    while (last + 1 < regions.size() &&
           regions[last + 1].before - regions[last].before - regions[last].removed <= 2 * context)
      ++last;
    const size_t lead = std::min(context, regions[first].before);
    const size_t end = regions[last].before + regions[last].removed;
    const size_t trail = std::min(context, a.size() - end);
    const size_t from = regions[first].before - lead, other = regions[first].after - lead;
    const size_t count = end + trail - from;
    const size_t new_count = regions[last].after + regions[last].added + trail - other;
    const auto start = [](size_t line, size_t lines) { return lines == 0 ? line : line + 1; };
    out +=
        cat("@@ -", start(from, count), ",", count, " +", start(other, new_count), ",", new_count, " @@\n");
    size_t line = from;
    for (size_t i = first; i <= last; ++i) {
      write_lines(a, line, regions[i].before - line, ' ', out);
      write_lines(a, regions[i].before, regions[i].removed, '-', out);
      write_lines(b, regions[i].after, regions[i].added, '+', out);
      line = regions[i].before + regions[i].removed;
    }
    write_lines(a, line, trail, ' ', out);
  }
  return out;
}

}  // namespace espalier
