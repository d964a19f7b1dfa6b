// Which rows are whose, and who there is, against loops over ranks.
#include "strategy/replicas.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include <gtest/gtest.h>

#include "base/format.h"
#include "comm/local.h"
#include "espalier/espalier.h"
#include "ir/device.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// So many of this process.
std::shared_ptr<Replicas> replicas_here(int count) {
  return strategy::Mirrored({.devices = count}).replicas();
}

// Rows 0, 1, ... and weights 1.
std::vector<Tensor> counted_rows(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return {Tensor::of(numbers), Tensor::of(std::vector<float>(numbers.size(), 1))};
}

// Of a plugin, with several replicas; it only says how many.
class DevicesToCount final : public Device {
 public:
  explicit DevicesToCount(size_t replicas) : replicas_(replicas) {}
  const std::string& name() const override { return name_; }
  DeviceMemory memory() const override { return {}; }
  size_t replicas() const override { return replicas_; }
  std::shared_ptr<const DeviceProgram> compile(const Graph&, const ProgramOptions&) override {
    throw InternalError("nothing is compiled there");
  }

 private:
  RemoteArrayPtr keep(std::span<const Literal>) override { throw InternalError("nothing is brought there"); }

  const std::string name_ = "counted:0";
  size_t replicas_;
};

// Devices run one program: each has as many rows, and those beyond the batch weigh nothing.
TEST(ReplicaRows, OfDevicesAreEqualInNumberAndNoneIsLeftOut) {
  for (const int world : {2, 3}) {
    const Replicas devices(std::make_shared<DevicesToCount>(world), CombineOptions{}, 0);
    for (const int64_t count : {4, 6, 7, 8, 9}) {
      const std::vector<Tensor> all = counted_rows(count);
      const BatchRows batch(all);
      const int64_t each = (count + world - 1) / world;
      const std::vector<Tensor> first = devices.arguments(batch);
      EXPECT_EQ(first[0].size(0), each) << count << " rows on " << world;
      double weight = 0;
      for (const float of_row : first[1].data<float>()) weight += of_row;
      EXPECT_EQ(weight, static_cast<double>(count / world)) << count << " rows on " << world;
      EXPECT_EQ(devices.adds_rows(batch), count % world != 0);
    }
  }
}

// Each replica sees its rows and where the first of them stands in the batch.
TEST(ReplicaRows, ReachEachReplicaWithTheirPlace) {
  for (const int world : {1, 2, 3}) {
    const auto replicas = replicas_here(world);
    const auto sees = function([](const Tensor& x, const Tensor& weights, const Tensor& place) {
      return std::vector<Tensor>{x, weights, place};
    });
    for (const int64_t count : {3, 7, 8}) {
      const std::vector<Tensor> all = counted_rows(count);
      const BatchRows batch(all);
      EXPECT_FALSE(replicas->adds_rows(batch));
      EXPECT_TRUE(replicas->padded(batch).empty());
      const std::vector<Tensor> own = replicas->arguments(batch), ran = replicas->run(sees, batch);
      for (const std::vector<Tensor>& first : {own, ran}) {
        ASSERT_EQ(first.size(), 3u);
        const auto rows = static_cast<size_t>(replicas->shares().rows_of(count, 0).second);
        EXPECT_EQ(first[0].data<float>().size(), rows);
        EXPECT_EQ(first[2].to_vector<int64_t>(), (std::vector<int64_t>{0, count, count}));
      }
    }
  }
  on_each_worker(3, [](const Strategy& workers) {
    const std::vector<Tensor> all = counted_rows(8);
    const std::vector<Tensor> own = workers.replicas()->arguments(BatchRows(all));
    const std::vector<std::vector<float>> wanted{{0, 1}, {2, 3, 4}, {5, 6, 7}};
    const auto rank = static_cast<size_t>(workers.worker());
    EXPECT_EQ(own[0].to_vector<float>(), wanted[rank]);
    EXPECT_EQ(own[1].to_vector<float>(), std::vector<float>(wanted[rank].size(), 1));
    EXPECT_EQ(own[2].to_vector<int64_t>(),
              (std::vector<int64_t>{static_cast<int64_t>(wanted[rank][0]), 8, 8}));
  });
}

// Of shards each worker has its own rows; their place follows from what the shards before them gave.
TEST(ReplicaRows, OfShardsStandBehindThoseOfTheShardsBefore) {
  const std::vector<int64_t> shards{2, 0, 3, 1, 4};  // of three workers: {0}, {1, 2}, {3, 4}
  on_each_worker(3, [&](const Strategy& workers) {
    const std::vector<Tensor> own = counted_rows(2);
    const BatchRows batch(own, shards);
    EXPECT_EQ(batch.count(), 10);
    const std::vector<Tensor> out = workers.replicas()->arguments(batch);
    EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{0, 1})) << "all that it has";
    const std::vector<int64_t> places{0, 2, 5};
    EXPECT_EQ(out[2].to_vector<int64_t>()[0], places[static_cast<size_t>(workers.worker())]);
    EXPECT_EQ(out[2].to_vector<int64_t>()[1], 10);
    EXPECT_TRUE(workers.replicas()->padded(batch).empty());
  });
}

