// What a model decides otherwise than the one before.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/slice_flags.h"
#include "evaluate/churn.h"
#include "report/terminal.h"

namespace espalier::cli {

struct BaselineFlags {
  std::string file, id;

  // --baseline, --id.
  void add(CLI::App& verb);
  bool any() const { return !file.empty(); }
  // The flags that were given.
  std::vector<std::string> words() const;
  // Of the rows that are judged and of their slices. Rows of the two files are joined by their place, or by
  // --id. Raises ValueError: evaluate.task for a regression; baseline.rows where a row is in one file alone,
  // an id comes twice or labels differ, with the line; and as read_scores() and churn().
  std::vector<SliceChurn> churn(const ScoredTable& now, const SliceFlags& slicing, const TableFlags& reading,
                                const ScoredFlags& scored, const std::vector<std::string>& missing,
                                const Results& results) const;
};

// The slices that lost in a sentence, and a table.
std::string text_of(const std::vector<SliceChurn>& all, const Terminal& terminal);
nlohmann::ordered_json json_of(const std::vector<SliceChurn>& all);

}  // namespace espalier::cli
