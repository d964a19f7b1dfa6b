#include "train/fit_rows.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "base/format.h"
#include "base/hash.h"
#include "base/hash_list.h"
#include "base/philox.h"
#include "base/shortest.h"
#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {

std::string types_text(std::span<const Tensor> tensors) {
  std::string types;
  for (const Tensor& tensor : tensors) types += cat(types.empty() ? "" : ", ", tensor.type());
  return types;
}

namespace {

void require_defined(std::span<const Tensor> tensors, const char* what) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined())
      throw StateError("tensor.undefined", cat("tensor ", i, " of ", what, " holds nothing"),
                       "assign it before use");
  }
}

}  // namespace

void check_rows(const std::string& rule, std::span<const Tensor> x, std::span<const Tensor> y) {
  require_defined(x, "x");
  require_defined(y, "y");
  bool fits = !x.empty() && !y.empty() && y[0].rank() > 0;
  for (const auto& list : {x, y}) {
    for (const Tensor& rows : list) fits = fits && rows.rank() > 0 && rows.size(0) == y[0].size(0);
  }
  if (fits && y[0].size(0) > 0) return;
  throw ShapeError(
      rule,
      fits ? cat("there are no rows: x is ", types_text(x))
           : cat("x and y must have one row per example: ", types_text(x), " and ", types_text(y)),
      !y.empty() && y[0].rank() == 0 ? "a dataset's elements are batches: .batch(32)" : "");
}

Tensor row_weights(const std::string& rule, const Tensor& given, int64_t rows) {
  if (given.shape() != Shape{rows})
    throw ShapeError(rule, cat("there must be one weight for each of ", rows, " rows, got ", given.type()));
  const Tensor weights = convert(given, DType::kF32);
  const std::span<const float> values = weights.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 0) || std::isinf(values[i]))
      throw ValueError(
          rule, cat("weights are finite and not negative, that of row ", i, " is ", shortest(values[i])));
  }
  return weights;
}

namespace {

// The class of each row of labels, whose numbers are whole: one number a row, or one 1 among zeros.
std::vector<int64_t> class_numbers(const Tensor& y) {
  const auto refuse = [&](const std::string& what) {
    throw ValueError("fit.class_weight",
                     cat("class weights need the class of each row, its number or one 1 among zeros: ", what),
                     "give each row its weight: sample_weight");
  };
  const int64_t rows = y.size(0), size = rows == 0 ? 1 : y.type().elements() / rows;
  if (size == 0) refuse(cat("labels are ", y.type()));
  const Tensor wide = convert(y, DType::kF64);
  const std::span<const double> labels = wide.data<double>();
  std::vector<int64_t> out;
  for (int64_t row = 0; row < rows; ++row) {
    const auto own = labels.subspan(static_cast<size_t>(row * size), static_cast<size_t>(size));
    if (size == 1) {
      if (own[0] != std::floor(own[0]) || std::abs(own[0]) > 0x1p53)
        refuse(cat("label ", shortest(own[0]), " of row ", row, " is no class number"));
      out.push_back(static_cast<int64_t>(own[0]));
      continue;
    }
    const auto ones = std::ranges::count(own, 1.0), zeros = std::ranges::count(own, 0.0);
    if (ones != 1 || zeros != size - 1)
      refuse(cat("row ", row, " of labels ", y.type(), " has ", ones, " ones and ", zeros, " zeros"));
    out.push_back(std::ranges::find(own, 1.0) - own.begin());
  }
  return out;
}

}  // namespace

Tensor class_weights(std::span<const Tensor> labels, const std::map<int64_t, double>& weights,
                     const Tensor& row_weight) {
  if (labels.size() != 1)
    throw ValueError("fit.class_weight", cat("class weights are for one output, y has ", labels.size()),
                     "give each row its weight: sample_weight");
  std::vector<float> out;
  for (const int64_t label : class_numbers(labels[0])) {
    const auto it = weights.find(label);
    out.push_back(it == weights.end() ? 1 : static_cast<float>(it->second));
  }
  const Tensor of_classes = Tensor::of(out);
  return row_weight.defined() ? of_classes * row_weight : of_classes;
}

