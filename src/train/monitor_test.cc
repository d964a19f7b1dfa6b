#include "train/monitor.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/callbacks.h"
#include "train/error_text_test.h"
#include "train/loss_watch.h"

namespace espalier {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

TEST(Monitor, KnowsByTheNameWhichWayIsBetter) {
  const auto way = [](const std::string& name) -> std::string {
    const Monitor monitor("rule", name, "auto", 0);
    const std::string text = error_text([&] { monitor.require({.logs = {name}}); });
    if (text != "nothing") return text;
    EXPECT_NE(monitor.improves(2, 1.0), monitor.improves(1, 2.0)) << name;
    return monitor.improves(2, 1.0) ? "more" : "less";
  };
  for (const char* name :
       {"loss", "val_loss", "head_loss", "val_head_loss", "mean_squared_error", "val_root_mean_squared_error",
        "mae", "val_mae", "head_mae", "mse", "val_mse", "val_head_mse", "rmse", "val_rmse", "head_rmse"})
    EXPECT_EQ(way(name), "less") << name;
  for (const char* name :
       {"acc", "val_acc", "head_acc", "accuracy", "val_accuracy", "val_head_binary_accuracy", "precision",
        "val_head_precision", "recall", "val_recall", "auc", "head_auc", "r2", "val_r2", "r2_adjusted",
        "r2_score", "val_r2_score", "head_r2_score", "val_head_r2_score"})
    EXPECT_EQ(way(name), "more") << name;
  for (const char* name : {"mystery", "val_mystery", "loss_scale", "emse", "brmse", "xmae", "macc", "error_",
                           "accumulated", "maelstrom", "recall_at_3", "auc_0", "mean", "val_"})
    EXPECT_EQ(way(name), cat("ValueError[rule.mode] \"", name,
                             "\" does not say whether less or more is better | set .mode = \"min\" or "
                             "\"max\""));
  // What is said counts, not the name.
  EXPECT_TRUE(Monitor("rule", "loss", "max", 0).improves(2, 1.0));
  EXPECT_FALSE(Monitor("rule", "accuracy", "min", 0).improves(2, 1.0));
}

TEST(Monitor, AnImprovementIsLargerThanItsBound) {
  struct Case {
    const char* mode;
    double bound, value;
    std::optional<double> reference;
    bool improves;
  };
  for (const Case& c : {Case{"min", 0, 1, 1, false},
                        {"max", 0, 1, 1, false},
                        {"min", 0.5, 0.5, 1, false},
                        {"min", 0.5, 0.25, 1, true},
                        {"max", 0.5, 1.5, 1, false},
                        {"max", 0.5, 1.75, 1, true},
                        // The bound has no sign, as in Keras.
                        {"min", -0.5, 0.75, 1, false},
                        {"min", -0.5, 1.25, 1, false},
                        {"max", -0.5, 1.25, 1, false},
                        {"min", 0.5, 7, std::nullopt, true},
                        {"max", 0.5, -7, std::nullopt, true},
                        {"min", 0, 7, kNoNumber, true},
                        {"min", 0, kNoNumber, 1, false},
                        {"max", 0, kNoNumber, 1, false},
                        {"min", 0, kNoNumber, std::nullopt, false},
                        {"min", 0, 1, kEndless, true},
                        {"max", 0, 1, -kEndless, true},
                        {"min", 0, kEndless, 1, false},
                        {"max", 0, kEndless, 1, true}})
    EXPECT_EQ(Monitor("rule", "x", c.mode, c.bound).improves(c.value, c.reference), c.improves)
        << c.mode << " " << c.bound << " " << c.value;
}

TEST(Monitor, SaysWhatIsWrong) {
  const auto text = [](const std::string& name, const std::vector<std::string>& logs) {
    return error_text([&] { Monitor("stop", name, "auto", 0).require({.logs = logs}); });
  };
  EXPECT_EQ(text("loss", {"accuracy", "loss"}), "nothing");
  EXPECT_EQ(text("val_loss", {"loss", "val_loss"}), "nothing");
  EXPECT_EQ(text("val_loss", {"val_loss"}), "nothing");
  EXPECT_EQ(text("val_loss", {"accuracy", "loss"}),
            "ValueError[stop.monitor] \"val_loss\" is of validation rows, and this run has none | monitor "
            "\"loss\", or give fit validation data or a validation_split");
  EXPECT_EQ(text("val_los", {"loss", "mae"}),
            "ValueError[stop.monitor] unknown value of this run \"val_los\": known are loss, mae");
  EXPECT_EQ(text("los", {"loss", "mae"}),
            "ValueError[stop.monitor] unknown value of this run \"los\": known are loss, mae | did you mean "
            "\"loss\"?");
  EXPECT_EQ(error_text([] { Monitor("stop", "loss", "mim", 0); }),
            "ValueError[stop.mode] unknown mode \"mim\": known are auto, min, max | did you mean \"min\"?");
  EXPECT_EQ(error_text([] { Monitor("stop", "loss", "min", -kEndless); }),
            "ValueError[stop.min_delta] min_delta must be a number, got -inf");
}

TEST(LossWatch, SaysFromWhereOnTheLossIsNoNumber) {
  LossWatch watch;
  const auto batch = [&](int64_t step, const Logs& logs) {
    watch.on_batch_end(step, logs);
    return watch.text();
  };
  watch.begin_epoch(0);
  EXPECT_EQ(batch(1, {{"loss", 3}, {"mae", kNoNumber}}), "");
  EXPECT_EQ(batch(2, {}), "");
  watch.on_epoch_end({{"loss", 1e308}});
  EXPECT_FALSE(watch.found());
  watch.begin_epoch(1);
  EXPECT_EQ(batch(17, {{"loss", kNoNumber}}), "the loss is NaN from step 17 of epoch 2 on");
  EXPECT_TRUE(watch.found());
  // The first counts.
  EXPECT_EQ(batch(18, {{"loss", kEndless}}), "the loss is NaN from step 17 of epoch 2 on");
  watch = {};
  watch.begin_epoch(4);
  watch.on_epoch_end({{"loss", -kEndless}});
  EXPECT_EQ(watch.text(), "the loss is infinite from epoch 5 on") << "no step was shown";
  watch = {};
  watch.begin_epoch(0);
  EXPECT_EQ(batch(8, {{"loss", 1}}), "");
  watch.begin_epoch(1);
  watch.on_epoch_end({{"loss", kNoNumber}});
  EXPECT_EQ(watch.text(), "the loss is NaN from epoch 2 on") << "step 8 was of the epoch before";
}

}  // namespace
}  // namespace espalier
