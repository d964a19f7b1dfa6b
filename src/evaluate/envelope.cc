#include "evaluate/envelope.h"

#include <algorithm>

#include "data/column_profile.h"
#include "evaluate/multiplicity.h"

namespace espalier {

double beyond_chance(int64_t beyond, int64_t before, int64_t now) {
  double out = 1;
  for (int64_t i = 0; i < beyond; ++i)
    out *= static_cast<double>(now - i) / static_cast<double>(before + now - i);
  return out;
}

std::vector<ColumnBeyond> find_beyond(const CsvTable& before, const CsvTable& now,
                                      const BeyondOptions& options) {
  constexpr int64_t kFewRows = 20;
  const MissingWords& missing = options.missing;
  const std::vector<int64_t> rows_before = all_rows(before), rows_now = all_rows(now);
  std::vector<ColumnBeyond> out;
  for (size_t c = 0; c < before.names().size(); ++c) {
    const auto place = std::ranges::find(now.names(), before.names()[c]);
    if (place == now.names().end()) continue;
    const ColumnProfile a =
        numbers_alone(profile_column(before, rows_before, static_cast<int64_t>(c), missing));
    const ColumnProfile b =
        numbers_alone(profile_column(now, rows_now, place - now.names().begin(), missing));
    if (a.present() < kFewRows || b.present() < kFewRows) continue;
    if (names_rows(before.names()[c], a) && names_rows(before.names()[c], b)) continue;
    const std::optional<NumberForm> form = form_of_all(a, b);
    if (!form) continue;
    const std::vector<double> seen = value_numbers(a, *form), met = value_numbers(b, *form);
    const auto [least, most] = std::ranges::minmax(seen);
    ColumnBeyond& its = out.emplace_back();
    its.column = before.names()[c];
    its.of = b.present();
    for (size_t i = 0; i < met.size(); ++i) {
      if (met[i] < least) its.below += b.values[i].count;
      if (met[i] > most) its.above += b.values[i].count;
      if (std::max(least - met[i], met[i] - most) > most - least) its.far_out += b.values[i].count;
    }
    its.p = std::min(1.0, 2 * beyond_chance(std::max(its.below, its.above), a.present(), its.of));
  }
  std::vector<double> p;
  for (const ColumnBeyond& column : out) p.push_back(column.p);
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].adjusted_p = adjusted[i];
    out[i].far = adjusted[i] <= options.alpha;
  }
  return out;
}

}  // namespace espalier
