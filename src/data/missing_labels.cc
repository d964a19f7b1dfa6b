#include "data/missing_labels.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "data/column_profile.h"

namespace espalier {

std::string missing_labels(const CsvTable& table, int64_t column, const MissingWords& missing,
                           const std::string& who) {
  const MissingWords& words = missing.of(table.names()[static_cast<size_t>(column)]);
  std::map<std::string_view, int64_t> rows;
  for (int64_t row = 0; row < table.rows(); ++row) {
    const std::string_view cell = table.cell(row, column);
    if (!cell.empty() && words.contains(cell)) ++rows[cell];
  }
  if (rows.empty()) return "";
  const ColumnProfile others = profile_column(table, all_rows(table), column, missing);
  if (number_form(others).cells == others.present()) return "";
  std::vector<std::pair<std::string_view, int64_t>> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  std::vector<std::string> flag;
  for (const auto& [word, count] : sorted) {
    const std::string share = share_of_rows(count, table.rows());
    const char* const say = share.ends_with('%') ? " of the rows say " : count == 1 ? " says " : " say ";
    out += cat(flag.empty()                       ? ""
               : flag.size() + 1 == sorted.size() ? " and "
                                                  : ", ",
               share, flag.empty() ? say : " ", word);
    flag.emplace_back(word);
  }
  const bool one = flag.size() == 1;
  return cat(out, one ? ", which counts as missing; " : ", which count as missing; ", who,
             shell_words({"--not-missing", names_in_list(flag)}),
             one ? " makes it a class" : " makes them classes");
}

}  // namespace espalier
