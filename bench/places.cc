// Rows of a table that are written, gathered and added to in place, calls of predict with changing numbers of
// rows, and steps of embeddings: microseconds a call. Each result is checked before its time is printed: a
// JSON line a row, or a table where the output is a terminal. "check" is a hash of a result that is exact, or
// a number of one that is rounded. scripts/bench-before holds two commits against each other by it, and
// compiles this file in either of them: it includes public headers alone.
//
// usage: bench_places [ROW ...] [--rounds N] [--table|--json] [--list]; exit 1 when a row computes nonsense
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "espalier/espalier.h"
#include "timed_rows.h"

using namespace espalier;
using namespace timed_rows;

namespace {

// Options by which the first argument may be overwritten, where there are such.
template <class Options>
constexpr bool kCanDonate = requires(Options options) {
  options.donate;
};
template <class Options = FunctionOptions>
Options donating() {
  Options options;
  if constexpr (kCanDonate<Options>) options.donate = {0};
  return options;
}

// dynamic_update_slice: one row of a cache.

constexpr int64_t kCacheWidth = 1024, kCacheCalls = 37;

struct CacheRows {
  explicit CacheRows(int64_t rows) {
    for (int64_t i = 0; i < kCacheCalls; ++i) {
      at.push_back(Tensor::scalar(i * 977 % rows));
      row.push_back(whole_numbers({1, kCacheWidth}, 1000, static_cast<uint64_t>(i)));
    }
  }
  const Tensor& position() const { return at[next % kCacheCalls]; }
  const Tensor& values() const { return row[next % kCacheCalls]; }
  std::vector<Tensor> at, row;
  size_t next = 0;
};

// That the cache holds what was written, and nothing else.
void check_cache(const Tensor& cache, const CacheRows& written) {
  std::vector<float> wanted(cache.data<float>().size(), 0.5f);
  for (size_t i = 0; i < written.at.size(); ++i) {
    const auto values = written.row[i].data<float>();
    std::ranges::copy(values, wanted.begin() + written.at[i].item<int64_t>() * kCacheWidth);
  }
  require(std::ranges::equal(cache.data<float>(), wanted), "the cache holds other rows than were written");
}

template <int64_t kMiB>
TimedRow cache_variable() {
  constexpr int64_t kRows = (kMiB << 20) / 4 / kCacheWidth;
  const auto rows = std::make_shared<CacheRows>(kRows);
  Variable cache(full({kRows, kCacheWidth}, 0.5));
  const auto write = function([cache](const Tensor& row, const Tensor& at) mutable {
    cache.assign(dynamic_update_slice(cache, row, {at, Tensor::scalar(int64_t{0})}));
  });
  const auto call = [=] {
    write(rows->values(), rows->position());
    ++rows->next;
  };
  for (int64_t i = 0; i < kCacheCalls; ++i) call();
  check_cache(cache, *rows);
  const auto sane = [=] { return check_cache(cache, *rows), true; };
  return {.call = call, .check = hash_of(cache), .sane = sane};
}

template <int64_t kMiB>
TimedRow cache_argument() {
  constexpr int64_t kRows = (kMiB << 20) / 4 / kCacheWidth;
  const auto rows = std::make_shared<CacheRows>(kRows);
  const auto cache = std::make_shared<Tensor>(full({kRows, kCacheWidth}, 0.5));
  const auto write = function(
      [](const Tensor& before, const Tensor& row, const Tensor& at) {
        return dynamic_update_slice(before, row, {at, Tensor::scalar(int64_t{0})});
      },
      donating());
  const auto call = [=] {
    *cache = write(*cache, rows->values(), rows->position());
    ++rows->next;
  };
  for (int64_t i = 0; i < kCacheCalls; ++i) call();
  check_cache(*cache, *rows);
  const auto sane = [=] { return check_cache(*cache, *rows), true; };
  return {.call = call, .check = hash_of(*cache), .sane = sane, .donates = kCanDonate<FunctionOptions>};
}

// predict.

// Row `row` of x through dense layers with relu between them, in f64.
std::vector<double> dense_outputs(const std::vector<Variable>& weights, const Tensor& x, int64_t row) {
  const auto width = static_cast<size_t>(x.size(1));
  const auto inputs = x.data<float>().subspan(static_cast<size_t>(row) * width, width);
  std::vector<double> now(inputs.begin(), inputs.end());
  for (size_t layer = 0; layer + 1 < weights.size(); layer += 2) {
    const Tensor kernel = weights[layer].read(), bias = weights[layer + 1].read();
    const auto k = kernel.data<float>(), b = bias.data<float>();
    std::vector<double> next(b.begin(), b.end());
    for (size_t i = 0; i < now.size(); ++i) {
      const double input = layer == 0 ? now[i] : std::max(now[i], 0.0);
      for (size_t j = 0; j < next.size(); ++j) next[j] += input * double{k[i * next.size() + j]};
    }
    now = std::move(next);
  }
  return now;
}
void check_row(const Tensor& outputs, int64_t row, const std::vector<double>& wanted,
               const char* problem = "an output differs from the one computed in f64") {
  const auto got = outputs.data<float>().subspan(static_cast<size_t>(row) * wanted.size(), wanted.size());
  require(std::ranges::equal(got, wanted, near), problem);
}

Sequential dense_model(int64_t width) {
  set_seed(1);
  Sequential model{Dense({.units = width, .activation = "relu"}), Dense({.units = 10})};
  model(zeros({1, width}));
  return model;
}

// Calls on each of `inputs` in turn.
TimedRow predict_turns(Sequential model, const std::vector<Tensor>& inputs) {
  double sum = 0;
  for (const Tensor& x : inputs) {
    const Tensor outputs = model.predict(x);
    require(outputs.size(0) == x.size(0), "there is not one output for each row");
    for (const int64_t row : {int64_t{0}, x.size(0) / 2, x.size(0) - 1})
      check_row(outputs, row, dense_outputs(model.variables(), x, row));
    sum += weighted_sum(outputs);
  }
  const auto last = std::make_shared<Tensor>();
  const auto call = [=]() mutable {
    for (const Tensor& x : inputs) *last = model.predict(x);
  };
  const double wanted = weighted_sum(model.predict(inputs.back()));
  return {.call = call, .calls = static_cast<double>(inputs.size()), .check = number(sum), .sane = [=] {
            return near(weighted_sum(*last), wanted);
          }};
}

TimedRow predict_in_turn() {
  std::vector<int64_t> sizes(32);
  std::iota(sizes.begin(), sizes.end(), 1);
  std::mt19937 random(61);
  for (size_t i = sizes.size() - 1; i > 0; --i) std::swap(sizes[i], sizes[random() % (i + 1)]);
  std::vector<Tensor> inputs;
  Generator values(7);
  for (const int64_t rows : sizes) inputs.push_back(values.uniform({rows, 64}));
  return predict_turns(dense_model(64), inputs);
}
TimedRow predict_fixed_16() {
  Generator values(7);
  return predict_turns(dense_model(64), std::vector(32, values.uniform({16, 64})));
}
template <int64_t kRows>
TimedRow predict_dense() {
  return predict_turns(dense_model(1024), {Generator(7).uniform({kRows, 1024})});
}

// The model of `espalier bench cnn`.
template <int64_t kRows>
TimedRow predict_cnn() {
  set_seed(1);
  Sequential model{Conv2D({.filters = 32, .kernel_size = {3, 3}, .activation = "relu"}),
                   MaxPooling2D(),
                   Conv2D({.filters = 64, .kernel_size = {3, 3}, .activation = "relu"}),
                   MaxPooling2D(),
                   Flatten(),
                   Dense({.units = 10})};
  const Tensor x = Generator(7).uniform({kRows, 28, 28, 1});
  const Tensor outputs = model.predict(x);
  require(outputs.size(0) == kRows, "there is not one output for each row");
  for (const int64_t row : {int64_t{0}, kRows / 2, kRows - 1}) {
    const Tensor alone = model(slice(x, {row, 0, 0, 0}, {row + 1, 28, 28, 1}));
    const auto values = alone.data<float>();
    check_row(outputs, row, {values.begin(), values.end()}, "an output differs from that of its row alone");
  }
  const auto last = std::make_shared<Tensor>();
  const double wanted = weighted_sum(outputs);
  return {.call = [=]() mutable { *last = model.predict(x); },
          .check = number(wanted),
          .sane = [=] { return near(weighted_sum(*last), wanted); }};
}

// A step on an embedding: 64 rows of 4 ids each.

constexpr int64_t kEmbedded = 64, kIdsOfRow = 4, kEmbeddingWidth = 32, kEmbeddingBatches = 16;
constexpr double kEmbeddingRate = 0.05;

struct EmbeddingBatches {
  // The last id is in no row.
  explicit EmbeddingBatches(int64_t ids) {
    std::mt19937_64 random(61);
    for (int64_t batch = 0; batch < kEmbeddingBatches; ++batch) {
      std::vector<int64_t> id;
      std::vector<float> label;
      for (int64_t i = 0; i < kEmbedded * kIdsOfRow; ++i) {
        id.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(ids - 1)));
        if (i % kIdsOfRow == 0) label.push_back(static_cast<float>(id.back() % 2));
      }
      x.push_back(Tensor::of(id, {kEmbedded, kIdsOfRow}));
      y.push_back(Tensor::of(label, {kEmbedded, 1}));
    }
  }
  std::vector<Tensor> x, y;
};

