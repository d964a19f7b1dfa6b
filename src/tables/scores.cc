#include "tables/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "evaluate/intervals.h"
#include "evaluate/ranking.h"
#include "evaluate/rates.h"
#include "evaluate/regression.h"
#include "evaluate/score_means.h"
#include "report/table.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

double area_under_curve(const std::vector<float>& outputs, std::span<const int32_t> labels) {
  const TwoClasses said(outputs, labels, 1);
  if (!said.numbers) return -1;
  const std::optional<Auc> auc =
      aucs(ScoredRows{said.scores, said.labels}, order_by_score(said.scores), overall(labels.size()))[0];
  return auc ? auc->area : -1;
}

double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? -1 : static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<ClassFigures> class_scores(const std::vector<int64_t>& counts, size_t classes) {
  std::vector<ClassFigures> out(classes);
  for (size_t c = 0; c < classes; ++c) {
    const int64_t right = counts[c * classes + c];
    int64_t said = 0;
    for (size_t other = 0; other < classes; ++other) {
      out[c].rows += counts[c * classes + other];
      said += counts[other * classes + c];
    }
    out[c].precision = share_of(right, said);
    out[c].recall = share_of(right, out[c].rows);
    out[c].f1 = share_of(2 * right, said + out[c].rows);
  }
  return out;
}

// As assessments have it, to the last digit.
double loss_of_row(const Predictions& predictions, size_t classes, size_t row, size_t label) {
  const auto positive = static_cast<size_t>(predictions.positive);
  const size_t of = classes == 2 ? positive : label;
  return log_loss(static_cast<double>(predictions.outputs[row * classes + of]), of == label);
}

// The number with the fewest digits above `low` and at most `high`.
double shortest_between(double low, double high) {
  constexpr double kMost = 1e9;
  for (double unit = 10; unit <= kMost; unit *= 10) {
    const double out = std::floor(high * unit) / unit;
    if (out > low && out <= high) return out;
  }
  return high;
}

// In parts, so that a bar shows how far it is.
Tensor outputs_of(Model& model, const Tensor& inputs, const Messages& messages) {
  constexpr int64_t kBatch = 1024, kPart = 16 * kBatch;
  const int64_t rows = inputs.size(0), width = inputs.size(1);
  if (rows <= kPart) return model.predict(inputs, kBatch);
  std::vector<Tensor> parts;
  const Messages::Progress progress = messages.progress("predicting", rows, " rows");
  for (int64_t begin = 0; begin < rows; begin += kPart) {
    const int64_t end = std::min(begin + kPart, rows);
    parts.push_back(model.predict(slice(inputs, {begin, 0}, {end, width}), kBatch));
    progress(end);
  }
  return concatenate(parts, 0);
}

}  // namespace

TwoClasses::TwoClasses(const std::vector<float>& outputs, std::span<const int32_t> truth, int64_t positive) {
  for (size_t row = 0; row < truth.size(); ++row) {
    scores.push_back(static_cast<double>(outputs[2 * row + static_cast<size_t>(positive)]));
    labels.push_back(truth[row] == positive);
    numbers = numbers && !std::isnan(scores.back());
  }
}

std::string text_of(const Decision& decision, const ColumnProgram& columns) {
  if (!decision.threshold || !decision.positive) return "";
  return cat("a row is ", columns.classes()[static_cast<size_t>(*decision.positive)],
             " from a probability of ", shortest(*decision.threshold), " on");
}

std::string positive_line(const PositiveClass& positive, const std::string& label,
                          const std::vector<std::string>& classes, const Terminal& terminal) {
  return terminal.paint(Ink::kBold, espalier::text_of(positive, label, classes)) + "\n";
}

void add_positive(Json& body, const PositiveClass& positive) {
  body["positive"] = positive.known() ? Json(positive.value) : Json();
  body["positive_because"] = positive.known() ? Json(name(positive.because)) : Json();
}

Predictions predict_rows(Model& model, const ColumnProgram& columns, const Tensor& inputs,
                         const Decision& decision, const Messages& messages) {
  const Tensor outputs = convert(outputs_of(model, inputs, messages), DType::kF32);
  const auto width = columns.classification() ? static_cast<int64_t>(columns.classes().size()) : 1;
  if (outputs.rank() != 2 || outputs.size(1) != width) {
    throw ShapeError("model.outputs", cat("the model gives ", outputs.type(), " where its columns need ",
                                          width, columns.classification() ? " classes" : " number"));
  }
  Predictions out;
  out.positive = decision.positive.value_or(1);
  if (!columns.classification()) {
    out.outputs = outputs.to_vector<float>();
    out.values = columns.predicted_values(out.outputs);
    const std::vector<double> whole = columns.label_values(out.outputs);
    // What is never below 0, as an amount of money, is often 0, and a prediction below it is no news.
    const auto is_news = [&](size_t i) { return whole[i] > out.values[i] || out.values[i] != 0; };
    for (size_t i = 0; i < whole.size(); ++i)
      out.cut.push_back((whole[i] < out.values[i] || whole[i] > out.values[i]) && is_news(i));
    return out;
  }
  out.outputs = softmax(outputs, 1).to_vector<float>();
  out.best = decision(out.outputs, columns.classes().size());
  return out;
}

