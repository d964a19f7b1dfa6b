// Data that each worker names itself, and says so, in loops.
#include <mutex>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "strategy/replicas.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// Rows of worker w: 1000 w, 1000 w + 1, ...
float row_of(size_t worker, int64_t number) {
  return static_cast<float>(1000 * worker) + static_cast<float>(number);
}

// Elements of these sizes, as a generator has them, or as batches of rows in memory.
Dataset own_rows(size_t worker, const std::vector<int64_t>& sizes) {
  return Dataset::from_generator([=] {
    return [=, element = size_t{0}, row = int64_t{0}]() mutable -> std::optional<Tensors> {
      if (element == sizes.size()) return std::nullopt;
      std::vector<float> x;
      for (int64_t i = 0; i < sizes[element]; ++i) x.push_back(row_of(worker, row++));
      const int64_t rows = sizes[element++];
      return Tensors{Tensor::of(x, {rows, 1}), full({rows}, static_cast<double>(worker), DType::kI32)};
    };
  });
}

struct OwnLoop {
  std::vector<std::vector<std::vector<float>>> steps;  // of each worker, of each step
  std::vector<float> sums;                             // of all rows of a step, as reduce() has it
};

OwnLoop read_own(size_t world, const std::function<DistributedDataset(const Strategy&)>& data) {
  OwnLoop out;
  out.steps.resize(world);
  on_each_worker(static_cast<int>(world), [&](const Strategy& strategy) {
    DistributedDataset batches = data(strategy);
    const auto worker = static_cast<size_t>(strategy.worker());
    std::vector<float> sums;
    while (const auto batch = batches.next()) {
      ASSERT_EQ(batch->size(), 2u);
      ASSERT_EQ(batch->at(0).values.size(), 1u);
      const Tensor &x = batch->at(0).values[0], &y = batch->at(1).values[0];
      ASSERT_EQ(x.rank(), 2u);
      EXPECT_EQ(x.size(1), 1);
      EXPECT_EQ(y.type(), (TensorType{DType::kI32, {x.size(0)}}));
      for (const int32_t label : y.to_vector<int32_t>()) EXPECT_EQ(label, strategy.worker());
      out.steps[worker].push_back(x.to_vector<float>());
      sums.push_back(strategy.reduce(ReduceOp::kSum, batch->at(0), 0).to_vector<float>()[0]);
    }
    if (worker == 0) out.sums = sums;
  });
  return out;
}

// Against a loop over the elements of all: the same number of steps on each, as many as the most has, rows
// only of its own, each once, in order; and the sum over all workers is that of the rows of the step.
TEST(OwnData, EachRowComesOnceAndAllEndTogether) {
  Philox random(31);
  for (int i = 0; i < 12; ++i) {
    for (const size_t world : {1, 2, 3, 5}) {
      SCOPED_TRACE(cat(i, ", ", world, " workers"));
      std::vector<std::vector<int64_t>> sizes(world);
      for (auto& of_worker : sizes) {
        of_worker.resize(random.below(6));
        // Perhaps an element without rows; alone, one has some.
        for (int64_t& size : of_worker)
          size = static_cast<int64_t>(world == 1) + static_cast<int64_t>(random.below(5));
      }
      const OwnLoop got = read_own(world, [&](const Strategy& strategy) {
        const auto worker = static_cast<size_t>(strategy.worker());
        const Dataset own = own_rows(worker, sizes[worker]);
        // Wherever it is said.
        return strategy.distribute(i % 2 ? Dataset::per_worker(own).prefetch(1)
                                         : Dataset::per_worker(own.prefetch(1)));
      });
      size_t steps = 0;
      for (const auto& of_worker : sizes) steps = std::max(steps, of_worker.size());
      ASSERT_EQ(got.sums.size(), steps);
      std::vector<float> sums(steps);
      for (size_t worker = 0; worker < world; ++worker) {
        ASSERT_EQ(got.steps[worker].size(), steps) << "all make as many steps";
        int64_t row = 0;
        for (size_t step = 0; step < steps; ++step) {
          const int64_t rows = step < sizes[worker].size() ? sizes[worker][step] : 0;
          std::vector<float> wanted;
          for (int64_t k = 0; k < rows; ++k) wanted.push_back(row_of(worker, row++));
          ASSERT_EQ(got.steps[worker][step], wanted) << "worker " << worker << ", step " << step;
          sums[step] += std::accumulate(wanted.begin(), wanted.end(), 0.0f);
        }
      }
      EXPECT_EQ(got.sums, sums);
    }
  }
}

