#include "gate/data_section.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/format.h"
#include "data/column_profile.h"
#include "evaluate/drift.h"
#include "report/histogram.h"
#include "report/html_table.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr size_t kBins = 20, kValues = 10;

// How the cells of a column are spread in both tables, and in words.
struct Spread {
  std::vector<double> train, now;
  std::string axis;
  std::vector<double> marks = {};  // of limits, from 0 to 1
};

// Three digits of it.
std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return short_number(std::stod(text));
}

Spread spread_of_numbers(std::vector<double> train, std::vector<double> now, int64_t k,
                         const ColumnLimits& limits) {
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
  Spread out{shares(train), shares(now), cat(rounded(low), " to ", rounded(high))};
  for (const std::optional<double>& limit : {limits.min, limits.max}) {
    if (limit && low <= *limit && *limit <= high && low < high)
      out.marks.push_back((*limit - low) / (high - low));
  }
  return out;
}

// The most frequent values; the rarer ones, and those of fewer than k rows, in one bar.
Spread spread_of_values(const ColumnProfile& train, const ColumnProfile& now, int64_t k,
                        const ColumnLimits& limits) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> counts;
  for (const auto& value : train.values) counts[value.text].first = value.count;
  for (const auto& value : now.values) counts[value.text].second = value.count;
  std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> ranked(counts.begin(), counts.end());
  std::ranges::stable_sort(ranked, std::ranges::greater(),
                           [](const auto& entry) { return entry.second.first + entry.second.second; });
  Spread out;
  int64_t others = 0;
  double rest_train = 0, rest_now = 0;
  for (const auto& [text, count] : ranked) {
    if (out.train.size() < kValues && std::max(count.first, count.second) >= k) {
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
  return out;
}

// "0 to 120", "at least 0", "5 values".
std::string text_of(const ColumnLimits& limits) {
  if (limits.values)
    return cat(grouped(std::ssize(*limits.values)), limits.values->size() == 1 ? " value" : " values");
  if (limits.min && limits.max) return cat(short_number(*limits.min), " to ", short_number(*limits.max));
  if (limits.min) return cat("at least ", short_number(*limits.min));
  return limits.max ? cat("at most ", short_number(*limits.max)) : "-";
}

HtmlCell percent(int64_t part, int64_t whole) {
  const double share = whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  return {.content = cat(fixed(100 * share, 1), " %"), .number = share};
}

class Section {
 public:
  Section(const CsvTable& train, const CsvTable& now, const DataSectionOptions& options)
      : train_(train), now_(now), options_(options), missing_(options.missing) {
    for (const ColumnDrift& drift : find_drift(train, now, {.missing = options.missing}))
      drifts_[drift.column].push_back(drift);
  }

  Html columns() const {
    HtmlTable table{.id = "data-columns",
                    .caption = cat("Above each line ", options_.train, ", below it ", options_.now,
                                   ". Drift is the distance of distributions, of shares of a value, or of "
                                   "missing cells, whichever is largest"),
                    .columns = {{.name = "column"},
                                {.name = "spread"},
                                {.name = "from, to, or values"},
                                {.name = "allowed", .title = "by the schema, drawn as broken lines"},
                                {.name = cat("missing, ", options_.train), .numbers = true},
                                {.name = cat("missing, ", options_.now), .numbers = true},
                                {.name = "drift", .numbers = true},
                                {.name = "95 % interval", .numbers = true},
                                {.name = "stability index", .numbers = true},
                                {.name = "adjusted p", .numbers = true}}};
    const std::vector<size_t> order = by_drift();
    for (size_t i = 0; i < std::min(order.size(), options_.most_columns); ++i)
      table.rows.push_back(row(train_.names()[order[i]]));
    Html out = drawn(table);
    std::string rest;
    for (size_t i = options_.most_columns; i < order.size(); ++i)
      rest += cat(rest.empty() ? "" : ", ", train_.names()[order[i]]);
    if (!rest.empty()) out += element("p", cat("Not drawn, and nearer to each other: ", rest, "."));
    return out;
  }

 private:
  // What drifted furthest; null where nothing was compared.
  const ColumnDrift* worst(const std::string& column) const {
    const auto found = drifts_.find(column);
    if (found == drifts_.end()) return nullptr;
    return &*std::ranges::max_element(
        found->second, {}, [](const ColumnDrift& drift) { return std::pair(drift.drifted, drift.effect); });
  }
  std::vector<size_t> by_drift() const {
    std::vector<size_t> out;
    for (size_t c = 0; c < train_.names().size(); ++c) {
      const std::string& name = train_.names()[c];
      if (std::ranges::count(now_.names(), name) && !options_.ignored.contains(name)) out.push_back(c);
    }
    std::ranges::stable_sort(out, std::ranges::greater(), [&](size_t c) {
      const ColumnDrift* drift = worst(train_.names()[c]);
      return drift ? std::pair(drift->drifted, drift->effect) : std::pair(false, -1.0);
    });
    return out;
  }

  std::vector<HtmlCell> row(const std::string& name) const {
    const ColumnProfile train = profile_column(train_, all_rows(train_), train_.column(name), missing_);
    const ColumnProfile now = profile_column(now_, all_rows(now_), now_.column(name), missing_);
    std::vector<HtmlCell> out = {{.content = name}};
    const auto found = options_.limits.find(name);
    const ColumnLimits limits = found == options_.limits.end() ? ColumnLimits() : found->second;
    const Spread spread = spread_of(train, now, limits);
    out.push_back({.content = mirrored_histogram(spread.train, spread.now, spread.marks), .style = "spread"});
    out.push_back({.content = spread.axis});
    out.push_back({.content = text_of(limits)});
    out.push_back(percent(train.missing, train.rows()));
    out.push_back(percent(now.missing, now.rows()));
    const ColumnDrift* drift = worst(name);
    if (!drift) {
      for (int i = 0; i < 4; ++i) out.push_back({.content = "-"});
      return out;
    }
    out.push_back({.content = cat(fixed(drift->effect, 3), drift->drifted ? " drifted" : ""),
                   .number = drift->effect,
                   .style = drift->drifted ? heat(1) : ""});
    out.push_back({.content = cat(fixed(drift->interval.low, 3), " to ", fixed(drift->interval.high, 3))});
    out.push_back(drift->stability
                      ? HtmlCell{.content = fixed(*drift->stability, 4), .number = *drift->stability}
                      : HtmlCell{.content = "-"});
    out.push_back({.content = fixed(drift->adjusted_p, 4), .number = drift->adjusted_p});
    return out;
  }
  Spread spread_of(const ColumnProfile& train, const ColumnProfile& now, const ColumnLimits& limits) const {
    const auto x = plain_numbers(train), y = plain_numbers(now);
    const bool numbers = x && y && x->size() + y->size() > 2 * kValues;
    if (!numbers) return spread_of_values(train, now, options_.k, limits);
    return spread_of_numbers(*sorted_numbers(train), *sorted_numbers(now), options_.k, limits);
  }

  const CsvTable &train_, &now_;
  const DataSectionOptions& options_;
  const MissingWords missing_;
  std::map<std::string, std::vector<ColumnDrift>> drifts_;
};

Html fault_table(const std::vector<DataFault>& faults) {
  if (faults.empty()) return element("p", "No fault was found in them.");
  HtmlTable table{.id = "data-faults",
                  .caption = "What was found in them",
                  .columns = {{.name = "question"}, {.name = "severity"}, {.name = "finding"}}};
  for (const DataFault& fault : faults) {
    table.rows.push_back({{.content = std::string(kFaultsOf[static_cast<size_t>(fault.of)])},
                          {.content = fault.warning ? "warning" : "note"},
                          {.content = fault.text}});
  }
  return drawn(table);
}

}  // namespace

PageSection data_section(const CsvTable& train, const CsvTable& now, const std::vector<DataFault>& faults,
                         const DataSectionOptions& options) {
  return {.id = "data",
          .title = "Data",
          .body = element("p", cat(options.train, ": ", grouped(train.rows()), " rows; ", options.now, ": ",
                                   grouped(now.rows()), " rows.")) +
                  fault_table(faults) + Section(train, now, options).columns()};
}

}  // namespace espalier
