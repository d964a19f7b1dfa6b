// Whether what a model said of people passes the gates of a release. usage: example_release SCORES.csv
// GATES.toml The table has a label of 0 or 1, a score, and columns that say who a row is about.
#include <iostream>
#include <stdexcept>

#include <espalier/espalier.h>

using namespace espalier;

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: release SCORES.csv GATES.toml");
  const CsvTable table = read_csv(argv[1]);
  BinaryScores scores;
  for (int64_t row = 0; row < table.rows(); ++row) {
    scores.labels.push_back(table.number(row, table.column("label")) == 1);
    scores.scores.push_back(table.number(row, table.column("score")).value());
  }

  const Evaluation evaluation = evaluate_scores(scores, {.columns = table, .slices = {"sex"}});
  for (const std::string& slice : evaluation.slices()) {
    const EvaluatedFigure recall = evaluation.figure("recall", slice);
    if (recall.value) std::cout << slice << ": " << *recall.value << " of " << recall.rows << " are found\n";
  }

  const ReleaseVerdict verdict = ReleaseGates::load(argv[2]).judge(scores, {.columns = table});
  std::cout << verdict.sentence() << "\n";
  return verdict.exit_code();
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