namespace {

std::vector<int64_t> row_order(const Rows& rows, bool shuffle, uint64_t pass) {
  std::vector<int64_t> order = rows.numbers();
  if (!shuffle) return order;
  Philox random(seed(), pass + 1);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

void check_options(const FitOptions& options) {
  const std::pair<const char*, int> numbers[] = {{"epochs", options.epochs},
                                                 {"steps_per_epoch", options.steps_per_epoch},
                                                 {"initial_epoch", options.initial_epoch}};
  for (const auto& [option, value] : numbers) {
    if (value < 0) throw ValueError(cat("fit.", option), cat(option, " must not be negative, got ", value));
  }
  if (options.validation_x.defined() != options.validation_y.defined()) {
    throw ValueError("fit.validation", cat("validation_x and validation_y come together, validation_",
                                           options.validation_x.defined() ? "y" : "x", " is missing"));
  }
  if (options.validation_sample_weight.defined() && !options.validation_y.defined()) {
    throw ValueError("fit.validation_sample_weight",
                     "validation_sample_weight is of the rows of validation_x, which is missing",
                     options.validation_data.defined()
                         ? "let the last tensor of the elements of validation_data be the weights"
                         : "");
  }
  if ((options.validation_split != 0) + options.validation_y.defined() + options.validation_data.defined() >
      1)
    throw ValueError("fit.validation",
                     "validation_split, validation_x and validation_data are answers to one "
                     "question");
  if (options.validation_data.defined() && options.validation_data.cardinality() == Dataset::kInfinite)
    throw ValueError("fit.validation", cat(options.validation_data, " has no end"),
                     "take() as many batches as are meant");
  for (const auto& [label, weight] : options.class_weight) {
    if (!(weight >= 0) || std::isinf(weight))
      throw ValueError("fit.class_weight", cat("weights are finite and not negative, that of class ", label,
                                               " is ", shortest(weight)));
  }
  for (const auto& callback : options.callbacks) {
    if (!callback) throw ValueError("fit.callbacks", "a callback is null");
  }
}

std::vector<int64_t> Rows::numbers() const {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

Rows rows_of(const std::string& verb, const TensorList& x, const TensorList& y, const Tensor& sample_weight) {
  check_rows(verb + ".rows", x.tensors(), y.tensors());
  Rows out{x.tensors(), sample_weight.defined(), 0, y[0].size(0)};
  out.arrays.insert(out.arrays.end(), y.tensors().begin(), y.tensors().end());
  if (out.weighted) out.arrays.push_back(row_weights(verb + ".sample_weight", sample_weight, out.count));
  return out;
}

Rows rows_to_predict(const TensorList& x) {
  if (x.size() == 0) throw ShapeError("predict.rows", "there are no rows: x is no tensor at all");
  require_defined(x.tensors(), "x");
  std::string types;
  bool fits = true;
  for (size_t i = 0; i < x.size(); ++i) {
    types += cat(i ? ", " : "", x[i].type());
    fits = fits && x[i].rank() > 0 && x[i].size(0) == x[0].size(0);
  }
  if (!fits && x.size() > 1)
    throw ShapeError("predict.rows", cat("all tensors must have one row per example: ", types));
  if (!fits || x[0].size(0) == 0) throw ShapeError("predict.rows", cat("there are no rows: x is ", types));
  return {x.tensors(), false, 0, x[0].size(0)};
}

Tensors join_rows(const std::vector<Tensors>& batches, std::span<const int64_t> rows) {
  const int64_t all = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  Tensors out;
  for (size_t k = 0; k < batches[0].size(); ++k) {
    TensorType type;
    Buffer buffer;
    size_t offset = 0;
    for (size_t i = 0; i < batches.size(); ++i) {
      const Tensor& part = batches[i][k];
      if (!buffer) {
        type = part.type();
        if (!type.shape.empty()) type.shape[0] = all;
        buffer = allocate_buffer(type.bytes());
      }
      TensorType wanted = type;
      if (!wanted.shape.empty()) wanted.shape[0] = rows[i];
      if (part.rank() == 0 || part.type() != wanted) {
        throw ShapeError("predict.rows", cat("outputs must have one row for each of ", rows[i],
                                             " rows of x, all alike: ", part.type()));
      }
      std::memcpy(buffer.get() + offset, part.bytes(), part.type().bytes());
      offset += part.type().bytes();
    }
    out.push_back(make_concrete(Literal(std::move(type), std::move(buffer))));
  }
  return out;
}

void check_batch_size(const std::string& verb, int64_t batch_size) {
  if (batch_size < 1)
    throw ValueError(cat(verb, ".batch_size"), cat("batch_size must be positive, got ", batch_size));
}

std::string content_of(const Rows& rows) {
  uint64_t hash = 0;
  for (const Tensor& array : rows.arrays) hash = hash_bytes(array.bytes(), array.type().bytes(), hash);
  return hash_list_text({hash});
}

Rows validation_rows(const FitOptions& options) {
  if (!options.validation_y.defined()) return {};
  check_batch_size("fit", options.batch_size);
  check_rows("fit.validation", options.validation_x.tensors(), options.validation_y.tensors());
  Rows out = rows_of("fit", options.validation_x, options.validation_y);
  out.weighted = options.validation_sample_weight.defined();
  if (out.weighted)
    out.arrays.push_back(
        row_weights("fit.validation_sample_weight", options.validation_sample_weight, out.count));
  return out;
}

namespace {

// The class of each row; nothing for labels that are none: what is no whole number, or seldom the same.
std::vector<int64_t> classes_of(const Tensor& y) {
  if (y.type().elements() != y.size(0) || !(is_integer(y.dtype()) || y.dtype() == DType::kBool)) return {};
  const Tensor wide = convert(y, DType::kI64);
  const auto values = wide.data<int64_t>();
  const std::set<int64_t> classes(values.begin(), values.end());
  constexpr size_t kRowsEach = 5;
  if (classes.size() * kRowsEach > values.size()) return {};
  return {values.begin(), values.end()};
}

// Which classes of the labels are in one part alone: the first `kept` rows, or the others.
std::vector<std::string> split_notes(const Tensor& y, int64_t kept) {
  constexpr int kNamed = 5;
  const std::vector<int64_t> classes = classes_of(y);
  if (classes.empty()) return {};
  const std::set<int64_t> first(classes.begin(), classes.begin() + kept),
      last(classes.begin() + kept, classes.end());
  std::vector<std::string> out;
  const auto note = [&](const std::set<int64_t>& has, const std::set<int64_t>& lacks, const char* which) {
    std::string names;
    int missing = 0;
    for (const int64_t label : has) {
      if (lacks.contains(label)) continue;
      if (++missing <= kNamed) names += cat(missing == 1 ? "" : ", ", label);
    }
    if (missing == 0) return;
    out.push_back(cat(
        missing == 1 ? "class " : "classes ", names,
        missing > kNamed ? cat(" and ", missing - kNamed, " more") : "", " of the labels: no row among the ",
        which, "; validation_split takes the last rows as they are given, so shuffle them before fit"));
  };
  note(last, first, "training rows");
  note(first, last, "validation rows");
  return out;
}

}  // namespace

FitRows::FitRows(const TensorList& x, const TensorList& y, const FitOptions& options) {
  training = rows_of("fit", x, y, options.sample_weight);
  check_options(options);
  check_batch_size("fit", options.batch_size);
  if (options.weighted)
    throw ValueError("fit.weighted", "rows in memory have their weights in sample_weight");
  validation = validation_rows(options);
  if (options.validation_split != 0) {
    const double share = options.validation_split;
    const double kept = std::floor(static_cast<double>(training.count) * (1 - share));
    if (!(kept >= 1 && kept < static_cast<double>(training.count))) {
      throw ValueError("fit.validation", cat("validation_split must leave rows on both sides, ",
                                             shortest(share), " of ", training.count, " rows does not"));
    }
    validation = training;
    validation.first = static_cast<int64_t>(kept);
    validation.count -= validation.first;
    training.count = validation.first;
    for (const Tensor& labels : y.tensors()) {
      for (std::string& note : split_notes(labels, training.count)) notes.push_back(std::move(note));
    }
  }
  if (options.class_weight.empty()) return;
  const Tensor own = training.weighted ? training.arrays.back() : Tensor();
  if (training.weighted) training.arrays.pop_back();
  training.arrays.push_back(class_weights(y.tensors(), options.class_weight, own));
  training.weighted = true;
}

RowBatches::RowBatches(const Rows& rows, int64_t batch_size, ThreadPool& pool)
    : weighted_(rows.weighted), order_(rows.numbers()), batches_(rows.arrays, order_, batch_size, pool) {}

std::span<const Tensor> RowBatches::next() {
  if (!batches_.next()) return {};
  return weighted_ ? batches_.rows() : batches_.rows_and_ones();
}

Passes::Passes(const Rows& rows, const FitOptions& options, ThreadPool& pool)
    : rows_(rows),
      batch_size_(options.batch_size),
      steps_per_epoch_(options.steps_per_epoch),
      shuffle_(options.shuffle),
      pool_(pool) {
  seek(options.initial_epoch * steps_per_epoch());
}

std::map<std::string, std::string> Passes::run() const {
  std::string types;
  for (const Tensor& array : rows_.arrays) types += cat(types.empty() ? "" : " ", array.type());
  return {{"data", types},
          {"rows", cat(rows_.count)},
          {"batch_size", cat(batch_size_)},
          {"shuffle", cat(shuffle_)}};
}

std::string Passes::content() const { return content_of(rows_); }

void Passes::seek(int64_t batch) {
  now_.reset();
  pass_ = static_cast<uint64_t>(batch / batches());
  skipped_ = batch % batches();
}

int64_t Passes::examples(int64_t batches) const {
  const int64_t whole = batches / this->batches(), rest = batches % this->batches();
  return whole * rows_.count + (rest ? rest * batch_size_ : 0);
}

std::span<const Tensor> Passes::next() {
  if (!now_ || !now_->next()) {
    now_.reset();
    order_ = row_order(rows_, shuffle_, pass_++);
    const auto begun = static_cast<size_t>(skipped_ * batch_size_);
    now_.emplace(rows_.arrays, std::span<const int64_t>(order_).subspan(begun), batch_size_, pool_);
    skipped_ = 0;
    now_->next();
  }
  return rows_.weighted ? now_->rows() : now_->rows_and_ones();
}

}  // namespace espalier
