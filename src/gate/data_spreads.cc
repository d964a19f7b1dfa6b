#include "gate/data_spreads.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "data/equal_values.h"
#include "report/html.h"

namespace espalier {
namespace {

constexpr size_t kBins = 20, kValues = 10;

// Three digits of it.
std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return short_number(std::stod(text));
}

void spread_numbers(const std::vector<double>& train, const std::vector<double>& now, int64_t k,
                    const ColumnLimits& limits, ColumnSpread& out) {
  std::vector<double> all = train;
  all.insert(all.end(), now.begin(), now.end());
  std::ranges::sort(all);
  const size_t cut = std::min(std::max(static_cast<size_t>(k), all.size() / 100), (all.size() - 1) / 2);
  const double low = all[cut], high = all[all.size() - 1 - cut];
  const auto shares = [&](const std::vector<double>& values) {
    std::vector<double> out(kBins);
    for (const double value : values) {
      const double place = high > low ? (value - low) / (high - low) * static_cast<double>(kBins) : 0;
      out[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(kBins - 1)))] += 1;
    }
    return out;
  };
  out.train = shares(train);
  out.now = shares(now);
  out.axis = cat(rounded(low), " to ", rounded(high));
  for (const std::optional<double>& limit : {limits.min, limits.max}) {
    if (limit && low <= *limit && *limit <= high && low < high)
      out.marks.push_back((*limit - low) / (high - low));
  }
}

// The most frequent values; the rarer ones, and those of fewer than k rows, in one bar.
void spread_values(const ColumnProfile& train, const ColumnProfile& now, int64_t k,
                   const ColumnLimits& limits, ColumnSpread& out) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> counts;
  for (const auto& value : train.values) counts[value.text].first = value.count;
  for (const auto& value : now.values) counts[value.text].second = value.count;
  std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> ranked(counts.begin(), counts.end());
  std::ranges::stable_sort(ranked, std::ranges::greater(),
                           [](const auto& entry) { return entry.second.first + entry.second.second; });
  // The bar of a value tells how many rows have it, in either table.
  const auto tells_of_few = [&](int64_t count) { return 0 < count && count < k; };
  int64_t others = 0;
  double rest_train = 0, rest_now = 0;
  for (const auto& [text, count] : ranked) {
    if (out.train.size() < kValues && !tells_of_few(count.first) && !tells_of_few(count.second)) {
      out.train.push_back(static_cast<double>(count.first));
      out.now.push_back(static_cast<double>(count.second));
      out.axis +=
          cat(out.axis.empty() ? "" : ", ", text, limits.allows(std::string(text)) ? "" : " (not allowed)");
      continue;
    }
    ++others;
    rest_train += static_cast<double>(count.first);
    rest_now += static_cast<double>(count.second);
  }
  if (others > 0) {
    out.train.push_back(rest_train);
    out.now.push_back(rest_now);
    out.axis += cat(out.axis.empty() ? "" : ", ", grouped(others), others == 1 ? " other" : " others");
  }
}

// "0 to 120", "at least 0", "5 values".
std::string limits_text(const ColumnLimits& limits) {
  if (limits.values)
    return cat(grouped(std::ssize(*limits.values)), limits.values->size() == 1 ? " value" : " values");
  if (limits.min && limits.max) return cat(short_number(*limits.min), " to ", short_number(*limits.max));
  if (limits.min) return cat("at least ", short_number(*limits.min));
  return limits.max ? cat("at most ", short_number(*limits.max)) : "-";
}

// By column what drifted furthest.
std::map<std::string, ColumnDrift> furthest_drifts(const CsvTable& train, const CsvTable& now,
                                                   const MissingWords& missing) {
  const auto rank = [](const ColumnDrift& drift) { return std::pair(drift.drifted, drift.effect); };
  std::map<std::string, ColumnDrift> out;
  for (const ColumnDrift& drift : find_drift(train, now, {.missing = missing})) {
    const auto [place, first] = out.try_emplace(drift.column, drift);
    if (!first && rank(place->second) < rank(drift)) place->second = drift;
  }
  return out;
}

}  // namespace

DataSpreads spreads_of(const CsvTable& train, const CsvTable& now, const DataSpreadOptions& options) {
  DataSpreads out{.train_rows = train.rows(), .now_rows = now.rows()};
  const std::map<std::string, ColumnDrift> drifts = furthest_drifts(train, now, options.missing);
  for (const std::string& name : train.names()) {
    if (!std::ranges::count(now.names(), name) || options.ignored.contains(name)) continue;
    const auto drift = drifts.find(name);
    out.columns.push_back(
        {.name = name, .drift = drift == drifts.end() ? std::nullopt : std::optional(drift->second)});
  }
  std::ranges::stable_sort(out.columns, std::ranges::greater(), [](const ColumnSpread& column) {
    return column.drift ? std::pair(column.drift->drifted, column.drift->effect) : std::pair(false, -1.0);
  });
  while (out.columns.size() > options.most_columns) {
    out.others.insert(out.others.begin(), out.columns.back().name);
    out.columns.pop_back();
  }
  const MissingWords& missing = options.missing;
  const std::vector<int64_t> train_rows = all_rows(train), now_rows = all_rows(now);
  for (ColumnSpread& column : out.columns) {
    const ColumnProfile cells_x = profile_column(train, train_rows, train.column(column.name), missing),
                        cells_y = profile_column(now, now_rows, now.column(column.name), missing);
    const EqualValues equal(cells_x, cells_y);
    const ColumnProfile x = by_value(cells_x, equal), y = by_value(cells_y, equal);
    const auto found = options.limits.find(column.name);
    const ColumnLimits limits = found == options.limits.end() ? ColumnLimits() : found->second;
    const std::optional<NumberForm> form = form_of_all(x, y);
    if (form && x.values.size() + y.values.size() > 2 * kValues)
      spread_numbers(sorted_numbers(x, *form), sorted_numbers(y, *form), options.k, limits, column);
    else
      spread_values(x, y, options.k, limits, column);
    column.allowed = limits_text(limits);
    column.train_missing = x.missing;
    column.now_missing = y.missing;
  }
  return out;
}

}  // namespace espalier
