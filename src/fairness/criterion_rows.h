// How far the slices of an assessment lie apart by every criterion, and how far by chance.
#pragma once

#include <optional>
#include <vector>

#include "fairness/assessment_text.h"
#include "fairness/criteria.h"
#include "fairness/permutation.h"

namespace espalier {

// The groups of a slicing that are compared: those that are not thin, and the reference.
struct ComparedSlices {
  std::vector<const SliceFigures*> slices;  // the assessment's
  std::vector<Confusion> confusions;
  Confusion overall;
  Convention convention;

  ComparedSlices(const Assessment& assessment, const SlicingFigures& by, size_t threshold,
                 const AssessmentView& view);
  Groups groups() const { return {confusions, overall}; }
  bool has_reference() const { return convention.against == Against::kReference; }
};

struct CriterionRow {
  const Criterion& criterion;
  std::optional<double> difference = {}, ratio = {};
  std::optional<Interval> interval = {};  // of the difference
  const Rate* rate = nullptr;             // that decides
  Gap gap = {};                           // of that rate
  std::optional<ByChance> by_chance = {};
  std::optional<double> adjusted_p = {};  // holm() over all tests of the assessment
};

struct CriterionTable {
  size_t threshold = 0;
  const SlicingFigures* by;  // the assessment's
  ComparedSlices compared;
  std::vector<CriterionRow> rows;
};
struct CriterionTables {
  std::vector<CriterionTable> of;  // [slicings, thresholds]
  size_t tests = 0;                // with a p-value
};
CriterionTables criterion_tables(const Assessment& assessment, const AssessmentView& view);

}  // namespace espalier
