// What workers hand each other, against loops over ranks.
#include "strategy/host_collectives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "strategy/replicas.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

TEST(ReplicaValues, OfAllAreInTheOrderOfRanksWhateverTheirTypes) {
  const auto of_rank = [](int rank) {
    return rank == 0   ? Tensor::of<double>({1, 2.5})
           : rank == 1 ? Tensor::of(std::vector<bool>{true, false, true}, {3, 1})
                       : Tensor::scalar(int64_t{-7});
  };
  on_each_worker(3, [&](const Strategy& workers) {
    const std::vector<Tensor> all = workers.replicas()->hosts().tensors({of_rank(workers.worker())});
    ASSERT_EQ(all.size(), 3u);
    for (int rank = 0; rank < 3; ++rank) {
      const Tensor wanted = of_rank(rank), got = all[static_cast<size_t>(rank)];
      ASSERT_EQ(got.type(), wanted.type()) << rank;
      EXPECT_EQ(std::memcmp(got.bytes(), wanted.bytes(), wanted.type().bytes()), 0) << rank;
    }
  });
  const std::vector<Tensor> own{full({2}, 1), full({}, 2)};
  EXPECT_EQ(strategy::Mirrored({.devices = 2}).replicas()->hosts().tensors(own).size(), 2u);
}

// As where workers have several replicas each.
TEST(ReplicaValues, SeveralOfEachWorkerAreInTheOrderOfWorkers) {
  on_each_worker(3, [](const Strategy& workers) {
    const auto own = [](int worker, int value) { return Tensor::scalar(10 * worker + value); };
    const int worker = workers.worker();
    const std::vector<Tensor> all = workers.replicas()->hosts().tensors({own(worker, 0), own(worker, 1)});
    std::vector<int> got;
    for (const Tensor& value : all) got.push_back(value.item<int>());
    EXPECT_EQ(got, (std::vector<int>{0, 1, 10, 11, 20, 21}));
  });
}

TEST(ReplicaValues, AreGatheredInTheOrderOfRanks) {
  on_each_worker(4, [](const Strategy& workers) {
    const std::array<int32_t, 2> mine{workers.worker(), 10 * workers.worker()};
    std::array<int32_t, 8> all{};
    workers.replicas()->hosts().all_gather("numbers", std::as_bytes(std::span(mine)),
                                           reinterpret_cast<std::byte*>(all.data()));
    EXPECT_EQ(all, (std::array<int32_t, 8>{0, 0, 1, 10, 2, 20, 3, 30}));
  });
}

TEST(ReplicaValues, ThoseOfTheFirstWorkerReachAll) {
  on_each_worker(3, [](const Strategy& workers) {
    const int rank = workers.worker();
    const std::vector<Variable> variables{
        Variable(full({3}, 1 + rank), {.name = "a"}),
        Variable(Tensor::scalar(int64_t{5} + rank), {.name = "b"}),
        Variable(Tensor::of(std::vector<bool>{rank == 0}, {1}), {.name = "c"}),
        // More than travels with an announcement.
        Variable(full({5000}, 0.5 + rank), {.name = "d"})};
    workers.replicas()->hosts().broadcast(variables);
    EXPECT_EQ(variables[0].read().to_vector<float>(), std::vector<float>(3, 1));
    EXPECT_EQ(variables[1].read().item<int64_t>(), 5);
    EXPECT_TRUE(variables[2].read().item<bool>());
    EXPECT_EQ(variables[3].read().to_vector<float>(), std::vector<float>(5000, 0.5f));
  });
}

TEST(ReplicaValues, TextsOfAnySizesAndSumsReachAll) {
  on_each_worker(3, [](const Strategy& workers) {
    const HostCollectives& hosts = workers.replicas()->hosts();
    const int rank = workers.worker();
    const std::vector<std::string> wanted{"", "a", std::string(5000, 'b')};
    EXPECT_EQ(hosts.texts("texts", wanted[static_cast<size_t>(rank)]), wanted);
    EXPECT_EQ(hosts.texts("none", ""), std::vector<std::string>(3));
    const Tensor sum = hosts.sum(Tensor::of<int32_t>({1, 10 * rank}));
    EXPECT_EQ(sum.to_vector<int32_t>(), (std::vector<int32_t>{3, 30}));
    EXPECT_EQ(hosts.any(1u << rank), 7u);
  });
}

// Nobody is asked, and nobody waits.
TEST(ReplicaValues, OfAProcessAloneAreItsOwn) {
  const HostCollectives alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.world(), 1);
  EXPECT_EQ(alone.any(5), 5u);
  EXPECT_EQ(alone.of_each("number", int64_t{7}), std::vector<int64_t>{7});
  EXPECT_EQ(alone.texts("text", "own"), std::vector<std::string>{"own"});
  const Tensor own = Tensor::of<float>({1, 2});
  EXPECT_EQ(alone.sum(own).to_vector<float>(), own.to_vector<float>());
  EXPECT_EQ(alone.tensors({own}).at(0).to_vector<float>(), own.to_vector<float>());
  const Variable variable(own, {.name = "a"});
  alone.broadcast({&variable, 1});
  EXPECT_EQ(variable.read().to_vector<float>(), own.to_vector<float>());
}

}  // namespace
}  // namespace espalier
