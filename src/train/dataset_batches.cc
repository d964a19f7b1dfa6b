#include "train/dataset_batches.h"

#include "base/format.h"
#include "data/dataset_node.h"
#include "espalier/ops.h"
#include "train/dataset_cursor.h"
#include "train/fit_rows.h"

namespace espalier {
namespace {

[[noreturn]] void no_batches(const std::string& rule, const Dataset& dataset) {
  throw ShapeError(rule, cat("there are no batches: ", dataset, " is empty"));
}

// Elements of one iterator after the other.
class DatasetSource : public TrainingBatches {
 public:
  DatasetSource(const Dataset& dataset, bool repeats, const FitOptions& options, StepArguments arguments)
      : own_(DatasetNode::of(dataset)->per_worker()),
        dataset_(repeats && !own_ ? dataset.repeat() : dataset),
        repeats_(repeats),
        arguments_(std::move(arguments)),
        weighted_(options.weighted) {}
  std::map<std::string, std::string> run() const override {
    return {{"data", own_ ? "of each worker's own" : to_string(dataset_)}, {"weighted", cat(weighted_)}};
  }
  bool of_own_data() const override { return own_; }
  Cursor save() const override {
    if (!reader_) return {};
    return cursor_of(reader_->save());
  }
  std::span<const int64_t> rows_of_shards() const override {
    return reader_ ? reader_->rows_of_shards() : std::span<const int64_t>();
  }
  std::span<const int64_t> places() const override {
    return reader_ ? reader_->places() : std::span<const int64_t>();
  }

 protected:
  void read(uint64_t iteration) { reader_ = batch_reader(dataset_, iteration, arguments_, repeats_); }
  void restore(const Cursor& cursor) {
    const DatasetState state = state_of(cursor);
    if (!reader_) read(state.iteration);
    reader_->restore(state);
  }
  const bool own_;
  const Dataset dataset_;
  std::unique_ptr<BatchReader> reader_;  // of the pass that is open

 private:
  const bool repeats_;
  StepArguments arguments_;
  bool weighted_;
};

class RepeatedDataset final : public DatasetSource {
 public:
  RepeatedDataset(const Dataset& dataset, int64_t steps, const FitOptions& options, StepArguments arguments)
      : DatasetSource(dataset, true, options, std::move(arguments)), steps_(steps) {
    read(0);
    if (options.initial_epoch > 0) reader_->restore({reader_->save().seed, 0, options.initial_epoch * steps});
  }
  std::span<const Tensor> next() override {
    const auto found = reader_->next();
    if (found.empty()) no_batches("fit.rows", dataset_);
    return found;
  }
  int64_t steps_per_epoch() const override { return steps_; }
  void restore(int, int64_t, const Cursor& cursor) override { DatasetSource::restore(cursor); }

 private:
  int64_t steps_;
};

// An epoch is a pass, as repeat() makes them.
class DatasetPasses final : public DatasetSource {
 public:
  DatasetPasses(const Dataset& dataset, const FitOptions& options, StepArguments arguments)
      : DatasetSource(dataset, false, options, std::move(arguments)), pass_(options.initial_epoch) {}
  std::span<const Tensor> next() override {
    if (!reader_) read(repeated_pass(0, pass_));
    const auto found = reader_->next();
    if (!found.empty()) return found;
    if (reader_->save().elements == 0) no_batches("fit.rows", dataset_);
    reader_.reset();
    ++pass_;
    return {};
  }
  int64_t steps_per_epoch() const override { return 0; }
  void restore(int epoch, int64_t step, const Cursor& cursor) override {
    pass_ = epoch;
    if (step > 0) return DatasetSource::restore(cursor);
    reader_.reset();
  }

