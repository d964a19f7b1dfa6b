#include <algorithm>

#include "gate/measure.h"

namespace espalier {

Measured measure_data(const Gate& gate, const std::vector<DataFault>* faults) {
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
  if (!faults) {
    add(kAll).reason = "there is no table that trains";
    return out;
  }
  for (const DataFault& fault : *faults) {
    if (fault.of != gate.fault || !(fault.warning || notes)) continue;
    if (!gate.column.empty() && fault.column != gate.column) continue;
    const std::string column = fault.column.empty() ? kAll : fault.column;
    auto found = std::ranges::find(out.findings, column, &Finding::slice);
    Finding& finding = found == out.findings.end() ? add(column) : *found;
    if (finding.reason.empty()) finding.reason = fault.text;
    finding.rows += 1;
  }
  if (out.findings.empty()) add(kAll);
  for (Finding& finding : out.findings) finding.value = finding.judged = static_cast<double>(finding.rows);
  return out;
}

}  // namespace espalier
