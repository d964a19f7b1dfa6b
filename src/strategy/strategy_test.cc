#include "espalier/strategy.h"

#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "comm/forwarding.h"
#include "espalier/espalier.h"
#include "ops/collective.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// Gradient descent on a line, by run() and all_reduce() over batches of 10 rows.
std::vector<float> line_by(const Strategy& strategy) {
  const auto scope = strategy.scope();
  const Tensor x = random_normal({50, 3}, 4, 0),
               y = matmul(x, reshape(Tensor::of<float>({1, -2, 3}), {3, 1}));
  Variable w(full({3, 1}, 0)), seen(full({}, 0));
  Optimizer optimizer = SGD{.learning_rate = 0.1};
  const auto step = function([&](const Tensor& rows, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = reduce_sum(square(matmul(rows, w) - labels), {0, 1});
    const Tensor count = full({}, static_cast<double>(rows.size(0)));
    const auto sums = strategy::all_reduce({tape.gradient(loss, {w})[0], count, loss});
    optimizer.apply({sums[0] / sums[1]}, {w});
    seen.assign_add(sums[1]);
    return std::vector<Tensor>{loss, sums[2]};
  });
  for (int epoch = 0; epoch < 10; ++epoch) {
    DistributedDataset batches = strategy.distribute(Dataset::from_tensor_slices({x, y}).batch(10));
    while (const auto batch = batches.next()) {
      const std::vector<PerReplica> results = strategy.run(step, *batch);
      const Tensor all = strategy.reduce(ReduceOp::kSum, results[0]);
      EXPECT_NEAR(all.item<float>(), results[1].values[0].item<float>(), 1e-4 * all.item<float>() + 1e-6);
    }
  }
  EXPECT_EQ(seen.read().item<float>(), 500);
  return w.read().to_vector<float>();
}

TEST(Strategy, ALoopOfOnesOwnLearnsAsOnOneDevice) {
  const std::vector<float> one = line_by(strategy::OneDevice());
  EXPECT_NEAR(one[0], 1, 0.05);
  EXPECT_NEAR(one[1], -2, 0.05);
  EXPECT_NEAR(one[2], 3, 0.05);
  const auto near = [&](const std::vector<float>& other) {
    ASSERT_EQ(other.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(other[i], one[i], 3e-6);
  };
  for (const int devices : {1, 2, 3, 4}) near(line_by(strategy::Mirrored({.devices = devices})));
  for (const int world : {2, 3})
    on_each_worker(world, [&](const Strategy& strategy) { near(line_by(strategy)); });
}

// Shard k of 5 gives k rows of 10 k and on.
class NumberedSource final : public DataSource {
 public:
  explicit NumberedSource(int64_t shard) : shard_(shard) {}
  std::optional<Tensors> next() override {
    if (given_ == shard_) return std::nullopt;
    return Tensors{full({2}, static_cast<double>(10 * shard_ + given_++))};
  }

 private:
  int64_t shard_, given_ = 0;
};

TEST(Strategy, OfASourceEachWorkerReadsItsShards) {
  for (const int world : {2, 3, 6}) {
    SCOPED_TRACE(world);
    std::mutex mutex;
    std::set<int64_t> opened;
    std::vector<std::multiset<float>> batches(4);
    on_each_worker(world, [&](const Strategy& strategy) {
      std::set<int64_t> mine;
      const Dataset data = Dataset::from_source(
          [&](DataShard shard, uint64_t) {
            mine.insert(shard.index);
            return std::make_unique<NumberedSource>(shard.index);
          },
          {.shards = 5});
      DistributedDataset shared = strategy.distribute(data.batch(4).repeat(2));
      for (size_t step = 0; const auto batch = shared.next(); ++step) {
        ASSERT_EQ(batch->size(), 1u);
        ASSERT_EQ(batch->at(0).values.size(), 1u);
        const Tensor& rows = batch->at(0).values[0];
        ASSERT_EQ(rows.rank(), 2u);
        const std::vector<float> values = rows.to_vector<float>();
        const std::lock_guard hold(mutex);
        for (size_t i = 0; i < values.size(); i += 2) batches[step % 3].insert(values[i]);
        if (step > 5) ADD_FAILURE() << "there are two passes of three batches";
      }
      const std::vector<int64_t> owned = owned_shards(5, strategy.worker(), world);
      EXPECT_EQ(mine, std::set<int64_t>(owned.begin(), owned.end()));
      const std::lock_guard hold(mutex);
      opened.insert(mine.begin(), mine.end());
    });
    EXPECT_EQ(opened.size(), 5u);
    // By turns: element 0 of each shard, element 1 of each that has one, and so on.
    EXPECT_EQ(batches[0], (std::multiset<float>{10, 20, 30, 40, 10, 20, 30, 40}));
    EXPECT_EQ(batches[1], (std::multiset<float>{21, 31, 41, 32, 21, 31, 41, 32}));
    EXPECT_EQ(batches[2], (std::multiset<float>{42, 43, 42, 43}));
  }
}

TEST(Strategy, WhatWouldDifferIsRefusedByName) {
  Variable kept(full({}, 0), {.name = "kept"});
  const auto refused = [&](const Strategy& strategy, const auto& next) {
    const auto assigns = function([&](const Tensor& x) { kept.assign(next(x)); });
    const auto scope = strategy.scope();
    const PerReplica ones{std::vector<Tensor>(static_cast<size_t>(strategy.replicas_here()), full({2}, 1))};
    try {
      strategy.run(assigns, {ones});
      ADD_FAILURE() << "not refused";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "strategy.variable");
      EXPECT_NE(error.message().find("\"kept\""), std::string::npos) << error.message();
    }
    EXPECT_EQ(kept.read().item<float>(), 0);
  };
  const auto two = strategy::Mirrored({.devices = 2});
  refused(two, [](const Tensor& x) { return reduce_sum(x, {0}); });
  refused(two, [](const Tensor&) { return convert(replica_id(), DType::kF32); });
  refused(two, [](const Tensor& x) { return reduce_sum(reduce_scatter(x, 0, 2), {0}); });
}

