// Parts of rows against rows that are counted one by one.
#include "strategy/rows.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/array.h"
#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {
namespace {

// Row i of x is (10 i, 10 i + 1), its label is i, its weight 1 + i.
std::vector<Tensor> numbered_rows(int64_t count) {
  std::vector<float> x, weights;
  std::vector<int32_t> y;
  for (int64_t i = 0; i < count; ++i) {
    x.insert(x.end(), {static_cast<float>(10 * i), static_cast<float>(10 * i + 1)});
    y.push_back(static_cast<int32_t>(i));
    weights.push_back(static_cast<float>(1 + i));
  }
  return {Tensor::of(x, {count, 2}), Tensor::of(y), Tensor::of(weights)};
}

// The numbers of rows, by their labels; both of x must be theirs.
std::vector<int32_t> numbers_of(const std::vector<Tensor>& rows) {
  const std::vector<int32_t> out = rows[1].to_vector<int32_t>();
  const auto x = rows[0].data<float>();
  EXPECT_EQ(rows[0].size(0), std::ssize(out));
  EXPECT_EQ(rows[2].size(0), std::ssize(out));
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(x[2 * i], static_cast<float>(10 * out[i])) << i;
    EXPECT_EQ(x[2 * i + 1], static_cast<float>(10 * out[i] + 1)) << i;
  }
  return out;
}

TEST(Rows, BetweenTwoNumbersAreThoseRows) {
  const std::vector<Tensor> all = numbered_rows(6);
  for (int64_t first = 0; first <= 6; ++first) {
    for (int64_t last = first; last <= 6; ++last) {
      const std::vector<Tensor> part = rows_between(all, first, last);
      std::vector<int32_t> wanted;
      for (int64_t i = first; i < last; ++i) wanted.push_back(static_cast<int32_t>(i));
      EXPECT_EQ(numbers_of(part), wanted) << first << " to " << last;
      // In the memory of all: nothing is copied.
      const float* const there = all[0].data<float>().data() + 2 * first;
      EXPECT_TRUE(first == last || part[0].data<float>().data() == there);
    }
  }
  EXPECT_EQ(rows_between(numbered_rows(0), 0, 0)[0].shape(), (Shape{0, 2}));
}

TEST(Rows, OfARepeatedElementAreCutToo) {
  const std::vector<Tensor> part = rows_between(std::vector<Tensor>{full({5, 3}, 2)}, 1, 3);
  EXPECT_EQ(part[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(part[0].to_vector<float>(), std::vector<float>(6, 2));
}

TEST(Rows, OneIsRepeatedBehindThem) {
  for (int64_t had = 1; had <= 4; ++had) {
    for (int64_t row = 0; row < had; ++row) {
      for (int64_t count = had; count <= 7; ++count) {
        std::vector<int32_t> wanted;
        for (int64_t i = 0; i < count; ++i) wanted.push_back(static_cast<int32_t>(i < had ? i : row));
        const std::vector<Tensor> rows = with_row_repeated(numbered_rows(had), row, count);
        EXPECT_EQ(numbers_of(rows), wanted) << row << " of " << had;
        EXPECT_EQ(rows[2].data<float>().back(), static_cast<float>(1 + wanted.back()));
      }
    }
  }
}

TEST(Rows, OfNoWeightStandBehindThem) {
  for (int64_t had = 1; had <= 3; ++had) {
    for (int64_t count = had; count <= 6; ++count) {
      const std::vector<Tensor> before = numbered_rows(had), rows = with_rows_of_no_weight(before, count);
      std::vector<int32_t> wanted;
      std::vector<float> weights;
      for (int64_t i = 0; i < count; ++i) {
        wanted.push_back(static_cast<int32_t>(std::min(i, had - 1)));
        weights.push_back(i < had ? static_cast<float>(1 + i) : 0);
      }
      EXPECT_EQ(numbers_of(rows), wanted);
      EXPECT_EQ(rows[2].to_vector<float>(), weights);
      EXPECT_EQ(before[2].data<float>().back(), static_cast<float>(had)) << "what was given stays as it was";
    }
  }
}

TEST(BatchRows, AreCountedByWeightsOrByShards) {
  const std::vector<Tensor> rows = numbered_rows(5);
  EXPECT_EQ(BatchRows(rows).count(), 5);
  const std::vector<int64_t> shards{2, 0, 7, 1};
  EXPECT_EQ(BatchRows(rows, shards).count(), 10);
}

}  // namespace
}  // namespace espalier
