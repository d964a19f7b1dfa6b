// A TPU of several hosts, by threads in the place of their processes and XLA for CPUs in that of the chips
// (tests/plugins/pod_cpu_plugin.cc): what they learn together is what one device does.
#include <dlfcn.h>

#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "comm/local.h"
#include "espalier/devices.h"
#include "pjrt/client.h"
#include "pjrt/client_device.h"
#include "pjrt/plugin_test.h"
#include "strategy/replicas.h"
#include "train/trained_weights_test.h"

namespace espalier {
namespace {

constexpr int kHosts = 2, kChips = 4;

struct PodStrategy : Strategy {
  explicit PodStrategy(std::shared_ptr<Replicas> replicas) : Strategy(std::move(replicas)) {}
};

class Pods : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    ::setenv("ESPALIER_POD_PLUGIN", pjrt::test_plugin().c_str(), 1);
    file_ = build_folder() + "/pod_cpu_plugin.so";
    pjrt::Plugin::load(file_);
    void* const handle = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(handle, nullptr);
    enter_ = reinterpret_cast<void (*)(int, int)>(::dlsym(handle, "espalier_pod_enter"));
  }
  // program(host, strategy) on each host; what each raised, "" where it did not.
  std::vector<std::string> on_hosts(const std::function<void(size_t, const Strategy&)>& program) {
    const auto ranks = local_communicators(kHosts);
    std::vector<std::string> out(kHosts);
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < out.size(); ++i) {
      threads.emplace_back([&, i] {
        enter_(static_cast<int>(i), kHosts);
        try {
          pjrt::ClientOptions options;
          options.cpu_devices = kChips;
          const auto client = pjrt::Client::create(pjrt::Plugin::load(file_), "pod", "xla-cpu", options);
          EXPECT_EQ(client->processes(), kHosts);
          EXPECT_EQ(client->process(), static_cast<int>(i));
          EXPECT_EQ(client->size(), static_cast<size_t>(kChips / kHosts));
          const RunContext context({.threads = 1});
          const RunScope scope(context);
          std::vector<Replicas::Seat> place(1);
          place[0].communicator = ranks[i];
          place[0].device = client->everywhere();
          program(i, PodStrategy(std::make_shared<Replicas>(std::move(place), true, CombineOptions{}, 5)));
        } catch (const std::exception& error) {
          out[i] = error.what();
          ranks[i]->abort(out[i]);
        }
      });
    }
    threads.clear();
    return out;
  }
  std::string file_;
  void (*enter_)(int, int) = nullptr;
};

void with_clipped_adam(Model& model) {
  model.compile({.optimizer = Adam{.learning_rate = 0.01, .global_clipnorm = 1.0}, .metrics = {"accuracy"}});
}

// 20 steps; 50 rows are batches of 16, 16, 16 and 2.
TEST_F(Pods, SlowHostsTrainAsOneDeviceWithTheWholeBatch) {
  const RowsOfFourClasses rows = rows_of_four_classes(50);
  const FitOptions options{.epochs = 5, .batch_size = 16};
  for (const auto& make : {MakeModel(dropping_model), MakeModel([] { return normalized_by(true); })}) {
    TrainedWeights one;
    {
      const DeviceScope scope(pjrt::test_plugin());
      one = trained_by(make, with_clipped_adam, rows, options, nullptr);
    }
    std::vector<TrainedWeights> all(kHosts);
    const auto errors = on_hosts([&](size_t host, const Strategy& pod) {
      EXPECT_EQ(pod.num_replicas_in_sync(), kChips);
      EXPECT_EQ(pod.first_replica(), static_cast<int>(host) * kChips / kHosts);
      EXPECT_EQ(pod.worker(), static_cast<int>(host));
      EXPECT_EQ(pod.workers(), kHosts);
      all[host] = trained_by(make, with_clipped_adam, rows, options, &pod);
    });
    for (size_t host = 0; host < all.size(); ++host) {
      EXPECT_EQ(errors[host], "");
      EXPECT_EQ(all[host].values, all[0].values);
      EXPECT_EQ(all[host].logs, all[0].logs);
    }
    EXPECT_LE(trained_distance(one, all[0]), 2e-6);
    for (const auto& [name, value] : one.logs) EXPECT_NEAR(all[0].logs.at(name), value, 1e-5) << name;
  }
}

TEST_F(Pods, RowsAndValuesAreOfAllHosts) {
  const RowsOfFourClasses rows = rows_of_four_classes(22);
  set_seed(3);
  Sequential alone = dropping_model();
  const Tensor wanted = alone.predict(rows.x);
  const auto errors = on_hosts([&](size_t host, const Strategy& pod) {
    const auto scope = pod.scope();
    set_seed(3);
    Sequential model = dropping_model();
    with_clipped_adam(model);
    const Tensor got = model.predict(rows.x);
    ASSERT_EQ(got.shape(), wanted.shape());
    for (size_t i = 0; i < got.data<float>().size(); ++i)
      ASSERT_NEAR(got.data<float>()[i], wanted.data<float>()[i], 1e-6) << i;
    const auto total = function([](const Tensor& x) {
      const Tensor own = sum(x);
      return std::vector<Tensor>{own, strategy::all_reduce({own})[0]};
    });
    const float first = static_cast<float>(host * 2);
    const std::vector<PerReplica> out = pod.run(total, {{{full({1}, first), full({1}, first + 1)}}});
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(out[0].values[i].item<float>(), first + static_cast<float>(i));
      EXPECT_EQ(out[1].values[i].item<float>(), 6);
    }
    EXPECT_EQ(pod.gather({{full({1}, first), full({1}, first + 1)}}).to_vector<float>(),
              (std::vector<float>{0, 1, 2, 3}));
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(Pods, WhatIsOfOneHostIsRefused) {
  const auto errors = on_hosts([&](size_t, const Strategy& pod) {
    const auto scope = pod.scope();
    Sequential model = dropping_model();
    EXPECT_EQ(rule_of([&] { model.compile({.logical_shards = 4}); }), "tpu.shards");
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace espalier
