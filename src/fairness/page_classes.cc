#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "fairness/page_sections.h"
#include "fairness/rare_classes.h"
#include "report/choice.h"
#include "report/interval_chart.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr size_t kMostInMatrix = 30;
constexpr const char* kMetrics[] = {"recall", "precision", "f1"};

SliceMetric metric_of(const char* metric, const std::string& name) {
  return SliceMetric(cat(metric, "[", name, "]"));
}

Html matrix_of(const SliceFigures& all, std::vector<std::string> names) {
  const size_t size = places_of(all);
  if (names.size() < size) names.emplace_back(kRareName);
  HtmlTable table{.id = "confusion",
                  .caption = "Rows by their class, and by what was said of them",
                  .columns = {{"is \\ said"}, {"rows", "", true}}};
  for (const std::string& name : names) table.columns.push_back({name, "rows said to be of it", true});
  for (size_t is = 0; is < size; ++is) {
    const int64_t rows = rows_of_class(all, is);
    std::vector<HtmlCell> row{{.content = names[is]}, count_cell(rows)};
    for (size_t said = 0; said < size; ++said) {
      const int64_t count = all.matrix[is * size + said];
      const double share = rows ? static_cast<double>(count) / static_cast<double>(rows) : 0;
      HtmlCell cell = count_cell(count);
      cell.style = shade(share, is == said);
      cell.title = cat(percent(share), " of the ", grouped(rows), " rows of ", names[is], " are said to be ",
                       names[said]);
      row.push_back(cell);
    }
    table.rows.push_back(row);
  }
  return element("h3", "Confusion matrix") +
         element("p",
                 "A row holds the rows of a class, and each cell how many of them were said to be what: the "
                 "darker, the larger the share. The diagonal is right, all else wrong.") +
         drawn(table);
}

// Those that are told worst first.
Html class_dots(const PageFacts& facts, const char* metric, const std::vector<std::string>& names,
                size_t most) {
  const SliceFigures& all = facts.given().overall;
  IntervalChart chart{.caption = cat(metric, " = ", facts.formula(metric_of(metric, names[0]))),
                      .of_rows = "class",
                      .of_values = cat("value, ", facts.level()),
                      .rows = {}};
  for (size_t c = 0; c < names.size(); ++c) {
    const SliceMetric its = metric_of(metric, names[c]);
    const Figure figure = facts.figure(its, all);
    std::optional<Span> around;
    if (figure.interval) around = {figure.interval->low, figure.interval->high};
    chart.rows.push_back(
        {.name = names[c],
         .note = cat(grouped(rows_of_class(all, c)), " rows, ", grouped(rows_said(all, c)), " said"),
         .value = figure.value,
         .interval = around,
         .title = facts.title(its, figure)});
  }
  std::ranges::stable_sort(chart.rows, {}, [](const IntervalRow& row) { return row.value.value_or(2); });
  if (chart.rows.size() > most) chart.rows.resize(most);
  return drawn(chart);
}

Html classes_table(const PageFacts& facts, const std::vector<std::string>& names) {
  const SliceFigures& all = facts.given().overall;
  HtmlTable table{.id = "classes-figures",
                  .caption = "Every figure by class",
                  .columns = {{"class"},
                              {"metric"},
                              {"value", "", true},
                              {"low", "lower end of the interval", true},
                              {"high", "upper end of the interval", true},
                              {"of rows", "that the metric counts", true}}};
  for (const std::string& name : names) {
    for (const char* metric : kMetrics) {
      const SliceMetric its = metric_of(metric, name);
      const Figure figure = facts.figure(its, all);
      const std::vector<HtmlCell> ends = interval_cells(figure.interval);
      HtmlCell value = number_cell(figure.value);
      value.title = facts.title(its, figure);
      table.rows.push_back(
          {{.content = name}, {.content = metric}, value, ends[0], ends[1], count_cell(figure.rows)});
    }
  }
  return drawn(table);
}

}  // namespace

Html classes_section(const PageFacts& facts, size_t most) {
  const std::vector<std::string> names = classes_of(facts.given());
  if (names.empty()) return {};
  Html out;
  if (names.size() <= kMostInMatrix) {
    out += matrix_of(facts.given().overall, names);
  } else {
    out += element("p", cat("Of ", names.size(), " classes no matrix is drawn; the ",
                            std::min(most, names.size()), " that are told worst are below."));
  }
  std::vector<ChoicePanel> panels;
  for (const char* metric : kMetrics) panels.push_back({metric, class_dots(facts, metric, names, most)});
  return out + element("h3", "How well each class is told") + choice("classes-metric", "Metric:", panels) +
         element("details", element("summary", "All figures as a table") + classes_table(facts, names));
}

}  // namespace espalier
