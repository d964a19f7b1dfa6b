// What a model says otherwise than the one before.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/slice_flags.h"
#include "data/missing_words.h"
#include "evaluate/churn.h"
#include "evaluate/moves.h"
#include "report/terminal.h"
#include "tables/table_reading.h"

namespace espalier::cli {

// Of all rows and of each slice: of decisions churn, of a regression moves.
struct AgainstBaseline {
  std::vector<SliceChurn> churn = {};
  std::vector<SliceMoves> moves = {};
};

// The folder of a model, not a file of scores.
bool is_model_folder(const std::string& path);

struct BaselineFlags {
  std::string from, id;
  double moved_by = 0;

  // --baseline, --id, --moved-by.
  void add(CLI::App& verb);
  bool any() const { return !from.empty(); }
  // The flags that were given.
  std::vector<std::string> words() const;
  // Of the evaluated rows and of their slices. Rows of a file of scores are joined by their place, or by
  // --id. Raises ValueError: baseline.rows where a row is in one file alone, an id comes twice or labels
  // differ, with the line; baseline.moved for --moved-by of decisions; and as read_scores(), churn() and
  // moves().
  AgainstBaseline compare_scores(const ScoredTable& now, const SliceFlags& slicing,
                                 const TableReading& reading, const ScoredColumns& scored,
                                 const MissingWords& missing, const Results& results) const;
  // The same of another model's predictions of the very same rows, score_again()'s.
  AgainstBaseline compare(const ScoredTable& now, const ScoredTable& before, const SliceFlags& slicing,
                          const MissingWords& missing) const;
};

// The slices that lost in a sentence, and a table.
std::string text_of(const AgainstBaseline& all, const Terminal& terminal);
nlohmann::ordered_json json_of(const AgainstBaseline& all);

}  // namespace espalier::cli