// The same steps in f64: a table, of which rows are kept that ids name, and one output of their elements.
class EmbeddingByHand {
 public:
  EmbeddingByHand(const std::vector<float>& table, const Tensor& kernel) : table_(table) {
    const auto values = kernel.data<float>();
    kernel_.assign(values.begin(), values.end());
  }
  // Its loss.
  double step(const Tensor& ids, const Tensor& labels) {
    const auto id = ids.data<int64_t>();
    const auto label = labels.data<float>();
    double loss = 0, bias_slope = 0;
    std::vector<double> slopes, kernel_slope(kernel_.size());
    for (size_t row = 0; row < kEmbedded; ++row) {
      double output = bias_;
      for (size_t k = 0; k < kernel_.size(); ++k)
        output += row_of(id[row * kIdsOfRow + k / kEmbeddingWidth])[k % kEmbeddingWidth] * kernel_[k];
      const double miss = output - double{label[row]};
      loss += miss * miss / kEmbedded;
      slopes.push_back(2 * miss / kEmbedded);
      bias_slope += slopes.back();
      for (size_t k = 0; k < kernel_.size(); ++k)
        kernel_slope[k] +=
            slopes.back() * row_of(id[row * kIdsOfRow + k / kEmbeddingWidth])[k % kEmbeddingWidth];
    }
    for (size_t row = 0; row < kEmbedded; ++row) {
      for (size_t k = 0; k < kernel_.size(); ++k)
        row_of(id[row * kIdsOfRow + k / kEmbeddingWidth])[k % kEmbeddingWidth] -=
            kEmbeddingRate * slopes[row] * kernel_[k];
    }
    for (size_t k = 0; k < kernel_.size(); ++k) kernel_[k] -= kEmbeddingRate * kernel_slope[k];
    bias_ -= kEmbeddingRate * bias_slope;
    return loss;
  }
  // Whether that is the table now: rows that no id named have not changed at all.
  bool is(std::span<const float> table) const {
    constexpr auto kWidth = static_cast<size_t>(kEmbeddingWidth);
    for (size_t id = 0; id < table.size() / kWidth; ++id) {
      const float* const now = &table[id * kWidth];
      const auto found = rows_.find(static_cast<int64_t>(id));
      const bool good = found == rows_.end() ? std::equal(now, now + kWidth, &table_[id * kWidth])
                                             : std::equal(now, now + kWidth, found->second.begin(), close);
      if (!good) return false;
    }
    return true;
  }

