// Colours beside what stands for them.
#pragma once

#include <string>
#include <vector>

#include "report/html.h"

namespace espalier {

// A square for each colour, "#825c43", which is its title; nothing without colours. Raises
// ValueError[report.colour] for what is none.
Html swatches(const std::vector<std::string>& colours);

}  // namespace espalier
