#include "train/dataset_batches.h"

#include "base/format.h"
#include "espalier/ops.h"
#include "train/fit_rows.h"

namespace espalier {
namespace {

[[noreturn]] void no_batches(const std::string& rule, const Dataset& dataset) {
  throw ShapeError(rule, cat("there are no batches: ", dataset, " is empty"));
}

int64_t checked_steps(const Dataset& dataset, const FitOptions& options) {
  const int64_t batches = dataset.cardinality();
  check_options(options);
  if (options.validation_split != 0)
    throw ValueError("fit.validation", "validation_split is of rows in memory",
                     "give take() and skip() of the dataset to fit and validation_data");
  if (options.sample_weight.defined())
    throw ValueError("fit.sample_weight", "a dataset's elements hold the weights of their rows",
                     "set weighted");
  if (options.weighted && !options.class_weight.empty())
    throw ValueError("fit.class_weight", "class_weight and weighted do not come together");
  if (batches == 0) no_batches("fit.rows", dataset);
  if (options.steps_per_epoch) return options.steps_per_epoch;
  if (batches > 0) return batches;
  throw ValueError("fit.steps_per_epoch",
                   cat("an epoch needs a number of steps, the cardinality of ", dataset, " is ",
                       batches == Dataset::kInfinite ? "infinite" : "unknown"),
                   "set steps_per_epoch");
}

}  // namespace

std::span<const Tensor> StepArguments::of(Tensors element) {
  const size_t labels = format_.labels;
  const bool weighted = format_.inputs ? element.size() == format_.inputs + labels + 1 : format_.weighted;
  const size_t others = labels + weighted;
  const size_t inputs = format_.inputs ? format_.inputs : element.size() - std::min(others, element.size());
  if (inputs == 0 || element.size() != inputs + others) {
    throw ShapeError(format_.rows_rule,
                     cat("a batch must be ", format_.inputs ? cat(inputs, " tensors of x") : "x",
                         labels == 1 ? ", y" : cat(", ", labels, " tensors of y"),
                         weighted ? " and the weight of each row" : "", ", it is ", types_text(element)));
  }
  const Tensors y(element.begin() + static_cast<std::ptrdiff_t>(inputs),
                  element.begin() + static_cast<std::ptrdiff_t>(inputs + labels));
  check_rows(format_.rows_rule, std::span(element).first(inputs), y);
  const int64_t rows = y[0].size(0);
  if (weighted) {
    element.back() = row_weights(format_.verb, element.back(), rows);
  } else if (!format_.class_weight.empty()) {
    element.push_back(class_weights(y, format_.class_weight));
  } else {
    if (!ones_.defined() || ones_.size(0) != rows) ones_ = full({rows}, 1);
    element.push_back(ones_);
  }
  if (format_.check_labels) format_.check_labels(y);
  arguments_ = std::move(element);
  return arguments_;
}

void require_end(const std::string& verb, const Dataset& dataset) {
  if (dataset.cardinality() == Dataset::kInfinite)
    throw ValueError(verb + ".dataset", cat(dataset, " has no end"), "take() as many batches as are meant");
}

DatasetBatches::DatasetBatches(const Dataset& dataset, DatasetFormat format)
    : arguments_(format), iterator_(dataset, 0), rows_rule_(format.rows_rule) {
  require_end(format.verb, dataset);
}

std::span<const Tensor> DatasetBatches::next() {
  std::optional<Tensors> element = iterator_.next();
  if (element) return arguments_.of(std::move(*element));
  if (iterator_.save().elements == 0) throw ShapeError(rows_rule_, "there are no batches");
  return {};
}

DatasetPasses::DatasetPasses(const Dataset& dataset, const FitOptions& options, size_t labels,
                             std::function<void(const TensorList& y)> check_labels)
    : steps_per_epoch_(checked_steps(dataset, options)),
      weighted_(options.weighted),
      arguments_(
          {"fit", "fit.rows", 0, labels, options.weighted, options.class_weight, std::move(check_labels)}),
      repeated_(dataset.repeat()),
      iterator_(repeated_, 0) {
  if (options.initial_epoch > 0)
    iterator_.restore(
        {iterator_.save().seed, 0, static_cast<int64_t>(options.initial_epoch) * steps_per_epoch_});
}

std::span<const Tensor> DatasetPasses::next() {
  std::optional<Tensors> element = iterator_.next();
  if (!element) no_batches("fit.rows", repeated_);
  return arguments_.of(std::move(*element));
}

std::map<std::string, std::string> DatasetPasses::run() const {
  return {{"data", to_string(repeated_)}, {"weighted", cat(weighted_)}};
}

TrainingBatches::Cursor DatasetPasses::save() const {
  const DatasetState state = iterator_.save();
  return {{"seed", state.seed},
          {"iteration", state.iteration},
          {"elements", static_cast<uint64_t>(state.elements)}};
}

void DatasetPasses::restore(int64_t, const Cursor& cursor) {
  const auto number = [&](const char* name) {
    const auto it = cursor.find(name);
    if (it == cursor.end())
      throw FormatError("checkpoint.cursor", cat("the place in the dataset has no \"", name, "\""));
    return it->second;
  };
  iterator_.restore({number("seed"), number("iteration"), static_cast<int64_t>(number("elements"))});
}

}  // namespace espalier
