// Variables of which a traced function writes some elements.
#include <functional>

#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

struct Cache {
  Variable rows{full({64, 8}, 0.5), {.name = "cache"}};
  std::function<Tensor(const Tensor&, const Tensor&)> write =
      function([this](const Tensor& row, const Tensor& place) {
        rows.assign(dynamic_update_slice(rows, row, {place, Tensor::scalar(0)}));
        return row;
      });
  void write_at(int place, double value) { write(full({1, 8}, value), Tensor::scalar(place)); }
};

TEST(VariableUpdates, OfOneRowLeaveTheOthersWhereTheyAre) {
  Cache cache;
  cache.write_at(3, 1);
  const void* const before = cache.rows.read().bytes();
  std::vector<float> wanted(64 * 8, 0.5f);
  std::fill_n(wanted.begin() + 3 * 8, 8, 1.0f);
  for (int i = 10; i < 20; ++i) {
    cache.write_at(i, i);
    std::fill_n(wanted.begin() + i * 8, 8, static_cast<float>(i));
  }
  cache.write_at(1000, 7);  // clamped
  std::fill_n(wanted.begin() + 63 * 8, 8, 7.0f);
  EXPECT_EQ(cache.rows.read().to_vector<float>(), wanted);
  EXPECT_TRUE(RunContext::current().device || cache.rows.read().bytes() == before);
}

TEST(VariableUpdates, AnOldValueThatIsHeldStays) {
  Cache cache;
  cache.write_at(3, 1);
  const Tensor held = cache.rows.read();
  const std::vector<float> before = held.to_vector<float>();
  for (const int place : {3, 4}) cache.write_at(place, 9);
  EXPECT_EQ(held.to_vector<float>(), before);
  EXPECT_EQ(cache.rows.read().to_vector<float>()[3 * 8], 9);
}

// Of a gather, with respect to the table: rows that are met twice add up.
TEST(VariableUpdates, OfATableByTheGradientOfItsRows) {
  Variable table(full({50, 4}, 1), {.name = "table"});
  const auto step = function([&](const Tensor& ids) {
    GradientTape tape;
    const Tensor loss = sum(take(table, ids, 0));
    table.assign_sub(tape.gradient(loss, std::vector<Variable>{table})[0] * 0.25);
    return loss;
  });
  const Tensor ids = Tensor::of<int32_t>({7, 9, 7, 0});
  for (int i = 0; i < 3; ++i) step(ids);
  std::vector<float> wanted(50 * 4, 1.0f);
  for (int row : {7, 9, 7, 0}) {
    for (int k = 0; k < 4; ++k) wanted[static_cast<size_t>(row * 4 + k)] -= 0.75f;
  }
  EXPECT_EQ(table.read().to_vector<float>(), wanted);
}

}  // namespace
}  // namespace espalier
