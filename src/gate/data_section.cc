#include "gate/data_section.h"

#include "base/format.h"
#include "data/column_profile.h"
#include "report/histogram.h"
#include "report/html_table.h"
#include "report/table.h"

namespace espalier {
namespace {

HtmlCell share_cell(int64_t part, int64_t whole) {
  const double share = whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  return {.content = percent(share), .number = share};
}

std::vector<HtmlCell> row_of(const ColumnSpread& column, const DataSpreads& of) {
  std::vector<HtmlCell> out = {
      {.content = column.name},
      {.content = mirrored_histogram(column.train, column.now, column.marks), .style = "spread"},
      {.content = column.axis},
      {.content = column.allowed},
      share_cell(column.train_missing, of.train_rows),
      share_cell(column.now_missing, of.now_rows)};
  if (!column.drift) {
    out.insert(out.end(), 4, {.content = "-"});
    return out;
  }
  const ColumnDrift& drift = *column.drift;
  out.push_back({.content = cat(fixed(drift.effect, 3), drift.drifted ? " drifted" : ""),
                 .number = drift.effect,
                 .style = drift.drifted ? heat(1) : ""});
  out.push_back({.content = cat(fixed(drift.interval.low, 3), " to ", fixed(drift.interval.high, 3))});
  out.push_back(drift.stability ? HtmlCell{.content = fixed(*drift.stability, 4), .number = *drift.stability}
                                : HtmlCell{.content = "-"});
  out.push_back({.content = fixed(drift.adjusted_p, 4), .number = drift.adjusted_p});
  return out;
}

Html column_table(const DataSpreads& spreads, const TableNames& names) {
  HtmlTable table{.id = "data-columns",
                  .caption = cat("Above each line ", names.train, ", below it ", names.now,
                                 ". Drift is the distance of distributions, of shares of a value, or of "
                                 "missing cells, whichever is largest"),
                  .columns = {{.name = "column"},
                              {.name = "spread"},
                              {.name = "from, to, or values"},
                              {.name = "allowed", .title = "by the schema, drawn as broken lines"},
                              {.name = cat("missing, ", names.train), .numbers = true},
                              {.name = cat("missing, ", names.now), .numbers = true},
                              {.name = "drift", .numbers = true},
                              {.name = "95 % interval", .numbers = true},
                              {.name = "stability index", .numbers = true},
                              {.name = "adjusted p", .numbers = true}}};
  for (const ColumnSpread& column : spreads.columns) table.rows.push_back(row_of(column, spreads));
  Html out = drawn(table);
  std::string rest;
  for (const std::string& name : spreads.others) rest += cat(rest.empty() ? "" : ", ", name);
  if (!rest.empty()) out += element("p", cat("Not drawn, and nearer to each other: ", rest, "."));
  return out;
}

Html fault_table(const DataAnswer& data) {
  if (data.faults.empty())
    return element("p", data.undecided() ? "No fault was found in what could be checked."
                                         : "No fault was found in them.");
  HtmlTable table{.id = "data-faults",
                  .caption = "What was found in them",
                  .columns = {{.name = "question"}, {.name = "severity"}, {.name = "finding"}}};
  for (const DataFault& fault : data.faults) {
    table.rows.push_back({{.content = std::string(kFaultsOf[static_cast<size_t>(fault.of)])},
                          {.content = fault.warning ? "warning" : "note"},
                          {.content = fault.text}});
  }
  return drawn(table);
}

Html not_compared_table(const DataAnswer& data) {
  if (data.not_compared.empty()) return {};
  HtmlTable table{.id = "data-not-compared",
                  .caption = "What was not compared",
                  .columns = {{.name = "question"}, {.name = "column"}, {.name = "reason"}}};
  for (const NotJudged& each : data.not_compared) {
    table.rows.push_back({{.content = std::string(kFaultsOf[static_cast<size_t>(each.of)])},
                          {.content = each.what.column.empty() ? "all" : each.what.column},
                          {.content = each.what.why}});
  }
  return drawn(table);
}

}  // namespace

PageSection data_section(const DataSpreads& spreads, const DataAnswer& data, const TableNames& names) {
  return {.id = "data",
          .title = "Data",
          .body = element("p", cat(names.train, ": ", grouped(spreads.train_rows), " rows; ", names.now, ": ",
                                   grouped(spreads.now_rows), " rows.")) +
                  fault_table(data) + not_compared_table(data) + column_table(spreads, names)};
}

}  // namespace espalier
