// Workers with a device each, by a real PJRT plugin: our own engine between them.
#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "comm/forwarding.h"
#include "comm/local.h"
#include "espalier/devices.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"
#include "strategy/workers_test.h"
#include "train/trained_weights_test.h"

namespace espalier {
namespace {

const bool kADeviceForEach = pjrt::tests_have_cpu_devices(8);

class WorkersOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    ASSERT_TRUE(kADeviceForEach);
    pjrt::open_device(pjrt::test_plugin());
  }
  // program(i, strategy) on worker i, which has device i.
  static std::vector<std::string> on_workers(int world,
                                             const std::function<void(size_t, const Strategy&)>& program) {
    const auto on_own = [&](const Strategy& workers) {
      program(static_cast<size_t>(RunContext::current().rank), workers);
    };
    return errors_of_workers(world, on_own, "",
                             [](int rank) { return pjrt::open_device(cat("xla-cpu:", rank)); });
  }
};

struct OfWorkers {
  const char* name;
  MakeModel make;
  CompileModel compile;
};

std::vector<OfWorkers> of_workers() {
  const auto adam = [](Model& model) {
    model.compile(
        {.optimizer = Adam{.learning_rate = 0.01, .global_clipnorm = 1.0}, .metrics = {"accuracy"}});
  };
  return {{"dropout", dropping_model, adam},
          {"synchronized", [] { return normalized_by(true); }, adam},
          {"sixteen bits", narrow_model,
           [](Model& model) { model.compile({.optimizer = Adam{.learning_rate = 0.01}}); }},
          {"accumulation", dropping_model, [](Model& model) {
             model.compile({.optimizer = SGD{.learning_rate = 0.05, .gradient_accumulation_steps = 3}});
           }}};
}

// 20 steps each; 50 rows are batches of 16, 16, 16 and 2.
TEST_F(WorkersOnDevice, SlowTheyTrainAsOneDeviceWithTheWholeBatch) {
  const RowsOfFourClasses rows = rows_of_four_classes(50);
  const FitOptions options{.epochs = 5, .batch_size = 16};
  for (const OfWorkers& each : of_workers()) {
    SCOPED_TRACE(each.name);
    const TrainedWeights one = trained_by(each.make, each.compile, rows, options, nullptr);
    for (int world = 2; world <= (each.name == std::string("dropout") ? 3 : 2); ++world) {
      SCOPED_TRACE(world);
      std::vector<TrainedWeights> all(static_cast<size_t>(world));
      const auto errors = on_workers(world, [&](size_t i, const Strategy& workers) {
        all[i] = trained_by(each.make, each.compile, rows, options, &workers);
        EXPECT_GT(device_counters(cat("xla-cpu:", i)).executes, 20);
      });
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(errors[i], "");
        EXPECT_EQ(all[i].values, all[0].values);
        EXPECT_EQ(all[i].logs, all[0].logs);
      }
      EXPECT_LE(trained_distance(one, all[0]), 2e-6);
      for (const auto& [name, value] : one.logs) EXPECT_NEAR(all[0].logs.at(name), value, 1e-5) << name;
    }
  }
}

// How many collectives have begun and not ended, at most.
class CountedCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override {
    most = std::max(most, ++under_way_);
    return of_.start(what, data, out);
  }
  void done(uint64_t ticket, ThreadPool& pool) override {
    of_.done(ticket, pool);
    --under_way_;
  }
  int most = 0;

 private:
  int under_way_ = 0;
};

// A message a gradient: none waits for the one before it to come.
TEST_F(WorkersOnDevice, SumsOfAllMessagesAreUnderWayAtOnce) {
  const RowsOfFourClasses rows = rows_of_four_classes(32);
  const auto ranks = local_communicators(2);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      CountedCommunicator counted(*ranks[i]);
      const pjrt::DevicePtr device = pjrt::open_device(cat("xla-cpu:", i));
      const RunContext context({.threads = 1, .device = device.get(), .communicator = &counted});
      const RunScope in(context);
      const strategy::MultiWorkerMirrored workers({.audit_steps = 0, .first_bucket = 1, .bucket = 1});
      const auto scope = workers.scope();
      set_seed(3);
      Sequential model{Dense({.units = 16, .activation = "relu"}), Dense({.units = 4})};
      model.compile({.optimizer = SGD{}});
      model.fit(rows.x, rows.y, {.batch_size = 16});
      EXPECT_GE(counted.most, 4);
    });
  }
}

