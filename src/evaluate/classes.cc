#include "evaluate/classes.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/score_means.h"
#include "evaluate/scored_rows.h"

namespace espalier {
namespace {

constexpr double kNoUpperBound = std::numeric_limits<double>::infinity();

// The rows of a slice that are of a class, are said to be, and both.
struct OfClass {
  Tally is, said, right;
  bool present() const { return is.weight + said.weight > 0; }
  double f1_whole() const { return is.weight + said.weight; }
};
double part_of(const Tally& part, double whole) { return whole > 0 ? part.weight / whole : 0; }

// By class precision, recall and F1 are part / whole, where a row adds its weight to them so many times.
struct Counts {
  double part, whole;
};
std::array<Counts, 3> counts(bool is, bool said) {
  const double right = is && said;
  return {{{right, said ? 1.0 : 0.0},
           {right, is ? 1.0 : 0.0},
           {2 * right, (is ? 1.0 : 0.0) + (said ? 1.0 : 0.0)}}};
}
std::array<double, 3> values(const OfClass& its) {
  return {part_of(its.right, its.said.weight), part_of(its.right, its.is.weight),
          2 * part_of(its.right, its.f1_whole())};
}
std::array<double, 3> wholes(const OfClass& its) { return {its.said.weight, its.is.weight, its.f1_whole()}; }

// Rows that are of a class or said to be: F1 is 2 j / (1 + j) of the share j of them that are both.
Tally either(const OfClass& its) {
  return {its.is.rows + its.said.rows - its.right.rows, its.is.weight + its.said.weight - its.right.weight,
          its.is.squares + its.said.squares - its.right.squares};
}
double slope_of_f1(double share) { return 2 / ((1 + share) * (1 + share)); }

// How much less than there is linearisation sees of the variance of a share of few rows, none at all where
// all of them are alike: its own against that with two more rows of either kind. Agresti and Coull,
// Approximate is better than "exact" for interval estimation of binomial proportions, 1998.
double unseen(const Tally& part, const Tally& whole, double (*slope)(double)) {
  const double n = whole.effective_rows();
  if (!(n > 0)) return 0;
  const double share = std::clamp(part.weight / whole.weight, 0.0, 1.0), nearer = (share * n + 2) / (n + 4);
  const auto variance = [&](double p, double rows) { return slope(p) * slope(p) * p * (1 - p) / rows; };
  return std::max(0.0, variance(nearer, n + 4) - variance(share, n));
}
double no_slope(double) { return 1; }
// Of a class's precision, recall and F1.
std::array<double, 3> unseen(const OfClass& its) {
  return {unseen(its.right, its.said, no_slope), unseen(its.right, its.is, no_slope),
          unseen(its.right, either(its), slope_of_f1)};
}

double loss(const ClassRows& rows, size_t row) {
  return log_loss(rows.probability(row, rows.label(row)), true);
}

// What is known of a slice.
struct ClassSums {
  Tally rows, right;
  std::vector<OfClass> of;
  std::vector<int64_t> matrix;
  double loss = 0;
  // Sums of (w influence)^2: macro averages, F1 of each class, log loss.
  std::array<double, 3> macro = {};
  std::vector<double> f1;
  double loss_squares = 0;

  explicit ClassSums(size_t classes) : of(classes), matrix(classes * classes), f1(classes) {}
  double present() const { return static_cast<double>(std::ranges::count_if(of, &OfClass::present)); }

