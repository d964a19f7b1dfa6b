// Numbers as dots, with the intervals in which the true ones lie.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/html.h"

namespace espalier {

struct Span {
  double low = 0, high = 0;
};
struct IntervalRow {
  std::string name, note = {};       // "sex=Female", "1,234 rows, 590 positives"
  std::optional<double> value = {};  // none draws nothing and says so
  std::optional<Span> interval = {};
  std::string title = {};
  std::string grey = {};  // why little is to be thought of it; "" draws it in full
  std::optional<double> limit = {};
  std::vector<std::string> swatches = {};  // colours that stand behind the name
};
struct IntervalChart {
  std::string caption;
  std::string of_rows = "slice", of_values = "value";  // headers
  std::vector<IntervalRow> rows;                       // as they are drawn from top to bottom
  std::optional<double> line = {};                     // drawn across all rows
  std::string line_name = {};                          // "all rows 0.612"
};
// A table whose middle column is the drawing, so that it reads without eyes and fits narrow screens.
Html drawn(const IntervalChart& chart);

}  // namespace espalier
