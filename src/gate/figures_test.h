// Assessments of given counts.
#pragma once

#include <string>
#include <vector>

#include "fairness/assessment.h"

namespace espalier {

// Rows of weight 1 at the threshold 0.5.
inline SliceFigures slice_of(const std::string& name, std::vector<std::string> values, int64_t tp, int64_t fp,
                             int64_t tn, int64_t fn) {
  SliceFigures out;
  out.slice = {.name = name, .rows = tp + fp + tn + fn, .values = std::move(values)};
  const auto tally = [](int64_t rows) {
    return Tally{rows, static_cast<double>(rows), static_cast<double>(rows)};
  };
  out.at = {Confusion{{tally(tp), tally(fp), tally(tn), tally(fn)}}};
  out.sums.rows = tally(out.slice.rows);
  return out;
}

struct GroupCounts {
  std::string value;
  int64_t tp, fp, tn, fn;
};
// By one column, and all of its rows.
inline Assessment assessment_of(const std::string& column, const std::vector<GroupCounts>& groups) {
  Assessment out;
  SlicingFigures& by = out.by.emplace_back();
  by.columns = {column};
  GroupCounts all{"", 0, 0, 0, 0};
  for (const GroupCounts& group : groups) {
    by.slices.push_back(
        slice_of(column + "=" + group.value, {group.value}, group.tp, group.fp, group.tn, group.fn));
    all.tp += group.tp, all.fp += group.fp, all.tn += group.tn, all.fn += group.fn;
  }
  out.overall = slice_of("overall", {}, all.tp, all.fp, all.tn, all.fn);
  return out;
}

}  // namespace espalier