  void add(uint32_t label, uint32_t said, double weight) {
    rows.add(weight);
    of[label].is.add(weight);
    of[said].said.add(weight);
    ++matrix[label * of.size() + said];
    if (label != said) return;
    right.add(weight);
    of[label].right.add(weight);
  }
  // How far a row pulls at what is no share.
  void pull(uint32_t label, uint32_t said, double weight) {
    std::array<double, 3> all = {};
    const auto of_class = [&](uint32_t c) {
      const auto its = counts(c == label, c == said);
      const auto value = values(of[c]), whole = wholes(of[c]);
      for (size_t i = 0; i < 3; ++i) {
        if (whole[i] == 0) continue;
        const double influence = rows.weight * (its[i].part - value[i] * its[i].whole) / whole[i];
        all[i] += influence / present();
        if (i == 2) f1[c] += weight * weight * influence * influence;
      }
    };
    of_class(label);
    if (said != label) of_class(said);
    for (size_t i = 0; i < 3; ++i) macro[i] += weight * weight * all[i] * all[i];
  }
};

Estimate class_share(std::string name, const Tally& part, const Tally& whole) {
  Estimate out{.metric = std::move(name)};
  if (whole.weight > 0) out.value = part.weight / whole.weight;
  out.rows = whole.rows;
  out.effective_rows = whole.effective_rows();
  out.share = true;
  return out;
}
Estimate linear(std::string name, std::optional<double> value, double squares, const Tally& rows) {
  Estimate out{.metric = std::move(name), .value = value};
  out.rows = rows.rows;
  out.effective_rows = rows.effective_rows();
  if (value) out.variance = linear_variance(squares, rows);
  return out;
}
// Its variance and what linearisation does not see of it.
Estimate with_unseen(Estimate estimate, double more) {
  if (estimate.value && estimate.effective_rows > 1) estimate.variance = estimate.variance.value_or(0) + more;
  return estimate;
}

Estimates estimates_of_sums(const ClassSums& sums, const ClassRows& rows) {
  Estimates out{.rows = sums.rows, .of = {}, .matrix = sums.matrix};
  const bool any = sums.rows.weight > 0;
  out.of.push_back(class_share("accuracy", sums.right, sums.rows));
  constexpr const char* kMacro[] = {"macro_precision", "macro_recall", "macro_f1"};
  std::array<double, 3> macro = {}, more = {};
  for (const OfClass& its : sums.of) {
    for (size_t i = 0; i < 3; ++i) {
      macro[i] += values(its)[i] / sums.present();
      more[i] += unseen(its)[i] / (sums.present() * sums.present());
    }
  }
  for (size_t i = 0; i < 3; ++i) {
    const auto value = any ? std::optional(macro[i]) : std::nullopt;
    out.of.push_back(with_unseen(linear(kMacro[i], value, sums.macro[i], sums.rows), more[i]));
  }
  if (rows.has_probabilities()) {
    out.of.push_back(linear("log_loss", any ? std::optional(sums.loss / sums.rows.weight) : std::nullopt,
                            sums.loss_squares, sums.rows));
  }
  for (size_t c = 0; c < sums.of.size(); ++c) {
    const OfClass& its = sums.of[c];
    const std::string name = cat("[", rows.classes()[c], "]");
    out.of.push_back(class_share("precision" + name, its.right, its.said));
    out.of.push_back(class_share("recall" + name, its.right, its.is));
    const auto f1 = its.present() ? std::optional(values(its)[2]) : std::nullopt;
    Estimate of_f1 = linear("f1" + name, f1, sums.f1[c], sums.rows);
    of_f1.rows = either(its).rows;
    of_f1.effective_rows = either(its).effective_rows();
    out.of.push_back(with_unseen(std::move(of_f1), unseen(its)[2]));
  }
  return out;
}

}  // namespace

ClassRows::ClassRows(const std::vector<std::string>& classes, std::span<const uint32_t> labels,
                     std::span<const uint32_t> said, std::span<const double> probabilities,
                     std::span<const double> weights)
    : classes_(classes), labels_(labels), said_(said), probabilities_(probabilities), weights_(weights) {
  if (said.size() != labels.size() ||
      (!probabilities.empty() && probabilities.size() != labels.size() * classes.size())) {
    throw ValueError("evaluate.rows",
                     cat("labels, decisions and probabilities are of the same rows: ", labels.size(),
                         " labels, ", said.size(), " decisions, ", probabilities.size(), " probabilities of ",
                         classes.size(), " classes"));
  }
  check_weights(labels.size(), weights);
  for (size_t row = 0; row < labels.size(); ++row) {
    for (const uint32_t code : {labels[row], said[row]}) {
      if (code >= classes.size())
        throw ValueError("evaluate.label", cat("there are ", classes.size(), " classes, and no class ", code,
                                               " as in row ", row));
    }
  }
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (!(probabilities[i] >= 0 && probabilities[i] <= 1)) {
      throw ValueError("evaluate.probability", cat("a probability lies in [0, 1]: row ", i / classes.size(),
                                                   " has ", shortest(probabilities[i])));
    }
  }
}

const std::vector<EstimateMetric>& class_metrics() {
  static const std::vector<EstimateMetric> table{
      {"accuracy", {"micro_precision", "micro_recall", "micro_f1"}, "rows said rightly / rows", 0, 1, true},
      {"macro_precision", {}, "the mean of the classes' precision", 0, 1},
      {"macro_recall", {}, "the mean of the classes' recall", 0, 1},
      {"macro_f1", {}, "the mean of the classes' F1", 0, 1, true},
      {"log_loss", {}, "-sum(w log p of the label) / sum(w)", 0, kNoUpperBound, true},
      {"precision[", {}, "rows of the class / rows said to be of it", 0, 1, true},
      {"recall[", {}, "rows said to be of the class / rows of it", 0, 1, true},
      {"f1[", {}, "2 rightly of the class / (rows of it + rows said to be of it)", 0, 1},
  };
  return table;
}

std::vector<Estimates> class_estimates(const ClassRows& rows, const Slicing& slicing) {
  std::vector<ClassSums> all(slicing.slices.size(), ClassSums(rows.classes().size()));
  const auto for_rows = [&](auto&& visit) {
    for (size_t row = 0; row < rows.size(); ++row) {
      if (slicing.of_row[row] != Slicing::kNone) visit(all[slicing.of_row[row]], row);
    }
  };
  for_rows([&](ClassSums& its, size_t row) {
    its.add(rows.label(row), rows.said(row), rows.weight(row));
    if (rows.has_probabilities()) its.loss += rows.weight(row) * loss(rows, row);
  });
  for_rows([&](ClassSums& its, size_t row) {
    const double weight = rows.weight(row);
    its.pull(rows.label(row), rows.said(row), weight);
    if (!rows.has_probabilities()) return;
    const double pull = weight * (loss(rows, row) - its.loss / its.rows.weight);
    its.loss_squares += pull * pull;
  });
  std::vector<Estimates> out;
  for (const ClassSums& sums : all) out.push_back(estimates_of_sums(sums, rows));
  return out;
}

}  // namespace espalier
