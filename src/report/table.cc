#include "report/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

bool is_number(std::string_view text) {
  if (text.ends_with(" %")) text.remove_suffix(2);
  return text == "-" || text == "." || text.empty() ||
         (text.find_first_not_of("0123456789.,+-eE") == std::string_view::npos &&
          text.find_first_of("0123456789") != std::string_view::npos);
}

constexpr int kGap = 2;
constexpr int kLeastText = 16;  // columns of text are no narrower than this
constexpr int kWholeWord = 24;  // words up to this are not cut where the table fits without

// Colours are set by escape sequences.
std::string on_one_line(const std::string& text) {
  return text.find('\x1b') == text.npos ? printable(text) : text;
}

int longest_word(std::string_view text) {
  int out = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    out = std::max(out, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

int total(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), kGap * (static_cast<int>(widths.size()) - 1));
}

// Makes columns of text narrower, the widest first, until they all fit; whether they do.
bool shrink(std::vector<int>& widths, const std::vector<int>& least, const std::vector<bool>& numbers,
            int columns) {
  while (total(widths) > columns) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (!numbers[i] && widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    }
    if (widest == widths.size()) return false;
    --widths[widest];
  }
  return true;
}

// So that the first column, which is text as a rule, fits beside any other one.
void limit(std::vector<int>& widths, const std::vector<bool>& numbers, int columns) {
  if (!numbers[0]) widths[0] = std::min(widths[0], std::max(kLeastText, columns / 3));
  for (size_t i = 1; i < widths.size(); ++i) {
    if (!numbers[i]) widths[i] = std::min(widths[i], std::max(kLeastText, columns - widths[0] - kGap));
  }
}

// The columns that stand beside each other, the first one in each block.
std::vector<std::vector<size_t>> blocks(const std::vector<int>& widths, const Terminal& terminal) {
  std::vector<std::vector<size_t>> out = {{0}};
  int used = widths[0];
  for (size_t i = 1; i < widths.size(); ++i) {
    const int more = kGap + widths[i];
    if (terminal.bounded && out.back().size() > 1 && used + more > terminal.columns) {
      out.push_back({0});
      used = widths[0];
    }
    out.back().push_back(i);
    used += more;
  }
  return out;
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {
  for (std::string& name : header_) name = on_one_line(name);
}

Table& Table::row(std::vector<TableCell> cells) {
  if (cells.size() != header_.size())
    throw ValueError("table.row",
                     cat("a row of ", cells.size(), " cells in a table of ", header_.size(), " columns"));
  for (TableCell& cell : cells) cell.text = on_one_line(cell.text);
  rows_.push_back(std::move(cells));
  return *this;
}

Table::Layout Table::measure() const {
  Layout out;
  for (size_t i = 0; i < header_.size(); ++i) {
    int width = display_width(header_[i]), least = kLeastText;
    bool numbers = !rows_.empty();
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[i].text));
      least = std::max(least, std::min(longest_word(row[i].text), kWholeWord));
      numbers = numbers && is_number(row[i].text);
    }
    out.widths.push_back(width);
    out.least.push_back(least);
    out.right.push_back(numbers);
  }
  return out;
}

void Table::print(const std::vector<size_t>& columns, const Layout& layout, const Terminal& terminal,
                  std::string& out) const {
  const auto line = [&](auto cell_of) {
    int missing = 0;
    for (const size_t i : columns) {
      const TableCell cell = cell_of(i);
      const int padding = layout.widths[i] - display_width(cell.text);
      if (!cell.text.empty()) {
        out.append(static_cast<size_t>(missing + (layout.right[i] ? padding : 0)), ' ');
        out += terminal.paint(cell.ink, cell.text);
        missing = layout.right[i] ? kGap : padding + kGap;
      } else {
        missing += padding + kGap;
      }
    }
    out += '\n';
  };
  const auto lines = [&](auto cell_of) {
    std::vector<std::vector<std::string>> texts(header_.size());
    size_t height = 1;
    for (const size_t i : columns) {
      texts[i] = wrapped(cell_of(i).text, layout.widths[i]);
      height = std::max(height, texts[i].size());
    }
    for (size_t n = 0; n < height; ++n)
      line([&](size_t i) { return TableCell(n < texts[i].size() ? texts[i][n] : "", cell_of(i).ink); });
  };
  lines([&](size_t i) { return TableCell(header_[i], Ink::kBold); });
  line([&](size_t i) {
    return TableCell(std::string(static_cast<size_t>(layout.widths[i]), '-'), Ink::kDim);
  });
  for (const auto& row : rows_) lines([&](size_t i) { return row[i]; });
}

std::string Table::text(const Terminal& terminal) const {
  Layout layout = measure();
  if (terminal.bounded) {
    const std::vector<int> natural = layout.widths, shortest(natural.size(), kLeastText);
    for (const std::vector<int>& least : {layout.least, shortest}) {
      layout.widths = natural;
      if (shrink(layout.widths, least, layout.right, terminal.columns)) break;
      layout.widths = natural;
      limit(layout.widths, layout.right, terminal.columns);
    }
  }
  std::string out;
  for (const std::vector<size_t>& block : blocks(layout.widths, terminal)) {
    if (!out.empty()) out += '\n';
    print(block, layout, terminal, out);
  }
  return out;
}

std::string significant(double value, int digits) {
  const double size = std::abs(value);
  if (!(size >= 10) || std::isinf(size)) return fixed(value, digits);
  return fixed(value, std::max(0, digits - static_cast<int>(std::log10(size))));
}
std::string percent(double fraction, int digits) { return fixed(100 * fraction, digits) + " %"; }

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
  // Both margins alike, in so many digits that ten classes fit 80 columns.
  const auto share = [digits = n > 5 ? 0 : 1](int64_t right, int64_t all) {
    return all == 0 ? "-" : percent(static_cast<double>(right) / static_cast<double>(all), digits);
  };
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
    row.emplace_back(share(counts[truth * n + truth], total));
    table.row(std::move(row));
  }
  std::vector<TableCell> precision{TableCell("precision", Ink::kBold)};
  for (size_t predicted = 0; predicted < n; ++predicted)
    precision.emplace_back(share(counts[predicted * n + predicted], said[predicted]));
  precision.emplace_back("");
  table.row(std::move(precision));
  return table.text(terminal);
}

}  // namespace espalier