// One function for any number of them.
TEST(Strategy, AMeanOfReplicasIsThat) {
  const auto mean = function([](const Tensor& x) { return strategy::all_reduce({x}, ReduceOp::kMean); });
  for (const int world : {1, 2, 4}) {
    const strategy::Mirrored mirrored({.devices = world});
    PerReplica x;
    for (int i = 0; i < world; ++i) x.values.push_back(full({2}, i));
    for (const bool scoped : {false, true}) {
      std::optional<Strategy::Scope> scope;
      if (scoped) scope.emplace(mirrored.replicas());
      const std::vector<PerReplica> out = mirrored.run(mean, {x});
      for (const Tensor& value : out[0].values)
        EXPECT_EQ(value.to_vector<float>(), std::vector<float>(2, (world - 1) / 2.f)) << world;
    }
    const auto scope = mirrored.scope();
    EXPECT_EQ(rule_of([] { strategy::all_reduce({full({2}, 1)}); }),
              world > 1 ? "strategy.outside" : "nothing");
    PerReplica integers;
    for (int i = 0; i < world; ++i) integers.values.push_back(full({2}, i, DType::kI32));
    EXPECT_EQ(rule_of([&] { mirrored.run(mean, {integers}); }), "strategy.mean");
    EXPECT_EQ(rule_of([&] { mirrored.reduce(ReduceOp::kMean, integers); }), "strategy.mean");
  }
}

// What 16 bits hold has a mean that they hold.
TEST(Strategy, MeansOfSixteenBitsAreMadeInThirtyTwo) {
  const auto all_mean = function([](const Tensor& x) { return strategy::all_reduce({x}, ReduceOp::kMean); });
  const auto check = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const int first = strategy.first_replica(), world = strategy.num_replicas_in_sync();
    const auto values = [&](DType dtype, const std::function<double(int)>& of) {
      PerReplica out;
      for (int i = 0; i < strategy.replicas_here(); ++i)
        out.values.push_back(full({2}, of(first + i), dtype));
      return out;
    };
    const auto expect = [&](const Tensor& got, DType dtype, double value) {
      EXPECT_EQ(got.dtype(), dtype);
      for (const double element :
           reshape(convert(got, DType::kF64), {got.type().elements()}).to_vector<double>())
        EXPECT_EQ(element, value) << dtype << " of " << world;
    };
    const PerReplica large = values(DType::kF16, [](int) { return 60000; });
    expect(strategy.reduce(ReduceOp::kMean, large), DType::kF16, 60000);
    expect(strategy.reduce(ReduceOp::kMean, large, 0), DType::kF16, 60000);
    expect(strategy.run(all_mean, {large})[0].values[0], DType::kF16, 60000);
    if (world != 3) return;
    // 256 + 1 is 256 in bfloat16, and 60000 + 60000 no number of float16.
    const PerReplica rounds = values(DType::kBF16, [](int rank) { return rank ? 1 : 256; });
    expect(strategy.reduce(ReduceOp::kMean, rounds), DType::kBF16, 86);
    expect(strategy.reduce(ReduceOp::kMean, rounds, 0), DType::kBF16, 86);
    expect(strategy.run(all_mean, {rounds})[0].values[0], DType::kBF16, 86);
    const PerReplica cancels = values(DType::kF16, [](int rank) { return rank < 2 ? 60000 : -60000; });
    expect(strategy.reduce(ReduceOp::kSum, cancels), DType::kF16, 60000);
  };
  check(strategy::OneDevice());
  for (const int world : {2, 3}) {
    check(strategy::Mirrored({.devices = world}));
    on_each_worker(world, check);
  }
}

