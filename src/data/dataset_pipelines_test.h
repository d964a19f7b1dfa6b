// Datasets beside what plain loops over vectors make of the same steps.
#pragma once

#include <numeric>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "espalier/array.h"
#include "espalier/dataset.h"
#include "espalier/ops.h"

namespace espalier {

struct Plain {
  std::vector<int64_t> shape;
  std::vector<int32_t> values;
  bool operator==(const Plain&) const = default;
};
using PlainElement = std::vector<Plain>;
using PlainElements = std::vector<PlainElement>;

inline PlainElement plain(const Tensors& element) {
  PlainElement out;
  for (const Tensor& tensor : element) {
    const Tensor narrow = convert(tensor, DType::kI32);
    out.push_back({{narrow.shape().begin(), narrow.shape().end()}, narrow.to_vector<int32_t>()});
  }
  return out;
}

// At most `most` elements from here on.
inline PlainElements rest_of(DatasetIterator& iterator, size_t most = 1000) {
  PlainElements out;
  while (out.size() < most) {
    const auto element = iterator.next();
    if (!element) break;
    out.push_back(plain(*element));
  }
  return out;
}

inline PlainElements all_of(const Dataset& dataset, uint64_t iteration = 0) {
  DatasetIterator iterator(dataset, iteration);
  return rest_of(iterator);
}

// i32[rows, ...] that counts.
inline Tensor counting(Shape shape, int32_t first = 0) {
  std::vector<int32_t> values(static_cast<size_t>(num_elements(shape)));
  std::iota(values.begin(), values.end(), first);
  return Tensor::of(values, shape);
}

// Rows shard.index, shard.index + shard.count, ... of arrays; its place is a text, or found by next().
class RowsInTurn final : public DataSource {
 public:
  RowsInTurn(Tensor x, Tensor y, int64_t rows, DataShard shard, bool jumps)
      : x_(std::move(x)),
        y_(std::move(y)),
        rows_(rows),
        step_(shard.count),
        row_(shard.index),
        jumps_(jumps) {}
  std::optional<Tensors> next() override {
    if (row_ >= rows_) return std::nullopt;
    const int64_t i = row_;
    row_ += step_;
    return Tensors{reshape(slice(x_, {i, 0}, {i + 1, 2}), {2}), reshape(slice(y_, {i}, {i + 1}), {})};
  }
  std::optional<std::string> save() override { return jumps_ ? std::optional(cat(row_)) : std::nullopt; }
  void restore(std::string_view bytes) override { row_ = std::stoll(std::string(bytes)); }

 private:
  Tensor x_, y_;
  int64_t rows_, step_, row_;
  bool jumps_;
};

// A dataset, and what plain loops make of its steps when no shuffle is among them.
struct Pipeline {
  Dataset dataset;
  PlainElements expected;
};

// Random steps over a random source of at most so many rows; `shuffles` makes orders that plain loops do not
// follow.
class RandomPipelines {
 public:
  explicit RandomPipelines(uint64_t seed, bool shuffles, int64_t most_rows = 12)
      : random_(seed), shuffles_(shuffles), most_rows_(most_rows) {}