TEST(OwnData, AFunctionMakesItOfItsContext) {
  for (const int world : {1, 2, 3, 5}) {
    std::mutex mutex;
    std::multiset<float> seen;
    int64_t rows_of_all = 0;
    on_each_worker(world, [&](const Strategy& strategy) {
      DistributedDataset batches = strategy.distribute_from_function([&](const InputContext& context) {
        EXPECT_EQ(context.worker, strategy.worker());
        EXPECT_EQ(context.workers, world);
        EXPECT_EQ(context.replicas, world);
        const std::lock_guard hold(mutex);
        rows_of_all += context.rows_of(64);
        return Dataset::from_tensor_slices({convert(arange(17), DType::kF32)})
            .shard(context.workers, context.worker)
            .batch(3);
      });
      while (const auto batch = batches.next()) {
        const std::vector<float> rows = batch->at(0).values[0].to_vector<float>();
        const std::lock_guard hold(mutex);
        seen.insert(rows.begin(), rows.end());
      }
    });
    EXPECT_EQ(rows_of_all, 64);
    std::multiset<float> wanted;
    for (int i = 0; i < 17; ++i) wanted.insert(static_cast<float>(i));
    EXPECT_EQ(seen, wanted) << world;
  }
}

// Replicas of one process share out the batch, as without it.
TEST(OwnData, OfOneProcessItIsAsEver) {
  const strategy::Mirrored two({.devices = 2});
  const Dataset rows = Dataset::from_tensor_slices({convert(arange(7), DType::kF32)}).batch(4);
  DistributedDataset own = two.distribute(Dataset::per_worker(rows)), plain = two.distribute(rows);
  while (const auto batch = own.next()) {
    const auto same = plain.next();
    ASSERT_TRUE(same);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(batch->at(0).values[i].to_vector<float>(), same->at(0).values[i].to_vector<float>());
  }
  EXPECT_FALSE(plain.next());
}

std::vector<std::string> heard(int world, const std::function<Dataset(int)>& data) {
  return errors_of_workers(world, [&](const Strategy& strategy) {
    DistributedDataset batches = strategy.distribute(data(strategy.worker()));
    for (int i = 0; i < 5 && batches.next(); ++i) {
    }
  });
}

TEST(OwnData, WhatDoesNotFitTogetherIsRefusedByName) {
  const auto expect = [](const std::vector<std::string>& errors, const std::string& says) {
    for (const std::string& error : errors) EXPECT_NE(error.find(says), error.npos) << error;
  };
  const auto slices = [](int64_t columns) {
    return Dataset::from_tensor_slices({ones({6, columns})}).batch(2);
  };
  expect(heard(3, [&](int worker) { return Dataset::per_worker(slices(worker == 2 ? 4 : 3)); }),
         "rows of a batch must have the same types: of worker 0 they are f32[3], of worker 2 f32[4]");
  // From a later element on, while one has none any more.
  expect(heard(3,
               [&](int worker) {
                 const Dataset first = Dataset::from_tensor_slices({ones({2, 3})}).batch(2);
                 const Dataset later = Dataset::from_tensor_slices({ones({2, 5})}).batch(2);
                 return Dataset::per_worker(worker == 0   ? first
                                            : worker == 1 ? first.concatenate(later)
                                                          : first.concatenate(first));
               }),
         "of worker 1 they are f32[5], of worker 2 f32[3]");
  expect(heard(2, [&](int worker) { return Dataset::per_worker(worker ? slices(3).repeat() : slices(3)); }),
         "the data of worker 1 have no end, and those of worker 0 have one");
  expect(heard(2, [&](int worker) { return worker ? Dataset::per_worker(slices(3)) : slices(3); }),
         "worker 1 names data of its own, and worker 0 from_tensor_slices(");
  expect(heard(2, [&](int) { return Dataset::per_worker(Dataset::from_tensor_slices({ones({6})})); }),
         "an element of a worker's own data is its rows of a batch, got f32[]");
}

TEST(OwnData, DataWithoutEndOnAllWorkersGoOn) {
  on_each_worker(3, [](const Strategy& strategy) {
    const int64_t rows = 1 + strategy.worker();
    DistributedDataset batches = strategy.distribute(
        Dataset::per_worker(Dataset::from_tensor_slices({ones({rows, 1})}).batch(1).repeat()));
    for (int i = 0; i < 20; ++i) {
      const auto batch = batches.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->at(0).values[0].size(0), 1);
    }
  });
}

// The order of each worker's own shuffle follows the seed of worker 0.
TEST(OwnData, ShufflesFollowTheSeedOfWorkerZero) {
  std::mutex mutex;
  std::set<std::vector<float>> orders;
  on_each_worker(3, [&](const Strategy& strategy) {
    set_seed(100 + static_cast<uint64_t>(strategy.worker()));
    DistributedDataset batches = strategy.distribute(Dataset::per_worker(
        Dataset::from_tensor_slices({convert(arange(30), DType::kF32)}).shuffle(30).batch(30)));
    const std::vector<float> order = batches.next()->at(0).values[0].to_vector<float>();
    const std::lock_guard hold(mutex);
    orders.insert(order);
  });
  EXPECT_EQ(orders.size(), 1u);
}

// What is not said to be own, and is, hears of it, and what to say.
TEST(OwnData, WithoutSayingSoTheCureIsNamed) {
  const auto errors =
      heard(2, [](int worker) { return Dataset::from_tensor_slices({arange(8) + worker}).batch(4); });
  for (const std::string& error : errors)
    for (const char* part : {"strategy.data", "Dataset::per_worker(data)", "shard()", ".shards"})
      EXPECT_NE(error.find(part), error.npos) << error;
}

}  // namespace
}  // namespace espalier
