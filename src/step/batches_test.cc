#include "step/batches.h"

#include <numeric>

#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

Tensor counting(Shape shape) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::of(values, shape);
}

TEST(Batches, GiveTheRowsOfEveryArrayInOrder) {
  const int before = threads();
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    for (const int64_t rows : {1, 2, 7, 64, 300}) {
      const Tensor x = counting({rows, 3, 50}), y = counting({rows});
      std::vector<int64_t> order;
      for (int64_t i = 0; i < rows; ++i) order.push_back(i * 11 % rows);
      for (const int64_t size : {1, 4, 64, 1000}) {
        Batches batches({x, y}, order, size, RunContext::current().pool);
        size_t at = 0;
        while (batches.next()) {
          const auto held = static_cast<size_t>(batches[1].size(0));
          ASSERT_LE(held, static_cast<size_t>(size));
          ASSERT_EQ(batches.ones().to_vector<float>(), std::vector<float>(held, 1.0f));
          const auto images = batches[0].to_vector<float>();
          const auto labels = batches[1].to_vector<float>();
          for (size_t i = 0; i < held; ++i, ++at) {
            ASSERT_EQ(labels[i], static_cast<float>(order[at]));
            for (size_t k = 0; k < 150; ++k)
              ASSERT_EQ(images[i * 150 + k], static_cast<float>(order[at] * 150 + static_cast<int64_t>(k)));
          }
        }
        ASSERT_EQ(at, order.size());
        EXPECT_FALSE(batches.next());
      }
    }
  }
  set_threads(before);
}

TEST(Batches, NoneOfNoRows) {
  Batches batches({counting({3, 2})}, {}, 4, RunContext::current().pool);
  EXPECT_FALSE(batches.next());
}

TEST(Batches, CanBeLeftWhileTheNextIsCopied) {
  const Tensor x = counting({64, 5000});
  std::vector<int64_t> order(64);
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < 50; ++i) {
    Batches batches({x}, order, 16, RunContext::current().pool);
    for (int step = 0; step < i % 4; ++step) ASSERT_TRUE(batches.next());
  }
}

// Two arrays take turns, but never one that somebody still holds.
TEST(Batches, ABatchThatIsHeldOutlivesTheNext) {
  const Tensor x = counting({12});
  std::vector<int64_t> order(12);
  std::iota(order.begin(), order.end(), 0);
  Batches batches({x}, order, 2, RunContext::current().pool);
  batches.next();
  const void* place = batches[0].bytes();
  batches.next();
  EXPECT_NE(batches[0].bytes(), place) << "it is filled while the other is in use";
  batches.next();
  EXPECT_EQ(batches[0].bytes(), place) << "nobody held it";
  const Tensor held = batches[0];
  const Variable variable(held);
  batches.next();
  batches.next();
  EXPECT_NE(batches[0].bytes(), held.bytes());
  EXPECT_EQ(held.to_vector<float>(), (std::vector<float>{4, 5}));
  EXPECT_EQ(variable.read().to_vector<float>(), (std::vector<float>{4, 5}));
}

}  // namespace
}  // namespace espalier