// What waits for another worker is not done, and the model as it was.
TEST_F(WorkersOnDevice, AWorkerThatFailsEndsTheStepOfAll) {
  const RowsOfFourClasses rows = rows_of_four_classes(32);
  std::vector<std::vector<float>> before(2), behind(2);
  const auto errors = on_workers(2, [&](size_t i, const Strategy& workers) {
    const auto scope = workers.scope();
    set_seed(3);
    Sequential model{Dense({.units = 16, .activation = "relu"}), Dense({.units = 4})};
    model.compile({.optimizer = Adam{}});
    model.fit(rows.x, rows.y, {.batch_size = 16});
    const auto first = [&] { return model.trainable_variables()[0].read().to_vector<float>(); };
    before[i] = first();
    int steps = 0;
    const auto fails = LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
      before[i] = first();
      if (i == 1 && ++steps == 2) throw IoError("test.fails", "the second worker fails");
    }});
    try {
      model.fit(rows.x, rows.y, {.epochs = 4, .batch_size = 16, .callbacks = {fails}});
    } catch (...) {
      behind[i] = first();
      throw;
    }
  });
  EXPECT_NE(errors[1].find("the second worker fails"), std::string::npos) << errors[1];
  EXPECT_NE(errors[0].find("the second worker fails"), std::string::npos) << errors[0];
  EXPECT_FALSE(behind[0].empty());
  EXPECT_EQ(behind[0], before[0]);
}

TEST_F(WorkersOnDevice, AFunctionKnowsItsNumberAndMeetsTheOthers) {
  const auto errors = on_workers(3, [&](size_t i, const Strategy& workers) {
    const auto f = function([](const Tensor& x) {
      const Tensor own = sum(x), all = strategy::all_reduce({own})[0];
      return std::vector<Tensor>{own * 2, all, strategy::all_reduce({all * own}, ReduceOp::kMean)[0],
                                 x + all};
    });
    const Tensor x = Tensor::of<float>({static_cast<float>(i), 1});
    const std::vector<PerReplica> out = workers.run(f, {{{x}}});
    const float own = static_cast<float>(i) + 1;
    EXPECT_EQ(out[0].values[0].item<float>(), 2 * own);
    EXPECT_EQ(out[1].values[0].item<float>(), 6);
    EXPECT_EQ(out[2].values[0].item<float>(), 12);
    EXPECT_EQ(out[3].values[0].to_vector<float>(), (std::vector<float>{static_cast<float>(i) + 6, 7}));
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(WorkersOnDevice, AnOldValueThatIsAResultStays) {
  const auto errors = on_workers(2, [&](size_t, const Strategy& workers) {
    Variable total(zeros({}), {.name = "total"});
    const auto add = function([&](const Tensor& x) {
      const Tensor before = total.read();
      total.assign(before + strategy::all_reduce({x})[0]);
      return before;
    });
    for (int step = 0; step < 4; ++step)
      EXPECT_EQ(workers.run(add, {{{full({}, 1)}}})[0].values[0].item<float>(),
                2.f * static_cast<float>(step));
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(WorkersOnDevice, HaveOneDeviceEach) {
  const auto ranks = local_communicators(2);
  const pjrt::DevicePtr two = pjrt::open_device("xla-cpu:0-1");
  const RunContext first({.device = two.get(), .communicator = ranks[0].get()});
  const RunScope scope(first);
  EXPECT_EQ(rule_of([] { const strategy::MultiWorkerMirrored workers; }), "device.strategy");
}

}  // namespace
}  // namespace espalier
