// What a comparison of two tables did not take, and why: it is no pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace espalier {

struct NotCompared {
  std::string column;  // "" for all of them
  std::string why;     // "15 rows, 20 needed", "it names the rows: no two are alike in it"
  std::optional<int64_t> have = {}, needed = {};  // rows, where there are too few
};
// A line each, below "Not compared:", of the first ten; "" without any.
std::string text(const std::vector<NotCompared>& all);
// A list of column (null for all of them), why, have and needed (null where it is of no number of rows).
nlohmann::ordered_json json_of(const std::vector<NotCompared>& all);

}  // namespace espalier
