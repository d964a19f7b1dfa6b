#include <algorithm>

#include "gate/measure.h"

namespace espalier {

Measured measure_data(const Gate& gate, const DataAnswer* answer) {
  Measured out;
  const auto add = [&](const std::string& column) -> Finding& {
    Finding& finding = out.findings.emplace_back();
    finding.metric = gate.of;
    finding.slice = column;
    finding.counted = "faults";
    return finding;
  };
  const std::string kAll = gate.column.empty() ? "overall" : gate.column;
  // Of these kinds nothing is more than a note to those who look; a gate is by somebody who minds.
  const bool notes = gate.fault == FaultOf::kNames || gate.fault == FaultOf::kCells;
  if (!answer) {
    add(kAll).reason = "there is no training table";
    return out;
  }
  for (const DataFault& fault : answer->faults) {
    if (fault.of != gate.fault || !(fault.warning || notes)) continue;
    if (!gate.column.empty() && fault.column != gate.column) continue;
    const std::string column = fault.column.empty() ? kAll : fault.column;
    auto found = std::ranges::find(out.findings, column, &Finding::slice);
    Finding& finding = found == out.findings.end() ? add(column) : *found;
    if (finding.reason.empty()) finding.reason = fault.text;
    finding.rows += 1;
  }
  for (Finding& finding : out.findings) finding.value = finding.judged = static_cast<double>(finding.rows);
  for (const NotJudged& each : answer->not_compared) {
    if (each.of != gate.fault) continue;
    // As a rule that rows break is no fault of one column, and one that warns is none.
    if (each.of_rule && (!each.undecided || !gate.column.empty())) continue;
    const std::string& column = each.what.column;
    // What is about the whole table is about each column; and who names a column wants it judged.
    const bool named = !gate.column.empty() && column == gate.column;
    if (!column.empty() && !named && (!each.undecided || !gate.column.empty())) continue;
    const std::string slice = column.empty() ? kAll : column;
    if (std::ranges::count(out.findings, slice, &Finding::slice) == 0) add(slice).reason = each.what.why;
  }
  if (out.findings.empty()) {
    Finding& none = add(kAll);
    none.value = none.judged = 0;
  }
  return out;
}

}  // namespace espalier
