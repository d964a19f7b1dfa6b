#include "cli/rows_section.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "format/utf8.h"
#include "report/html_table.h"

namespace espalier::cli {
namespace {

// What a model said of a row, and how far that is from what is true.
struct RowError {
  HtmlCell said;
  double error = 0;
};

HtmlCell number(double value) { return {.content = shortest(value), .number = value}; }

RowError error_of(const ScoredTable& scored, size_t i) {
  if (scored.task == ScoreTask::kTwoClasses)
    return {number(scored.scores[i]), std::abs(scored.scores[i] - scored.labels[i])};
  if (scored.task == ScoreTask::kClasses) {
    const std::string& said = scored.classes[scored.said[i]];
    const double missed = scored.scores.empty() ? scored.said[i] != scored.is[i]
                                                : 1 - scored.scores[i * scored.classes.size() + scored.is[i]];
    return {{.content = said}, missed};
  }
  const bool ranking = scored.task == ScoreTask::kRanking;
  return {number(scored.scores[i]),
          ranking ? scored.truths[i] : std::abs(scored.scores[i] - scored.truths[i])};
}

std::string text_of_cell(std::string_view cell) {
  return is_utf8(cell) ? std::string(cell) : utf8_of_windows1252(cell);
}

// In which order, and of what the number in the third column is.
struct Order {
  const char *words, *column;
};
Order order_of(ScoreTask task) {
  switch (task) {
    case ScoreTask::kTwoClasses:
      return {"whose score lies furthest from what is true", "off by"};
    case ScoreTask::kClasses:
      return {"in which what is true had the smallest score", "missed by"};
    case ScoreTask::kRegression:
      return {"of which the prediction is furthest off", "off by"};
    case ScoreTask::kRanking:
      break;
  }
  return {"that are worth most and have the lowest scores", "worth"};
}

constexpr const char* kRowsTable = "judged-rows";

}  // namespace

int64_t rows_on(std::string_view page) {
  const std::string caption = cat("<caption id=\"", kRowsTable, "-caption\">The ");
  const size_t found = page.find(caption);
  int64_t out = 0;
  if (found == page.npos) return out;
  const std::string_view count = page.substr(found + caption.size());
  std::from_chars(count.data(), count.data() + count.size(), out);
  return out;
}

PageSection rows_section(const ScoredTable& scored, int64_t most) {
  std::vector<std::pair<RowError, size_t>> worst;
  for (size_t i = 0; i < scored.rows.size(); ++i) worst.emplace_back(error_of(scored, i), i);
  std::ranges::stable_sort(worst, {}, [&](const auto& each) {
    return std::pair(-each.first.error, scored.task == ScoreTask::kRanking ? *each.first.said.number : 0);
  });
  worst.resize(std::min(worst.size(), static_cast<size_t>(most)));
  const Order order = order_of(scored.task);
  HtmlTable table{.id = kRowsTable,
                  .caption = cat("The ", worst.size(), " of ", grouped(std::ssize(scored.rows)), " rows ",
                                 order.words, ", the worst first"),
                  .columns = {{.name = "line", .numbers = true},
                              {.name = "said", .numbers = scored.task != ScoreTask::kClasses},
                              {.name = order.column, .numbers = true}}};
  for (const std::string& name : scored.table.names()) table.columns.push_back({.name = text_of_cell(name)});
  for (const auto& [row_error, i] : worst) {
    const int64_t row = scored.rows[i], line = scored.table.line(row);
    std::vector<HtmlCell>& cells = table.rows.emplace_back();
    cells = {
        {.content = cat(line), .number = static_cast<double>(line)}, row_error.said, number(row_error.error)};
    for (int64_t column = 0; column < scored.table.columns(); ++column)
      cells.push_back({.content = text_of_cell(scored.table.cell(row, column))});
  }
  PageSection out{.id = "rows", .title = "Rows", .body = drawn(table)};
  if (out.body.markup().size() > kMostPageBytes / 2) {
    throw ValueError("check.with_rows",
                     cat(worst.size(), " rows take ", out.body.markup().size(), " bytes, and a page has ",
                         kMostPageBytes, " for all that it says"),
                     "ask for fewer with --with-rows");
  }
  return out;
}

}  // namespace espalier::cli
