#include "report/html_table.h"

#include <array>
#include <cmath>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr std::array<double, 3> kHeat{0.02, 0.05, 0.1};

Html header(const HtmlColumn& column) {
  return element(
      "th", {{"scope", "col"}, {"class", column.numbers ? "number" : "text"}},
      element("button", {{"type", "button"}, {"class", "sort"}, {"title", column.title}}, column.name));
}

Html drawn_cell(const HtmlCell& cell, const HtmlColumn& column, bool names_row) {
  std::string style = column.numbers ? "number" : "";
  if (!cell.style.empty()) style += cat(style.empty() ? "" : " ", cell.style);
  return element(names_row ? "th" : "td",
                 {{"scope", names_row ? "row" : ""},
                  {"class", style},
                  {"data-v", cell.number ? shortest(*cell.number) : cell.text},
                  {"title", cell.title}},
                 cell.content);
}

}  // namespace

Html drawn(const HtmlTable& table) {
  Html head, body;
  for (const HtmlColumn& column : table.columns) head += header(column);
  for (const std::vector<HtmlCell>& row : table.rows) {
    if (row.size() != table.columns.size()) {
      throw ValueError("report.row", cat("a row of ", row.size(), " cells in the table \"", table.caption,
                                         "\" of ", table.columns.size(), " columns"));
    }
    Html cells;
    for (size_t i = 0; i < row.size(); ++i) cells += drawn_cell(row[i], table.columns[i], i == 0);
    body += element("tr", cells) + Html("\n");
  }
  const std::string caption_id = cat(table.id, "-caption");
  // Wide tables scroll inside of the page; who has no mouse needs the focus for that.
  const Html scrolled = element(
      "div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-labelledby", caption_id}},
      element("table", {{"id", table.id}},
              element("caption", {{"id", caption_id}}, table.caption) +
                  element("thead", element("tr", head)) + element("tbody", body)));
  return scrolled +
         element("p", {{"class", "tools scripted"}},
                 element("button", {{"type", "button"}, {"class", "save"}, {"data-table", table.id}},
                         "Save as CSV"));
}

std::string heat(double difference) {
  int level = 0;
  for (const double from : kHeat) level += std::abs(difference) >= from;
  return level == 0 ? "" : cat("heat ", difference < 0 ? "low" : "high", level);
}

std::string shade(double share, bool right) {
  constexpr std::array<double, 3> kFrom{0.01, 0.1, 0.5};
  int level = 0;
  for (const double from : kFrom) level += share >= from;
  return level == 0 ? "" : cat("heat ", right ? "right" : "wrong", level);
}

Html heat_legend(const std::string& compared_with) {
  Html out;
  const auto mark = [&](double difference, const std::string& text) {
    out += element("span", {{"class", cat("key ", heat(difference))}}, text);
  };
  mark(-kHeat[2], cat("0.1 or more below ", compared_with));
  mark(-kHeat[1], "0.05 below");
  mark(-kHeat[0], "0.02 below");
  mark(0, "near");
  mark(kHeat[0], "0.02 above");
  mark(kHeat[1], "0.05 above");
  mark(kHeat[2], "0.1 or more above");
  return element("p", {{"class", "legend"}}, out);
}

}  // namespace espalier
