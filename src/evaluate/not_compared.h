// What a comparison of two tables did not take, and why: it is no pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier {

struct NotCompared {
  std::string column;  // "" for all of them
  std::string why;     // "15 rows, 20 needed", "it names the rows: no two are alike in it"
  std::optional<int64_t> have = {}, needed = {};  // rows, where there are too few
};
// A line each, below "Not compared:", of the first ten; "" without any.
std::string text(const std::vector<NotCompared>& all);

}  // namespace espalier
