#include "cli/scored_flags.h"

#include "base/format.h"
#include "cli/common.h"
#include "cli/missing_flag.h"

namespace espalier::cli {

void add_scored_columns(CLI::App& verb, ScoredColumns& columns) {
  const bool of_scores = verb.get_option_no_throw("--scores") != nullptr;
  verb.add_option("--label", columns.label, "Label column (ground truth)")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb.add_option("--score", columns.score,
                  cat("Column of predicted probabilities",
                      of_scores ? "; with --task regression, of predicted values" : ""))
      ->option_text("COLUMN");
  verb.add_option("--weight", columns.weight, "Sample-weight column")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb.add_option(
          "--positive", columns.positive,
          cat("Two classes: the positive class, from which metrics count and whose probability --score "
              "holds. Default: ",
              verb.get_option_no_throw("--gates") ? "that of the gates, else " : "",
              of_scores ? "the favourable label of --schema, else that of the model, else " : "",
              "that of a known pair (yes of yes/no, 1 of 1/0)"))
      ->option_text("VALUE");
  add_missing(verb, columns.missing);
}

void add_task(CLI::App& verb, ScoredColumns& columns) {
  verb.add_option_function<std::string>(
          "--task", [&columns](const std::string& word) { columns.task = task_named(word); },
          "Task of the scored rows (in terms of `train --task`: two-classes and classes are class, "
          "regression "
          "is number). For classes, --score is the column of the predicted class, or CLASS=COLUMN,... with "
          "one "
          "probability column per class")
      ->check(one_of_words(task_names()))
      ->option_text("two-classes|classes|regression [two-classes]");
  verb.add_option("--query", columns.query,
                  "Query column for ranking (NDCG): the score orders the rows of each query, labels are "
                  "relevance grades from 0 on")
      ->option_text("COLUMN")
      ->transform(a_column());
}

}  // namespace espalier::cli