// Counts what a rank has to do with, of sums twice what it gives, and of what is gathered that of all.
class CountedBytes final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override {
    bytes += what.count * what.element *
             (what.kind == Collective::Kind::kAllReduce ? 2 : static_cast<size_t>(world()));
    return of_.start(what, data, out);
  }
  size_t bytes = 0;
};

TEST(Strategy, ASumOfLargeValuesIsNotGathered) {
  constexpr int kWorld = 6;
  constexpr int64_t kElements = 1 << 16;
  const auto ranks = local_communicators(kWorld);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      CountedBytes counted(*ranks[i]);
      const RunContext context({.threads = 1, .communicator = &counted});
      const RunScope scope(context);
      const strategy::MultiWorkerMirrored workers;
      const auto bytes_of = [&](ReduceOp op, DType dtype, std::optional<int64_t> axis, double expected) {
        counted.bytes = 0;
        const Tensor sum =
            workers.reduce(op, {{full({2, kElements}, static_cast<double>(i + 1), dtype)}}, axis);
        EXPECT_EQ(sum.dtype(), dtype);
        const auto values = reshape(convert(sum, DType::kF64), {sum.type().elements()}).to_vector<double>();
        EXPECT_EQ(values, std::vector<double>(values.size(), expected));
        return counted.bytes;
      };
      constexpr size_t kSmall = 4096;
      // 1 + 2 + ... + 6 = 21.
      EXPECT_LE(bytes_of(ReduceOp::kSum, DType::kF32, {}, 21), 2 * 2 * 4 * kElements + kSmall);
      EXPECT_LE(bytes_of(ReduceOp::kMean, DType::kF32, {}, 3.5), 2 * 2 * 4 * kElements + kSmall);
      EXPECT_LE(bytes_of(ReduceOp::kSum, DType::kI64, {}, 21), 2 * 2 * 8 * kElements + kSmall);
      // In f32.
      EXPECT_LE(bytes_of(ReduceOp::kMean, DType::kBF16, {}, 3.5), 2 * 2 * 4 * kElements + kSmall);
      // Two rows of each, added up before.
      EXPECT_LE(bytes_of(ReduceOp::kSum, DType::kF32, 0, 42), 2 * 4 * kElements + kSmall);
      EXPECT_LE(bytes_of(ReduceOp::kMean, DType::kF32, 0, 3.5), 2 * 4 * kElements + kSmall);
    });
  }
}

// One of them has no such axis, or another type: all are told, and go on.
TEST(Strategy, WorkersOfOtherTypesAreRefusedAlike) {
  on_each_worker(3, [](const Strategy& workers) {
    const bool odd = workers.worker() == 1;
    EXPECT_EQ(rule_of([&] { workers.reduce(ReduceOp::kSum, {{odd ? full({}, 1) : full({2}, 1)}}, 0); }),
              "strategy.axis");
    EXPECT_EQ(rule_of([&] { workers.reduce(ReduceOp::kSum, {{odd ? full({3}, 1) : full({2}, 1)}}); }),
              "strategy.values");
    EXPECT_EQ(workers.reduce(ReduceOp::kSum, {{full({}, 2)}}).item<float>(), 6);
  });
}

// A collective in a loop begins and ends once a round.
TEST(Strategy, ALoopAddsUpInEachRound) {
  const auto rounds = function([](const Tensor& x) {
    return fori_loop(
        0, 4, [](const Tensor&, const Tensor& value) { return strategy::all_reduce({value})[0]; }, x);
  });
  const strategy::Mirrored two({.devices = 2});
  const Tensor ones = full({5}, 1), twos = full({5}, 2);
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<PerReplica> out = two.run(rounds, {{{ones, twos}}});
    for (const Tensor& value : out[0].values) EXPECT_EQ(value.to_vector<float>(), std::vector<float>(5, 24));
  }
  on_each_worker(2, [&](const Strategy& workers) {
    EXPECT_EQ(workers.run(rounds, {{{ones}}})[0].values[0].to_vector<float>(), std::vector<float>(5, 16));
  });
}

