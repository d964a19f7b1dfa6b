// Rows on a page, where somebody asked for them: --with-rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "report/page.h"
#include "tables/scored_table.h"

namespace espalier::cli {

// The `most` rows that the model gets most wrong, as they stand in their file: of two classes those whose
// score lies furthest from what is true, of several where what is true had the smallest score, of numbers
// those furthest off, of queries those worth most with the lowest scores. Raises ValueError[check.with_rows]
// where they take more than half of a page.
PageSection rows_section(const ScoredTable& scored, int64_t most);
// How many rows stand on a page.
int64_t rows_on(std::string_view page);

}  // namespace espalier::cli
