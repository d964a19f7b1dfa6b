// Tables of a page, which sort and can be saved as CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/html.h"

namespace espalier {

struct HtmlCell {
  Html content;
  std::optional<double> number = {};  // by which it is sorted, and that is saved in full
  std::string text = {};              // the same where it is no number and not the content's
  std::string title = {};
  std::string style = {};  // class names of the page's style
};
struct HtmlColumn {
  std::string name, title = {};
  bool numbers = false;  // aligned to the right
};
struct HtmlTable {
  std::string id;  // also the name of the CSV file
  std::string caption;
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows = {};  // the first cell names the row
};

// Raises ValueError[report.row] unless each row has a cell for each column.
Html drawn(const HtmlTable& table);

// The class of a cell of a heat map: how far, with its sign, a value is from what it is compared with.
// "" within 0.02; marks of arrows stand beside the colour from 0.05 on.
std::string heat(double difference);
// The class of a cell that holds a share of its row, which is right or wrong: the larger, the darker; ""
// below a hundredth.
std::string shade(double share, bool right);
// What the colours and marks mean, with the word for what is compared with.
Html heat_legend(const std::string& compared_with);

}  // namespace espalier
