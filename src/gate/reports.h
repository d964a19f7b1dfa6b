// A verdict for people and for programs. docs/gates.md has the forms.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "gate/verdict.h"
#include "report/terminal.h"

namespace espalier {

// The first sentence, a table with a line for each gate and each of its numbers that does not pass, and the
// sentences of the gates that do not.
std::string text_report(const Verdict& verdict, const Terminal& terminal);
// Version 1.
nlohmann::ordered_json json_of(const Verdict& verdict);
std::string json_report(const Verdict& verdict);
// A test case for each gate.
std::string junit_report(const Verdict& verdict);
// The text format of Prometheus, version 0.0.4.
std::string prometheus_report(const Verdict& verdict);
// Each metric of all rows and of each slice, at each threshold where it has one, with intervals of the
// assessment's level.
std::string slices_csv(const Assessment& assessment);

}  // namespace espalier