 private:
  static bool close(double got, double wanted) { return std::fabs(got - wanted) <= 1e-6; }
  std::vector<double>& row_of(int64_t id) {
    std::vector<double>& row = rows_[id];
    if (row.empty()) {
      const auto* const begin = &table_[static_cast<size_t>(id * kEmbeddingWidth)];
      row.assign(begin, begin + kEmbeddingWidth);
    }
    return row;
  }
  const std::vector<float>& table_;  // before the first step
  std::unordered_map<int64_t, std::vector<double>> rows_;
  std::vector<double> kernel_;
  double bias_ = 0;
};

template <int64_t kIds>
TimedRow embedding() {
  set_seed(1);
  Sequential model{Embedding({.input_dim = kIds, .output_dim = kEmbeddingWidth}), Flatten(),
                   Dense({.units = 1})};
  model.compile(
      {.optimizer = SGD{.learning_rate = kEmbeddingRate}, .loss = MeanSquaredError(), .metrics = {}});
  const auto batches = std::make_shared<EmbeddingBatches>(kIds);
  model(batches->x[0]);
  const std::vector<Variable> weights = model.variables();
  const std::vector<float> before = weights[0].read().to_vector<float>();
  EmbeddingByHand by_hand(before, weights[1]);
  const auto next = std::make_shared<size_t>(0);
  const auto loss = std::make_shared<double>(0);
  auto call = [=]() mutable {
    const size_t batch = (*next)++ % kEmbeddingBatches;
    *loss = model.train_on_batch(batches->x[batch], batches->y[batch]).at("loss");
  };
  double first = 0, second = 0;
  for (size_t i = 0; i < 2 * kEmbeddingBatches; ++i) {
    const size_t batch = i % kEmbeddingBatches;
    call();
    require(near(*loss, by_hand.step(batches->x[batch], batches->y[batch])),
            "a loss differs from the one computed in f64");
    (i < kEmbeddingBatches ? first : second) += *loss;
  }
  require(second < first, "the loss does not fall");
  require(by_hand.is(weights[0].read().data<float>()), "the table differs from the one computed in f64");
  return {.call = call, .check = number(second), .sane = [=] {
            return std::isfinite(*loss) && *loss * kEmbeddingBatches < first;
          }};
}