TEST(ReplicaRows, FewerThanReplicasGetRowsOfNoWeight) {
  const auto replicas = replicas_here(4);
  for (int64_t count = 1; count <= 4; ++count) {
    const std::vector<Tensor> rows = counted_rows(count), padded = replicas->padded(BatchRows(rows));
    if (count == 4) {
      EXPECT_TRUE(padded.empty());
      continue;
    }
    const auto numbers = padded.at(0).to_vector<float>(), weights = padded.at(1).to_vector<float>();
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(numbers.at(static_cast<size_t>(i)), static_cast<float>(std::min(i, count - 1)));
      EXPECT_EQ(weights.at(static_cast<size_t>(i)), i < count ? 1 : 0);
    }
  }
}

// What a function gives for the rows of each rank, whoever asks; as one where there are fewer rows than
// ranks.
TEST(ReplicaRows, AreRunInTheOrderOfRanks) {
  const auto doubled = function([](const Tensor& x, const Tensor& weights) {
    return std::vector<Tensor>{x * 2, reduce_sum(x * weights, {0})};
  });
  const auto check = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    for (const int64_t count : {2, 3, 7}) {
      const auto each = strategy.replicas()->run_rows(doubled, counted_rows(count));
      const int world = strategy.num_replicas_in_sync();
      ASSERT_EQ(std::ssize(each), count < world ? 1 : world);
      std::vector<float> all, wanted;
      float sum = 0;
      for (const std::vector<Tensor>& results : each) {
        const auto part = results[0].to_vector<float>();
        all.insert(all.end(), part.begin(), part.end());
        EXPECT_EQ(results[1].item<float>() * 2, std::accumulate(part.begin(), part.end(), 0.0f));
        sum += results[1].item<float>();
      }
      for (int64_t i = 0; i < count; ++i) wanted.push_back(static_cast<float>(2 * i));
      EXPECT_EQ(all, wanted);
      EXPECT_EQ(sum, static_cast<float>(count * (count - 1) / 2));
    }
  };
  check(strategy::Mirrored({.devices = 3}));
  on_each_worker(3, check);
}

TEST(Replica, RunsEachInItsContextAndRaisesWhatTheFirstRaises) {
  const auto three = replicas_here(3);
  std::vector<std::pair<int, int>> places(3);
  three->on_each([&](size_t i) {
    const RunContext& context = RunContext::current();
    places[i] = {context.rank, context.world};
  });
  EXPECT_EQ(places, (std::vector<std::pair<int, int>>{{0, 3}, {1, 3}, {2, 3}}));
  std::atomic<int> ran = 0;
  try {
    three->on_each([&](size_t i) {
      ++ran;
      if (i > 0) throw std::runtime_error(cat("replica ", i));
    });
    ADD_FAILURE() << "nothing was raised";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "replica 1");
  }
  EXPECT_EQ(ran, 3) << "the others are not left out";
}

TEST(Replica, OfOneProcessAndOfWorkersAreCounted) {
  const auto two = replicas_here(2), one = replicas_here(1);
  EXPECT_TRUE(two->mesh().many() && !one->mesh().many());
  EXPECT_EQ(two->mesh().world, 2);
  EXPECT_EQ(two->mesh().count, 2);
  EXPECT_EQ(two->mesh().workers, 1);
  EXPECT_FALSE(two->mesh().launched || !two->shares().deals_shards || two->rows().equal_parts || two->host());
  EXPECT_TRUE(two->rewrite() && !one->rewrite());
  on_each_worker(3, [](const Strategy& workers) {
    const Replicas& own = *workers.replicas();
    EXPECT_EQ(own.mesh().world, 3);
    EXPECT_EQ(own.mesh().count, 1);
    EXPECT_EQ(own.mesh().first, workers.worker());
    EXPECT_TRUE(own.mesh().launched && own.host() && own.mesh().many());
    EXPECT_FALSE(own.membership().asked_to_go() || own.membership().goes());
    own.membership().go();
    EXPECT_TRUE(own.membership().asked_to_go() && !own.membership().goes());
    own.membership().agree_to_go();
    EXPECT_TRUE(own.membership().goes());
    EXPECT_EQ(is_chief(), true) << "outside of its scope";
    const auto scope = workers.scope();
    EXPECT_EQ(is_chief(), workers.worker() == 0);
  });
}

}  // namespace
}  // namespace espalier
