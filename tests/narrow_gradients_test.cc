// Two workers whose gradients travel as bf16 learn what they learn without.
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "strategy/workers_test.h"
#include "tests/shared_data.h"

namespace espalier {
namespace {

TEST(NarrowGradients, SlowAccuracyIsWithinHalfAPoint) {
  const std::string folder = shared_data("mnist");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Examples digits = load_digits(folder);
  const auto [train, test] = digits.split(8000);
  std::map<std::string, double> mean;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (const std::string travel : {"none", "bf16"}) {
      on_each_worker(2, [&](const Strategy& given) {
        const strategy::MultiWorkerMirrored workers({.compress = travel});
        const auto scope = workers.scope();
        set_seed(seed);
        Sequential model{Flatten(), Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
        model.compile({.optimizer = Adam{}});
        model.fit(train.x, train.y, {.epochs = 4, .batch_size = 64});
        const double accuracy = model.evaluate(test.x, test.y).at("accuracy");
        if (given.worker() == 0) mean[travel] += accuracy / 5;
      });
    }
  }
  EXPECT_GE(mean["none"], 0.94);
  EXPECT_NEAR(mean["bf16"], mean["none"], 0.005);
  RecordProperty("none", std::to_string(mean["none"]));
  RecordProperty("bf16", std::to_string(mean["bf16"]));
}

}  // namespace
}  // namespace espalier