std::vector<std::string> cut_warning(int64_t cut, const ColumnProgram& columns, int64_t rows) {
  if (cut == 0) return {};
  return {cat(cut, " of ", rows, " predictions lay beyond every ", columns.label(),
              " that training saw, and are cut to the nearest")};
}

Scores score(const ColumnProgram& columns, const Predictions& predictions, const Tensor& labels) {
  Scores out{.rows = labels.size(0)};
  const auto rows = static_cast<size_t>(out.rows);
  const auto count = static_cast<double>(out.rows);
  if (columns.classification()) {
    const size_t classes = columns.classes().size();
    const auto truth = labels.data<int32_t>();
    out.counts.resize(classes * classes);
    for (size_t i = 0; i < rows; ++i) {
      const auto label = static_cast<size_t>(truth[i]);
      ++out.counts[label * classes + static_cast<size_t>(predictions.best[i])];
      out.accuracy += predictions.best[i] == truth[i];
      out.log_loss += loss_of_row(predictions, classes, i, label);
    }
    out.accuracy /= count;
    out.log_loss /= count;
    out.of_class = class_scores(out.counts, classes);
    for (const ClassFigures& one : out.of_class)
      out.base_rate = std::max(out.base_rate, static_cast<double>(one.rows) / count);
    if (classes == 2) out.auc = area_under_curve(predictions.outputs, truth);
    return out;
  }
  const std::vector<double> truth = columns.label_values(labels.data<float>());
  const double mean = std::accumulate(truth.begin(), truth.end(), 0.0) / count;
  double squares = 0, around_mean = 0;
  std::vector<double> errors;
  for (size_t i = 0; i < rows; ++i) {
    const double error = predictions.values[i] - truth[i], deviation = truth[i] - mean;
    squares += error * error;
    around_mean += deviation * deviation;
    errors.push_back(std::abs(error));
    out.mae += errors.back() / count;
    out.mae_of_mean += std::abs(deviation) / count;
  }
  out.rmse = std::sqrt(squares / count);
  out.r2 = r2_of(squares / count, around_mean / count, mean);
  out.median_error = out.mae;
  if (!std::isfinite(squares)) return out;
  std::ranges::sort(errors);
  out.median_error = (errors[(rows - 1) / 2] + errors[rows / 2]) / 2;
  for (double carried = 0; carried < squares / 2 && !errors.empty(); errors.pop_back(), ++out.half_error_rows)
    carried += errors.back() * errors.back();
  return out;
}

BestThreshold best_threshold(const Predictions& predictions, const Tensor& labels, int64_t positive) {
  const TwoClasses said(predictions.outputs, labels.data<int32_t>(), positive);
  if (!said.numbers || std::ranges::count(said.labels, 1) == 0) return {};
  const Ranking ranking(ScoredRows{said.scores, said.labels}, order_by_score(said.scores));
  BestThreshold out;
  for (size_t i = ranking.scores().size(); i-- > 0;) {
    const double f1 = rate("f1")(ranking.confusions()[i]).value();
    if (f1 <= out.f1) continue;
    out = {shortest_between(i > 0 ? ranking.scores()[i - 1] : 0, ranking.scores()[i]), f1};
  }
  return out;
}

std::string better_text(const ColumnProgram& columns, int64_t positive, const Scores& now,
                        const BestThreshold& better, const char* how) {
  constexpr double kMuch = 0.05;
  constexpr int64_t kFewOfClass = 10;
  const ClassFigures& of_class = now.of_class[static_cast<size_t>(positive)];
  // Always saying the class is as good as that.
  const double share = static_cast<double>(of_class.rows) / static_cast<double>(now.rows);
  if (better.f1 < std::max(of_class.f1, 2 * share / (1 + share)) + kMuch) return "";
  if (of_class.rows < kFewOfClass) {
    return cat("another --threshold would serve better, but too few rows are ",
               columns.classes()[static_cast<size_t>(positive)], " to choose one by: ", of_class.rows, "\n");
  }
  return cat("f1 of ", columns.classes()[static_cast<size_t>(positive)], " is ", fixed(of_class.f1, 4),
             ", and ", fixed(better.f1, 4), " with --threshold ", shortest(better.threshold), ", which ", how,
             "\n");
}

