#include "gate/model_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.h"
#include "base/shortest.h"

namespace espalier {
namespace {

template <class T>
void take_rows(std::vector<T>& values, std::span<const int64_t> rows, size_t each = 1) {
  if (values.empty()) return;
  std::vector<T> out;
  out.reserve(rows.size() * each);
  for (const int64_t row : rows) {
    const auto first = values.begin() + row * static_cast<int64_t>(each);
    out.insert(out.end(), first, first + static_cast<int64_t>(each));
  }
  values = std::move(out);
}

}  // namespace

AnyRows rows_of(const ModelScores& scores) {
  struct Maker {
    AnyRows operator()(const BinaryScores& rows) const {
      return ScoredRows(rows.scores, rows.labels, rows.weights);
    }
    AnyRows operator()(const ClassScores& rows) const {
      return ClassRows(rows.classes, rows.labels, rows.said, rows.probabilities, rows.weights);
    }
    AnyRows operator()(const NumberScores& rows) const {
      return NumberRows(rows.predictions, rows.truths, rows.weights);
    }
    AnyRows operator()(const QueryScores& rows) const {
      return QueryRows(rows.scores, rows.gains, rows.queries, rows.weights);
    }
  };
  return std::visit(Maker(), scores);
}

size_t row_count(const ModelScores& scores) {
  return std::visit([](const auto& rows) { return rows.size(); }, rows_of(scores));
}

ModelScores rows_taken(const ModelScores& scores, std::span<const int64_t> rows) {
  ModelScores out = scores;
  std::visit([&](auto& all) { take_rows(all.weights, rows); }, out);
  if (auto* binary = std::get_if<BinaryScores>(&out)) {
    take_rows(binary->scores, rows);
    take_rows(binary->labels, rows);
  } else if (auto* classes = std::get_if<ClassScores>(&out)) {
    take_rows(classes->labels, rows);
    take_rows(classes->said, rows);
    take_rows(classes->probabilities, rows, classes->classes.size());
  } else if (auto* numbers = std::get_if<NumberScores>(&out)) {
    take_rows(numbers->predictions, rows);
    take_rows(numbers->truths, rows);
  } else if (auto* queries = std::get_if<QueryScores>(&out)) {
    take_rows(queries->scores, rows);
    take_rows(queries->gains, rows);
    take_rows(queries->queries, rows);
  }
  return out;
}

ModelScores with_classes_said(ModelScores scores) {
  auto* rows = std::get_if<ClassScores>(&scores);
  if (!rows) return scores;
  const size_t classes = rows->classes.size();
  for (size_t row = 0; classes > 0 && (row + 1) * classes <= rows->probabilities.size(); ++row) {
    constexpr double kRounded = 0.02;
    const auto first = rows->probabilities.begin() + static_cast<int64_t>(row * classes);
    const double sum = std::accumulate(first, first + static_cast<int64_t>(classes), 0.0);
    if (std::abs(sum - 1) > kRounded)
      throw ValueError("evaluate.probability",
                       cat("the probabilities of row ", row, " add up to ", shortest(sum), ", not to 1"));
  }
  if (!rows->said.empty()) return scores;
  if (classes == 0 || rows->probabilities.size() != rows->labels.size() * classes) {
    throw ValueError("evaluate.rows", cat(rows->labels.size(), " labels of ", classes, " classes and ",
                                          rows->probabilities.size(),
                                          " probabilities; without `said` each row has one of each class"));
  }
  for (auto row = rows->probabilities.begin(); row != rows->probabilities.end();
       row += static_cast<int64_t>(classes))
    rows->said.push_back(
        static_cast<uint32_t>(std::max_element(row, row + static_cast<int64_t>(classes)) - row));
  return scores;
}

std::string positive_of(const ModelScores& scores) {
  const auto* rows = std::get_if<BinaryScores>(&scores);
  return rows ? rows->positive : "";
}

}  // namespace espalier
