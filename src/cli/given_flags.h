// Gaps between slices among rows that are alike in columns which may rightly make a difference.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/slice_flags.h"
#include "data/missing_words.h"
#include "fairness/assessment_text.h"
#include "fairness/conditional.h"
#include "report/terminal.h"

namespace espalier::cli {

struct GivenGap {
  std::vector<std::string> by;
  double threshold = 0;
  ConditionalGap of;
};
// Of the selection rate.
struct GivenGaps {
  std::vector<std::string> given;
  double level = 0;
  std::vector<GivenGap> gaps = {};  // of each slicing, at each threshold
};

struct GivenFlags {
  std::vector<std::string> columns = {};

  // --given.
  void add(CLI::App& verb);
  bool any() const { return !columns.empty(); }
  // The flags that were given.
  std::vector<std::string> words() const;
  // Between the slices of each slicing of the assessment, which is of these rows and flags, but for those by
  // one of the columns. Raises ValueError: evaluate.task but of two classes, evaluate.given where no slicing
  // is left, and as SliceFlags::assess() does.
  GivenGaps find(const Assessment& assessment, const AssessmentView& view, const ScoredTable& scored,
                 const SliceFlags& slicing, const MissingWords& missing) const;
};

std::string text_of(const GivenGaps& all, const Terminal& terminal);
nlohmann::ordered_json json_of(const GivenGaps& all);

}  // namespace espalier::cli