std::string rounded(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(size)) return "no number";
  const int before = size < 1 ? 1 : static_cast<int>(std::log10(size)) + 1;
  return fixed(value, std::clamp(4 - before, 0, 4));
}

namespace {

constexpr int64_t kFewRows = 100;

// Between which shares the true one lies with 95 %.
std::string interval_of(double share, int64_t rows) {
  const Interval interval = wilson({share, static_cast<double>(rows)});
  return cat("between ", percent(interval.low, 0), " and ", percent(interval.high, 0));
}

// A few rows that r2 and rmse go by; of normal errors an eighth of the rows carries half.
std::string far_off(const Scores& scores) {
  const int64_t few = scores.half_error_rows;
  if (few == 0 || few * 100 > scores.rows) return "";
  return cat(few, " of the ", scores.rows, few == 1 ? " rows carries" : " rows carry",
             " half of the squared error, by which r2 and rmse go: half of all rows are off by less than ",
             rounded(scores.median_error), "\n");
}

}  // namespace

std::string report_of(const Scores& scores, const ColumnProgram& columns, const Terminal& terminal) {
  if (!columns.classification()) {
    return cat(
        "r2 ", terminal.paint(Ink::kBold, scores.r2 ? fixed(*scores.r2, 4) : "undefined"), " on ",
        scores.rows,
        scores.r2 ? " rows: 1 is perfect, 0 is always saying the mean\n" : " rows, whose labels are alike\n",
        "off by ", rounded(scores.mae), " on average (always saying the mean: ", rounded(scores.mae_of_mean),
        "); rmse ", rounded(scores.rmse), "\n", far_off(scores),
        scores.rows < kFewRows ? "few rows: others may give quite other figures\n" : "");
  }
  constexpr size_t kTableClasses = 20;
  std::string out;
  if (columns.classes().size() <= kTableClasses) {
    out = cat("rows are the true ", columns.label(),
              ", columns what the model says\nrecall: the share of a row that is right; precision: that of a "
              "column\n",
              confusion_matrix(scores.counts, columns.classes(), terminal), "\n");
  }
  return out + cat("accuracy ", terminal.paint(Ink::kBold, percent(scores.accuracy, 2)), " on ", scores.rows,
                   " rows (always saying the commonest class: ", percent(scores.base_rate, 2), ")\n",
                   scores.auc < 0 ? "" : cat("auc ", fixed(scores.auc, 4), ", "), "log loss ",
                   fixed(scores.log_loss, 4), "\n",
                   scores.rows < kFewRows ? cat("few rows: the accuracy on others may well lie ",
                                                interval_of(scores.accuracy, scores.rows), "\n")
                                          : "");
}

Json json_of(const Scores& scores, const ColumnProgram& columns) {
  if (!columns.classification()) {
    return {{"rows", scores.rows},
            {"r2", scores.r2 ? Json(*scores.r2) : Json()},
            {"mae", scores.mae},
            {"rmse", scores.rmse},
            {"mae_of_mean", scores.mae_of_mean},
            {"median_error", scores.median_error},
            {"half_error_rows", scores.half_error_rows}};
  }
  Json confusion = Json::array();
  const auto classes = static_cast<std::ptrdiff_t>(columns.classes().size());
  for (auto it = scores.counts.begin(); it != scores.counts.end(); it += classes)
    confusion.push_back(std::vector<int64_t>(it, it + classes));
  Json out = {{"rows", scores.rows},
              {"accuracy", scores.accuracy},
              {"base_rate", scores.base_rate},
              {"log_loss", scores.log_loss}};
  if (scores.auc >= 0) out["auc"] = scores.auc;
  out["classes"] = columns.classes();
  out["confusion"] = confusion;
  const auto or_null = [](double value) { return value < 0 ? Json() : Json(value); };
  out["per_class"] = Json::array();
  for (size_t c = 0; c < scores.of_class.size(); ++c) {
    const ClassFigures& one = scores.of_class[c];
    out["per_class"].push_back({{"class", columns.classes()[c]},
                                {"rows", one.rows},
                                {"precision", or_null(one.precision)},
                                {"recall", or_null(one.recall)},
                                {"f1", or_null(one.f1)}});
  }
  return out;
}

}  // namespace espalier
