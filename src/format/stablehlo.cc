#include "format/stablehlo.h"

#include "passes/inline_composites.h"
#include "text/text.h"

namespace espalier {

std::string stablehlo_text(const Graph& graph) { return print_program(*inline_composites(graph)); }

}  // namespace espalier