 private:
  int64_t pass_;
};

}  // namespace

std::span<const Tensor> StepArguments::of(Tensors element) {
  const size_t labels = format_.labels;
  const bool weighted = format_.inputs ? element.size() == format_.inputs + labels + 1 : format_.weighted;
  const size_t others = labels + weighted;
  const size_t inputs = format_.inputs ? format_.inputs : element.size() - std::min(others, element.size());
  const size_t known = format_.inputs ? format_.inputs : format_.known_inputs;
  if (inputs == 0 || element.size() != inputs + others || (known && inputs != known)) {
    throw ShapeError(format_.rows_rule,
                     cat("a batch must be ", known > 1 ? cat(known, " tensors of x") : "x",
                         labels == 1 ? ", y" : cat(", ", labels, " tensors of y"),
                         weighted ? " and the weight of each row" : "", ", it is ", types_text(element)));
  }
  const Tensors y(element.begin() + static_cast<std::ptrdiff_t>(inputs),
                  element.begin() + static_cast<std::ptrdiff_t>(inputs + labels));
  check_rows(format_.rows_rule, std::span(element).first(inputs), y);
  const int64_t rows = y[0].size(0);
  if (weighted) {
    element.back() = row_weights(format_.verb + ".sample_weight", element.back(), rows);
    if (!format_.class_weight.empty())
      element.back() = class_weights(y, format_.class_weight, element.back());
  } else if (!format_.class_weight.empty()) {
    element.push_back(class_weights(y, format_.class_weight));
  } else {
    if (!ones_.defined() || ones_.size(0) != rows) ones_ = full({rows}, 1);
    element.push_back(ones_);
  }
  const bool counted = weighted || !format_.class_weight.empty();
  arguments_ = std::move(element);
  if (format_.check)
    format_.check(std::span(arguments_).first(inputs), y, counted ? arguments_.back() : Tensor());
  return arguments_;
}

void require_end(const std::string& verb, const Dataset& dataset) {
  if (dataset.cardinality() == Dataset::kInfinite)
    throw ValueError(verb + ".dataset", cat(dataset, " has no end"), "take() as many batches as are meant");
}

void refuse_beside_dataset(const std::string& verb) {
  throw ValueError(verb + ".sample_weight", "a dataset's elements hold the weights of their rows",
                   "set weighted");
}

std::span<const Tensor> StepArguments::without_rows(const Tensors& element) {
  Tensors row;
  for (const Tensor& none : element) {
    Shape shape = none.shape();
    shape[0] = 1;
    row.push_back(full(shape, 0, none.dtype()));
  }
  DatasetFormat unchecked = format_;
  unchecked.class_weight = {};
  unchecked.check = {};
  StepArguments of_row(std::move(unchecked));
  const auto arguments = of_row.of(std::move(row));
  arguments_.assign(arguments.begin(), arguments.end());
  arguments_.back() = full({1}, 0);
  return arguments_;
}

DatasetBatches::DatasetBatches(const Dataset& dataset, DatasetFormat format)
    : arguments_(std::move(format)),
      reader_(batch_reader(dataset, 0, arguments_)),
      same_(arguments_.format().shares.hosts()) {
  require_end(arguments_.format().verb, dataset);
}

std::span<const Tensor> DatasetBatches::next() {
  const auto found = reader_->next();
  if (reader_->rows_of_shards().empty()) same_.require(found);
  if (found.empty() && reader_->save().elements == 0)
    throw ShapeError(arguments_.format().rows_rule, "there are no batches");
  return found;
}

std::unique_ptr<TrainingBatches> training_batches(const Dataset& dataset, const FitOptions& options,
                                                  size_t known_inputs, size_t labels, RowsCheck check,
                                                  DataShares shares) {
  const int64_t batches = dataset.cardinality();
  check_options(options);
  if (options.validation_split != 0)
    throw ValueError("fit.validation", "validation_split is of rows in memory",
                     "give take() and skip() of the dataset to fit and validation_data");
  if (options.sample_weight.defined()) refuse_beside_dataset("fit");
  // Others may have some.
  const bool own = DatasetNode::of(dataset)->per_worker();
  if (batches == 0 && !own) no_batches("fit.rows", dataset);
  StepArguments arguments({"fit", "fit.rows", 0, known_inputs, labels, options.weighted, options.class_weight,
                           std::move(check), shares});
  if (options.steps_per_epoch == 0 &&
      (batches == Dataset::kUnknown || (own && batches != Dataset::kInfinite)))
    return std::make_unique<DatasetPasses>(dataset, options, std::move(arguments));
  if (options.steps_per_epoch == 0 && batches == Dataset::kInfinite)
    throw ValueError("fit.steps_per_epoch", cat("an epoch needs a number of steps, ", dataset, " has no end"),
                     "set steps_per_epoch");
  const int64_t steps = options.steps_per_epoch ? options.steps_per_epoch : batches;
  return std::make_unique<RepeatedDataset>(dataset, steps, options, std::move(arguments));
}

}  // namespace espalier
