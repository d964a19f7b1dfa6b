#include "fairness/figure_text.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/shortened.h"
#include "report/table.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

// A line from 0 to 1 or over the intervals of all slices: o at the value, - over its interval.
std::string drawn(const Figure& figure, double low, double high) {
  constexpr int kWidth = 24;
  if (!figure.value || !(high > low)) return "";
  const auto place = [&](double x) {
    return static_cast<size_t>(std::lround(std::clamp((x - low) / (high - low), 0.0, 1.0) * (kWidth - 1)));
  };
  std::string out(kWidth, ' ');
  if (figure.interval) {
    for (size_t i = place(figure.interval->low); i <= place(figure.interval->high); ++i) out[i] = '-';
  }
  out[place(*figure.value)] = 'o';
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

}  // namespace

std::string number_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? significant(*value, 4) : "-";
}
std::string between(const std::optional<Interval>& interval) {
  return interval ? cat(number_of(interval->low), " to ", number_of(interval->high)) : "-";
}

std::string values_of(const SliceFigures& slice) {
  std::string out;
  for (const std::string& value : slice.slice.values) out += cat(out.empty() ? "" : ", ", value);
  return out;
}

std::string thin_text(const Assessment& assessment, const SlicingFigures& by, const Terminal& terminal) {
  constexpr size_t kNamed = 5;
  std::string names;
  size_t thin = 0;
  for (const SliceFigures& slice : by.slices) {
    if (slice.slice.thin && thin++ < kNamed)
      names += cat(names.empty() ? "" : "; ", printable(slice.slice.name));
  }
  if (thin == 0) return "";
  if (thin > kNamed) names += cat("; and ", thin - kNamed, " more");
  return terminal.paint(Ink::kDim, cat("thin, fewer than ", assessment.options.slices.min_rows,
                                       " rows, too few to say much: ", names, "\n"));
}

std::string spaced(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string metric_text(const Assessment& assessment, const SlicingFigures& by, const std::string& name,
                        size_t threshold, const Terminal& terminal) {
  const SliceMetric metric(name);
  struct Line {
    const SliceFigures* slice;
    Figure figure;
  };
  const double level = assessment.options.level;
  std::vector<Line> lines;
  for (const SliceFigures& slice : by.slices) lines.push_back({&slice, metric(slice, threshold, level)});
  const auto coloured = [](const SliceFigures& slice) { return !slice.slice.swatches.empty(); };
  if (std::ranges::none_of(by.slices, coloured)) {
    std::ranges::stable_sort(lines, {}, [](const Line& line) {
      return line.figure.value.value_or(std::numeric_limits<double>::infinity());
    });
  }
  lines.insert(lines.begin(), {&assessment.overall, metric(assessment.overall, threshold, level)});
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Line& line : lines) {
    if (!line.figure.value || line.slice->slice.thin) continue;
    low = std::min(low, line.figure.interval ? line.figure.interval->low : *line.figure.value);
    high = std::max(high, line.figure.interval ? line.figure.interval->high : *line.figure.value);
  }
  Table table({by.name(), "rows", name, percent(level, 0) + " interval", "of rows", ""});
  for (const auto& [slice, figure] : lines) {
    const Ink ink = slice->slice.thin ? Ink::kDim : Ink::kPlain;
    table.row({{slice->slice.name, ink},
               {slice->slice.rows, ink},
               {number_of(figure.value), ink},
               {between(figure.interval), ink},
               {figure.rows, ink},
               {slice->slice.thin ? "thin: too few rows to say much" : drawn(figure, low, high), ink}});
  }
  return table.text(terminal);
}

std::string intervals_text(const Assessment& assessment, const std::vector<std::string>& metrics) {
  if (assessment.options.resampling.method == IntervalMethod::kClosedForm) return "";
  std::string others;
  for (const std::string& name : metrics) {
    if (assessment.has_thresholds() && SliceMetric(name).estimate())
      others += cat(others.empty() ? "; by closed forms those of " : ", ", name);
  }
  return cat("intervals: ", text_of(assessment.options.resampling), others, "\n");
}

Json json_of(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}
Json json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json json_of(const Figure& figure) {
  return {{"value", json_of(figure.value)}, {"interval", json_of(figure.interval)}, {"rows", figure.rows}};
}

}  // namespace espalier
