#include "report/table.h"

#include <algorithm>
#include <cstdio>

#include "espalier/error.h"

namespace espalier {
namespace {

bool is_number(std::string_view text) {
  return text == "-" || text == "." || text.empty() ||
         (text.find_first_not_of("0123456789.,+-%eE") == std::string_view::npos &&
          text.find_first_of("0123456789") != std::string_view::npos);
}

}  // namespace

Table& Table::row(std::vector<TableCell> cells) {
  if (cells.size() != header_.size())
    throw ValueError("table.row",
                     cat("a row of ", cells.size(), " cells in a table of ", header_.size(), " columns"));
  rows_.push_back(std::move(cells));
  return *this;
}

std::string Table::text(const Terminal& terminal) const {
  const size_t columns = header_.size();
  std::vector<int> widths;
  std::vector<bool> right;
  for (size_t i = 0; i < columns; ++i) {
    int width = display_width(header_[i]);
    bool numbers = !rows_.empty();
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[i].text));
      numbers = numbers && is_number(row[i].text);
    }
    widths.push_back(width);
    right.push_back(numbers);
  }
  std::string out;
  const auto line = [&](auto cell_of) {
    int missing = 0;
    for (size_t i = 0; i < columns; ++i) {
      const TableCell cell = cell_of(i);
      const int padding = widths[i] - display_width(cell.text);
      if (!cell.text.empty()) {
        out.append(static_cast<size_t>(missing + (right[i] ? padding : 0)), ' ');
        out += terminal.paint(cell.ink, cell.text);
        missing = right[i] ? 2 : padding + 2;
      } else {
        missing += padding + 2;
      }
    }
    out += '\n';
  };
  line([&](size_t i) { return TableCell(header_[i], Ink::kBold); });
  line([&](size_t i) { return TableCell(std::string(static_cast<size_t>(widths[i]), '-'), Ink::kDim); });
  for (const auto& row : rows_) line([&](size_t i) { return row[i]; });
  return out;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double fraction, int digits) { return fixed(100 * fraction, digits) + "%"; }

std::string confusion_matrix(std::span<const int64_t> counts, const std::vector<std::string>& labels,
                             const Terminal& terminal) {
  const size_t n = labels.size();
  if (counts.size() != n * n)
    throw ValueError("confusion_matrix.counts",
                     cat(n, " classes need ", n * n, " counts, got ", counts.size()));
  std::vector<std::string> header{"true"};
  header.insert(header.end(), labels.begin(), labels.end());
  header.push_back("recall");
  Table table(header);
  const auto share = [](int64_t right, int64_t all, int digits) {
    return all == 0 ? "-" : percent(static_cast<double>(right) / static_cast<double>(all), digits);
  };
  const int narrow = n > 5 ? 0 : 1;  // digits, so that ten classes fit 80 columns
  std::vector<int64_t> said(n);
  for (size_t truth = 0; truth < n; ++truth) {
    std::vector<TableCell> row{TableCell(labels[truth], Ink::kBold)};
    int64_t total = 0;
    for (size_t predicted = 0; predicted < n; ++predicted) {
      const int64_t count = counts[truth * n + predicted];
      total += count;
      said[predicted] += count;
      const Ink ink = count == 0 || truth == predicted ? Ink::kDim : Ink::kBad;
      row.push_back(count == 0 ? TableCell(".", ink) : TableCell(count, ink));
    }
    row.emplace_back(share(counts[truth * n + truth], total, 1));
    table.row(std::move(row));
  }
  std::vector<TableCell> precision{TableCell("precision", Ink::kBold)};
  for (size_t predicted = 0; predicted < n; ++predicted)
    precision.emplace_back(share(counts[predicted * n + predicted], said[predicted], narrow));
  precision.emplace_back("");
  table.row(std::move(precision));
  return table.text(terminal);
}

}  // namespace espalier
