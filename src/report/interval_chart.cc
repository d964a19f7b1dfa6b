#include "report/interval_chart.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "report/swatches.h"
#include "report/table.h"

namespace espalier {
namespace {

// What the width of the drawing stands for.
class Axis {
 public:
  explicit Axis(const IntervalChart& chart) {
    std::vector<double> all;
    for (const IntervalRow& row : chart.rows) {
      if (row.limit) all.push_back(*row.limit);
      if (row.value) all.push_back(*row.value);
      if (row.interval) all.insert(all.end(), {row.interval->low, row.interval->high});
    }
    if (chart.line) all.push_back(*chart.line);
    std::erase_if(all, [](double value) { return !std::isfinite(value); });
    if (all.empty()) return;
    const auto [low, high] = std::ranges::minmax(all);
    const double least = 0.02 * std::max(std::abs(low), std::abs(high));
    step_ = nice(std::max({high - low, least, 1e-9}) / 2);
    low_ = std::floor(low / step_ + 1e-9) * step_;
    high_ = std::max(std::ceil(high / step_ - 1e-9) * step_, low_ + step_);
  }
  std::string at(double value) const {
    return fixed(2 + 96 * std::clamp((value - low_) / (high_ - low_), 0.0, 1.0), 2) + "%";
  }
  std::vector<double> ticks() const {
    std::vector<double> out;
    for (int i = 0; i <= std::lround((high_ - low_) / step_); ++i) out.push_back(low_ + i * step_);
    return out;
  }
  std::string text(double tick) const {
    const int digits = static_cast<int>(std::ceil(-std::log10(step_) - 1e-9));
    return fixed(tick, std::clamp(digits, 0, 6));
  }

 private:
  // 1, 2 or 5 times a power of ten, not above `step`.
  static double nice(double step) {
    const double power = std::pow(10, std::floor(std::log10(step)));
    const double times = step / power;
    return (times >= 5 ? 5 : times >= 2 ? 2 : 1) * power;
  }
  double low_ = 0, high_ = 1, step_ = 0.5;
};

Html line(const std::string& x1, const std::string& x2, const char* y1, const char* y2, const char* style) {
  return element("line", {{"x1", x1}, {"x2", x2}, {"y1", y1}, {"y2", y2}, {"class", style}});
}

Html scale(const Axis& axis) {
  Html out;
  const std::vector<double> ticks = axis.ticks();
  for (size_t i = 0; i < ticks.size(); ++i) {
    const char* anchor = i == 0 ? "start" : i + 1 == ticks.size() ? "end" : "middle";
    out += element("text", {{"x", axis.at(ticks[i])}, {"y", "12"}, {"text-anchor", anchor}},
                   axis.text(ticks[i]));
  }
  return element("svg", {{"class", "strip"}, {"height", "16"}, {"aria-hidden", "true"}}, out);
}

Html strip(const IntervalRow& row, const IntervalChart& chart, const Axis& axis) {
  Html out;
  for (const double tick : axis.ticks()) out += line(axis.at(tick), axis.at(tick), "0", "100%", "tick");
  if (chart.line) out += line(axis.at(*chart.line), axis.at(*chart.line), "0", "100%", "across");
  if (row.limit) out += line(axis.at(*row.limit), axis.at(*row.limit), "10%", "90%", "limit-line");
  if (row.interval) {
    const std::string low = axis.at(row.interval->low), high = axis.at(row.interval->high);
    out += line(low, high, "50%", "50%", "whisker") + line(low, low, "30%", "70%", "whisker") +
           line(high, high, "30%", "70%", "whisker");
  }
  if (row.value && std::isfinite(*row.value)) {
    out += element("circle", {{"cx", axis.at(*row.value)}, {"cy", "50%"}, {"r", "5"}, {"class", "dot"}});
  }
  return element("svg", {{"class", "strip"}, {"height", "28"}, {"aria-hidden", "true"}}, out);
}

Html small(const std::string& text) { return element("small", text); }

// Roles are said, since a narrow screen lays rows out as grids, which browsers take for no tables.
Html tr(const char* style, const Html& cells) {
  return element("tr", {{"class", style}, {"role", "row"}}, cells) + Html("\n");
}

}  // namespace

Html drawn(const IntervalChart& chart) {
  const Axis axis(chart);
  Html body;
  for (const IntervalRow& row : chart.rows) {
    Html name = Html(row.name) + swatches(row.swatches), value = "undefined";
    if (!row.note.empty()) name += small(row.note);
    if (!row.grey.empty()) name += small(row.grey);
    if (row.value) value = significant(*row.value, 3);
    if (row.interval)
      value += small(cat(significant(row.interval->low, 3), " to ", significant(row.interval->high, 3)));
    body += tr(row.grey.empty() ? "" : "grey",
               element("th", {{"scope", "row"}, {"role", "rowheader"}}, name) +
                   element("td", {{"role", "cell"}}, strip(row, chart, axis)) +
                   element("td", {{"class", "number"}, {"title", row.title}, {"role", "cell"}}, value));
  }
  const auto th = [](const char* style, const Html& content) {
    return element("th", {{"scope", "col"}, {"class", style}, {"role", "columnheader"}}, content);
  };
  Html caption = chart.caption;
  if (chart.line) caption += Html(" ") + element("span", {{"class", "across-name"}}, chart.line_name);
  return element(
      "table", {{"class", "dots"}, {"role", "table"}},
      element("caption", caption) +
          element("thead", {{"role", "rowgroup"}},
                  tr("", th("", chart.of_rows) + th("", scale(axis)) + th("number", chart.of_values))) +
          element("tbody", {{"role", "rowgroup"}}, body));
}

}  // namespace espalier
