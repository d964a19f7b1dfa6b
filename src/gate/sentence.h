// What is said of a gate.
#pragma once

#include <string>

#include "gate/verdict.h"

namespace espalier {

// "2031-12-31".
std::string date_text(std::chrono::year_month_day date);
// "95 %".
std::string percent_text(double level);
// "at least 0.8", "at most 0.05", "0.8 to 1.2".
std::string limit_text(const Gate& gate);
// A number of a finding, with so many digits that it shows on which side of the limits it lies.
std::string number_text(const Gate& gate, const Finding& finding, double number);
// Of the worst finding and of waivers that expired; printable.
std::string sentence_of(const GateResult& result, double level);
// The same without the limit, for where that stands beside it.
std::string number_sentence_of(const GateResult& result, double level);
// "waived by A. Person until 2031-12-31: we know", of each waiver that lets something pass, or "".
std::string waivers_text(const GateResult& result);

}  // namespace espalier
