// The sections of an assessment's page, one in a file. Of each slicing at most `most` slices are drawn.
#pragma once

#include "fairness/page_facts.h"
#include "report/page.h"

namespace espalier {

// What a gate said, with "(rare)" for hidden names; without a gate the largest gaps.
VerdictBanner verdict_of(const PageFacts& facts);
// Dots with intervals by metric, and every figure as a table.
Html slices_section(const PageFacts& facts, size_t most);
// Gaps between slices and a heat map of slices and metrics.
Html fairness_section(const PageFacts& facts, size_t most);
Html heat_maps(const PageFacts& facts, size_t most);
// The gaps of what is no decision at a threshold.
Html estimate_gaps_html(const PageFacts& facts);
// Of two classes: sliders.
Html thresholds_section(const PageFacts& facts, size_t most);
// Of several classes: the confusion matrix, and how well each is told; empty where no class has k rows.
Html classes_section(const PageFacts& facts, size_t most);
// Of numbers: predicted against true by tenths of the rows; empty where a tenth has fewer than k.
Html tenths_section(const PageFacts& facts);
// Formulas, intervals, and what is left out.
Html definitions_section(const PageFacts& facts);

}  // namespace espalier