TEST(Strategy, ValuesOfReplicasAreReducedAndGathered) {
  const auto check = [](const Strategy& strategy) {
    const int world = strategy.num_replicas_in_sync(), first = strategy.first_replica();
    PerReplica rows, numbers;
    for (int i = 0; i < strategy.replicas_here(); ++i) {
      // Replica r has r rows of r.
      rows.values.push_back(full({first + i, 2}, first + i));
      numbers.values.push_back(full({}, first + i, DType::kF64));
    }
    const Tensor all = strategy.gather(rows);
    std::vector<float> expected;
    double sum = 0, elements = 0, weighed = 0;
    for (int r = 0; r < world; ++r) {
      expected.insert(expected.end(), static_cast<size_t>(2 * r), static_cast<float>(r));
      sum += r;
      elements += r;
      weighed += r * r;
    }
    EXPECT_EQ(all.to_vector<float>(), expected);
    EXPECT_EQ(strategy.reduce(ReduceOp::kSum, numbers).item<double>(), sum);
    EXPECT_EQ(strategy.reduce(ReduceOp::kMean, numbers).item<double>(), sum / world);
    EXPECT_EQ(strategy.reduce(ReduceOp::kSum, rows, 0).to_vector<float>(),
              std::vector<float>(2, static_cast<float>(weighed)));
    if (elements > 0) {
      EXPECT_EQ(strategy.reduce(ReduceOp::kMean, rows, 0).to_vector<float>(),
                std::vector<float>(2, static_cast<float>(weighed / elements)));
    }
    if (world > 1) {
      EXPECT_THROW(strategy.reduce(ReduceOp::kSum, rows), ShapeError);
    }
    EXPECT_THROW(strategy.gather({}), ValueError);
  };
  check(strategy::OneDevice());
  check(strategy::Mirrored({.devices = 3}));
  on_each_worker(4, check);
}

TEST(Strategy, AMeanIsOverTheAxisThatIsNamed) {
  const auto check = [](const Strategy& strategy) {
    // Of replica r two rows, each of r + 1 values r + 1.
    PerReplica values;
    for (int i = 0; i < strategy.replicas_here(); ++i) {
      const int size = strategy.first_replica() + i + 1;
      values.values.push_back(full({2, size}, size));
    }
    float sum = 0, count = 0;
    for (int size = 1; size <= strategy.num_replicas_in_sync(); ++size) {
      sum += static_cast<float>(size * size);
      count += static_cast<float>(size);
    }
    for (const int64_t axis : {1, -1})
      EXPECT_EQ(strategy.reduce(ReduceOp::kMean, values, axis).to_vector<float>(),
                std::vector<float>(2, sum / count))
          << axis;
  };
  check(strategy::OneDevice());
  check(strategy::Mirrored({.devices = 3}));
  on_each_worker(3, check);
}

// One replica would wait for ever, or add up what the other has not.
TEST(Strategy, ReplicasThatWouldCallOtherCollectivesAreRefused) {
  const strategy::Mirrored two({.devices = 2});
  const auto error_of = [&](const TracedFunction& called, int64_t first, int64_t second) -> std::string {
    try {
      two.run(called, {{{full({first}, 1), full({second}, 2)}}});
    } catch (const ValueError& error) {
      return cat(error.message(), " [", error.rule(), "]");
    }
    return "";
  };
  const auto sums = function([](const Tensor& rows) { return strategy::all_reduce({rows})[0]; });
  EXPECT_EQ(
      error_of(sums, 2, 3),
      "the next collective of replica 1 is all_reduce f32[3], and that of replica 0 is all_reduce f32[2] "
      "[strategy.collectives]");
  EXPECT_EQ(error_of(sums, 3, 3), "");
  const auto sums_some =
      function([](const Tensor& rows) { return rows.size(0) > 2 ? rows : strategy::all_reduce({rows})[0]; });
  EXPECT_EQ(error_of(sums_some, 2, 3),
            "the next collective of replica 1 is none, and that of replica 0 is all_reduce f32[2] "
            "[strategy.collectives]");
  EXPECT_EQ(error_of(sums_some, 2, 2), "");
}

TEST(Strategy, ThreadsShareOne) {
  const strategy::Mirrored two({.devices = 2});
  const auto sums = function([](const Tensor& rows) { return strategy::all_reduce({rows})[0]; });
  const auto call = [&](float value) {
    for (int i = 0; i < 300; ++i) {
      const auto results = two.run(sums, {{{full({2}, value), full({2}, 2 * value)}}});
      EXPECT_EQ(results[0].values[1].to_vector<float>(), (std::vector<float>{3 * value, 3 * value}));
    }
  };
  std::jthread other([&] { call(5); });
  call(1);
}

TEST(Strategy, DevicesAreAtMost256) {
  EXPECT_THROW(strategy::Mirrored({.devices = 257}), ValueError);
  EXPECT_THROW(strategy::Mirrored({.devices = -1}), ValueError);
}

}  // namespace
}  // namespace espalier