// gather and scatter_add of rows of a table of 100,000.

constexpr int64_t kTable = 100'000;
template <int64_t kRows, int64_t kWidth>
Tensor row_ids() {
  std::mt19937_64 random(61);
  std::vector<int64_t> ids(kRows);
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % kTable);
  return Tensor::of(ids, {kRows, 1});
}
const IndexAxes kRowAxes{.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1};
// Rows that are large are held against a copy, which reads and writes them once.
template <int64_t kRows, int64_t kWidth>
constexpr double kRowBytes = kWidth >= 512 ? 4.0 * kRows* kWidth : 0;

template <int64_t kRows, int64_t kWidth>
TimedRow gather_rows() {
  const Tensor table = whole_numbers({kTable, kWidth}, 1000, 1), ids = row_ids<kRows, kWidth>();
  const auto pick = function([](const Tensor& from, const Tensor& which) {
    return gather(from, which, kRowAxes, {1, kWidth});
  });
  const auto last = std::make_shared<Tensor>(pick(table, ids));
  for (int64_t i = 0; i < kRows; ++i) {
    const auto id = static_cast<size_t>(ids.data<int64_t>()[static_cast<size_t>(i)]);
    require(std::ranges::equal(last->template data<float>().subspan(static_cast<size_t>(i) * kWidth, kWidth),
                               table.data<float>().subspan(id * kWidth, kWidth)),
            "a row that was gathered is another one");
  }
  const std::string check = hash_of(*last);
  return {.call = [=] { *last = pick(table, ids); },
          .check = check,
          .sane = [=] { return hash_of(*last) == check; },
          .bytes = 2 * kRowBytes<kRows, kWidth>};
}

template <int64_t kRows, int64_t kWidth>
TimedRow scatter_add_rows() {
  const Tensor before = whole_numbers({kTable, kWidth}, 1000, 1), ids = row_ids<kRows, kWidth>();
  // Every other call takes away what the one before it added: numbers stay small, and their sums exact.
  const Tensor updates = whole_numbers({kRows, kWidth}, 100, 2), back = -updates;
  Variable table(before);
  const auto add = function([table](const Tensor& which, const Tensor& what) mutable {
    table.assign(scatter_add(table, which, what, kRowAxes));
  });
  const auto calls = std::make_shared<int64_t>(0);
  const auto call = [=] { add(ids, (*calls)++ % 2 ? back : updates); };
  std::vector<float> wanted = before.to_vector<float>();
  for (size_t i = 0; i < kRows; ++i) {
    const auto id = static_cast<size_t>(ids.data<int64_t>()[i]);
    for (size_t j = 0; j < kWidth; ++j) wanted[id * kWidth + j] += updates.data<float>()[i * kWidth + j];
  }
  for (int i = 0; i < 3; ++i) call();
  require(std::ranges::equal(table.read().data<float>(), wanted), "a sum is wrong");
  const std::string check = hash_of(table);
  const auto sane = [=] {
    if (*calls % 2 == 0) add(ids, updates);
    return hash_of(table) == check;
  };
  return {.call = call, .check = check, .sane = sane, .bytes = 3 * kRowBytes<kRows, kWidth>};
}

constexpr NamedRow kAllRows[] = {
    {"cache_8mib_variable", cache_variable<8>},
    {"cache_64mib_variable", cache_variable<64>},
    {"cache_8mib_argument", cache_argument<8>},
    {"cache_64mib_argument", cache_argument<64>},
    {"predict_in_turn", predict_in_turn},
    {"predict_fixed_16", predict_fixed_16},
    {"predict_dense_5", predict_dense<5>},
    {"predict_dense_33", predict_dense<33>},
    {"predict_dense_257", predict_dense<257>},
    {"predict_cnn_5", predict_cnn<5>},
    {"predict_cnn_33", predict_cnn<33>},
    {"predict_cnn_257", predict_cnn<257>},
    {"embedding_1k", embedding<1'000>},
    {"embedding_100k", embedding<100'000>},
    {"embedding_1m", embedding<1'000'000>},
    {"gather_256x32", gather_rows<256, 32>},
    {"scatter_add_256x32", scatter_add_rows<256, 32>},
    {"gather_4096x512", gather_rows<4096, 512>},
    {"scatter_add_4096x512", scatter_add_rows<4096, 512>},
};

}  // namespace

int main(int argc, char** argv) { return time_rows("bench_places", kAllRows, argc, argv); }