  Pipeline next() {
    Pipeline out = source();
    for (int64_t steps = below(6); steps >= 0; --steps) step(out);
    return out;
  }
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_.below(static_cast<uint64_t>(bound))); }

 private:
  Pipeline source() {
    const int64_t rows = below(most_rows_ + 1);
    const auto first = static_cast<int32_t>(below(1000));
    const Tensor x = counting({rows, 2}, first), y = counting({rows}, first + 5000);
    Pipeline out;
    for (int32_t i = 0; i < rows; ++i)
      out.expected.push_back({{{2}, {first + 2 * i, first + 2 * i + 1}}, {{}, {first + 5000 + i}}});
    switch (below(5)) {
      case 0:
        out.dataset = Dataset::from_tensor_slices({x, y});
        break;
      case 1:
        out.dataset = Dataset::from_generator([x, y, rows]() -> ElementSource {
          return [x, y, rows, i = int64_t{0}]() mutable -> std::optional<Tensors> {
            if (i == rows) return std::nullopt;
            ++i;
            return Tensors{reshape(slice(x, {i - 1, 0}, {i, 2}), {2}), reshape(slice(y, {i - 1}, {i}), {})};
          };
        });
        break;
      case 2: {  // a source of a shard or more, of rows dealt to them in turn
        const int64_t shards = 1 + below(4);
        const bool jumps = below(2) == 0;
        out.dataset = Dataset::from_source(
            [x, y, rows, jumps](DataShard shard, uint64_t) -> std::unique_ptr<DataSource> {
              return std::make_unique<RowsInTurn>(x, y, rows, shard, jumps);
            },
            {.shards = shards});
        return out;
      }
      case 3: {  // the same rows in files, each a shard's: the last ones are shorter by one row
        const int64_t shards = 1 + below(4);
        std::vector<std::string> paths;
        for (int64_t i = 0; i < shards; ++i) paths.push_back(cat(i));
        out.dataset = Dataset::from_files(
            paths,
            [x, y, rows, shards](const std::string& path) -> Tensors {
              const std::vector<int64_t> first{std::min<int64_t>(std::stoll(path), rows)};
              return {slice(x, {first[0], 0}, {rows, 2}, {shards, 1}), slice(y, first, {rows}, {shards})};
            },
            {.shards = shards});
        return out;
      }
      default: {  // two files, the rows of the second behind those of the first
        const int64_t cut = below(rows + 1);
        out.dataset = Dataset::from_files({"a", "b"}, [x, y, cut, rows](const std::string& path) -> Tensors {
          const int64_t begin = path == "a" ? 0 : cut, end = path == "a" ? cut : rows;
          return {slice(x, {begin, 0}, {end, 2}), slice(y, {begin}, {end})};
        });
      }
    }
    return out;
  }

  void step(Pipeline& p) {
    switch (below(shuffles_ ? 15 : 14)) {
      case 0:
        return map(p);
      case 1:
        return batch(p);
      case 2:
        return padded_batch(p);
      case 3: {
        const int64_t count = below(4);
        p.dataset = p.dataset.repeat(count);
        return repeat(p, count);
      }
      case 4: {
        const int64_t most = below(most_rows_ + 8);
        // It would count as infinite.
        if (p.expected.empty() && p.dataset.cardinality() == Dataset::kUnknown) return;
        p.dataset = p.dataset.repeat().take(most);
        repeat(p, most);
        return cut(p, 0, most);
      }
      case 5:
        p.dataset = p.dataset.prefetch(1 + below(4));
        return;
      case 6: {
        const int64_t count = below(most_rows_ + 8);
        p.dataset = p.dataset.take(count);
        return cut(p, 0, count);
      }
      case 7: {
        const int64_t count = below(5);
        p.dataset = p.dataset.skip(count);
        return cut(p, count, 1000);
      }
      case 8: {
        const int64_t count = 1 + below(4), index = below(count);
        p.dataset = p.dataset.shard(count, index);
        PlainElements kept;
        for (size_t i = 0; i < p.expected.size(); ++i) {
          if (static_cast<int64_t>(i) % count == index) kept.push_back(p.expected[i]);
        }
        p.expected = kept;
        return;
      }
      case 9: {
        const Pipeline more = source();
        p.dataset = p.dataset.concatenate(more.dataset);
        p.expected.insert(p.expected.end(), more.expected.begin(), more.expected.end());
        return;
      }
      case 10: {
        const Pipeline more = source();
        p.dataset = Dataset::zip({p.dataset, more.dataset});
        cut(p, 0, static_cast<int64_t>(more.expected.size()));
        for (size_t i = 0; i < p.expected.size(); ++i)
          p.expected[i].insert(p.expected[i].end(), more.expected[i].begin(), more.expected[i].end());
        return;
      }
      case 11: {
        const auto start = static_cast<int32_t>(below(10));
        p.dataset = p.dataset.enumerate(start);
        for (size_t i = 0; i < p.expected.size(); ++i)
          p.expected[i].insert(p.expected[i].begin(), {{}, {start + static_cast<int32_t>(i)}});
        return;
      }
      case 12: {
        const auto divisor = static_cast<int32_t>(2 + below(3)), rest = static_cast<int32_t>(below(2));
        p.dataset = p.dataset.filter([divisor, rest](const Tensors& element) {
          return sum(convert(element[0], DType::kI32)).item<int32_t>() % divisor != rest;
        });
        std::erase_if(p.expected, [&](const PlainElement& element) {
          const std::vector<int32_t>& values = element[0].values;
          return std::accumulate(values.begin(), values.end(), 0) % divisor == rest;
        });
        return;
      }
      case 13:
        p.dataset = p.dataset.cache();
        return;
      default: {
        ShuffleOptions options{.reshuffle_each_iteration = below(2) == 0};
        if (below(2) == 0) options.seed = static_cast<uint64_t>(below(5));
        p.dataset = p.dataset.shuffle(1 + below(most_rows_ + 8), options);
      }
    }
  }

  void map(Pipeline& p) {
    const int calls = static_cast<int>(1 + below(4));
    p.dataset = p.dataset.map(
        [](const Tensors& element) {
          Tensors out;
          for (const Tensor& tensor : element) out.push_back(convert(tensor, DType::kI32) * 2 + 1);
          return out;
        },
        {.num_parallel_calls = calls});
    for (PlainElement& element : p.expected) {
      for (Plain& tensor : element) {
        for (int32_t& value : tensor.values) value = value * 2 + 1;
      }
    }
  }

  static bool alike(const PlainElements& elements, bool ranks_only) {
    for (const PlainElement& element : elements) {
      if (element.size() != elements[0].size()) return false;
      for (size_t i = 0; i < element.size(); ++i) {
        const auto &a = element[i].shape, &b = elements[0][i].shape;
        if (ranks_only ? a.size() != b.size() : a != b) return false;
      }
    }
    return true;
  }

  // Every step keeps tensors of one dtype at a place but zip, concatenate and enumerate: i32 again.
  static Dataset one_dtype(const Dataset& dataset) {
    return dataset.map([](const Tensors& element) {
      Tensors out;
      for (const Tensor& tensor : element) out.push_back(convert(tensor, DType::kI32));
      return out;
    });
  }

  void batch(Pipeline& p) {
    // In whatever order a shuffle gives them.
    if (!alike(p.expected, false) || (shuffles_ && has_short_batch_)) return;
    const int64_t size = 1 + below(5);
    const bool drops = below(2) == 0;
    has_short_batch_ = has_short_batch_ || !drops;
    p.dataset = one_dtype(p.dataset).batch(size, {.drop_remainder = drops});
    join(p, size, drops, 0);
  }

  void padded_batch(Pipeline& p) {
    if (!alike(p.expected, true)) return;
    const int64_t size = 1 + below(5);
    const bool drops = below(2) == 0;
    has_short_batch_ = true;
    const auto value = static_cast<int32_t>(below(3));
    const size_t tensors = p.expected.empty() ? 0 : p.expected[0].size();
    PaddedBatchOptions options{.drop_remainder = drops};
    if (value && tensors) options.padding_values.assign(tensors, Operand(value));
    p.dataset = one_dtype(p.dataset).padded_batch(size, options);
    join(p, size, drops, value);
  }

  static void join(Pipeline& p, int64_t size, bool drops, int32_t padding) {
    PlainElements out;
    for (size_t first = 0; first < p.expected.size(); first += static_cast<size_t>(size)) {
      const size_t last = std::min(first + static_cast<size_t>(size), p.expected.size());
      if (drops && last - first < static_cast<size_t>(size)) break;
      PlainElement joined;
      for (size_t tensor = 0; tensor < p.expected[first].size(); ++tensor) {
        std::vector<int64_t> longest = p.expected[first][tensor].shape;
        for (size_t i = first; i < last; ++i) {
          for (size_t axis = 0; axis < longest.size(); ++axis)
            longest[axis] = std::max(longest[axis], p.expected[i][tensor].shape[axis]);
        }
        Plain all{longest, {}};
        all.shape.insert(all.shape.begin(), static_cast<int64_t>(last - first));
        for (size_t i = first; i < last; ++i)
          append_padded(p.expected[i][tensor], longest, padding, all.values);
        joined.push_back(all);
      }
      out.push_back(joined);
    }
    p.expected = out;
  }

  // Element by element: which index it has, and whether the shorter array has that one.
  static void append_padded(const Plain& from, const std::vector<int64_t>& longest, int32_t padding,
                            std::vector<int32_t>& to) {
    const int64_t count = std::accumulate(longest.begin(), longest.end(), int64_t{1}, std::multiplies<>());
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, place = 0, stride = 1;
      bool inside = true;
      for (size_t axis = longest.size(); axis-- > 0;) {
        const int64_t at = rest % longest[axis];
        rest /= longest[axis];
        inside = inside && at < from.shape[axis];
        place += at * stride;
        stride *= from.shape[axis];
      }
      to.push_back(inside ? from.values[static_cast<size_t>(place)] : padding);
    }
  }

  static void repeat(Pipeline& p, int64_t count) {
    const PlainElements once = p.expected;
    p.expected.clear();
    for (int64_t i = 0; i < count; ++i) p.expected.insert(p.expected.end(), once.begin(), once.end());
  }
  static void cut(Pipeline& p, int64_t begin, int64_t count) {
    const auto size = static_cast<int64_t>(p.expected.size());
    begin = std::min(begin, size);
    const int64_t end = std::min(size, begin + count);
    p.expected = PlainElements(p.expected.begin() + begin, p.expected.begin() + end);
  }

  Philox random_;
  bool shuffles_;
  int64_t most_rows_;
  bool has_short_batch_ = false;
};

}  // namespace espalier
