// The tests of this room on a fake device.
#include <gtest/gtest.h>

#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/model.h"
#include "espalier/random.h"
#include "ir/sink.h"
#include "runtime/on_fake_device_test.h"

namespace espalier {
namespace {

constexpr std::string_view kReplicas = "a strategy of several replicas is refused there",
                           kSeldom = "its loss is asked every eighth step, so NaN is seen late",
                           kLate = "a step that fails is told late, and what it was given is gone by then",
                           kOwn = "it chooses its own",
                           kMixes = "variables on the device meet rows that lie here (device.mix)",
                           kPads = "predict pads its batches there",
                           kFills =
                               "rows of weight 0 that fill a batch up count in what a layer observes there";
constexpr NotOnDevice kNotOnDevice[] = {
    {"Callbacks.TerminateOnNaNEndsTheRunBehindTheStep", kSeldom},
    {"ConsoleProgress.SaysAtWhichStepTheLossBecameNoNumber", kSeldom},
    {"Fit.PredictAndCallsNeedNoCompile", kMixes},
    {"Fit.TrainsALayerThatWasCalledBefore", kMixes},
    {"KerasSteps.LossScalesSkippedStepsAveragesAndSumsGoAsKeras", kMixes},
    {"LogicalShards.AnyNumberOfReplicasEndsInTheSameBits", kReplicas},
    {"LogicalShards.RefuseStatisticsOfAllRows", kReplicas},
    {"Observations.PartsOfABatchAddUpToTheWholeForEveryMetric", kMixes},
    {"Observations.PartsOfABatchMakeItsMovingAverages", kMixes},
    {"PredictPlans.OneToThirtyTwoRowsInTurnAreTracedOnce", kPads},
    {"RowsCounted.StepsAndSumsOverReplicasAreRight", kFills},
    {"ShardBatches.LogicalShardsAreThoseOfTheDataInBits", kReplicas},
    {"ShardWorkersSlow.TrainOnWhatNoneOfThemHoldsOverAKillAndFewerWorkers", kReplicas},
    {"Strategies.AModelThatIsNotCompiledPredictsByItsScope", kPads},
    {"Strategies.ARunSaysHowItsBatchIsSharedOut", kReplicas},
    {"Strategies.BucketsChangeNoBit", kReplicas},
    {"Strategies.EvaluationAndPredictionAreThoseOfAllRows", kReplicas},
    {"Strategies.InSixteenBitsTheyTrainAsOneDevice", kReplicas},
    {"Strategies.MirroredTrainsAsOneDevice", kReplicas},
    {"Strategies.SynchronizedNormalizationIsThatOfTheBatch", kReplicas},
    {"Strategies.TheLedgerOfRowsIsThatOfOneDevice", kReplicas},
    {"Strategies.WhatAUserHasReadStaysAsItWas", kReplicas},
    {"Strategies.WorkersTrainAsMirroredBitForBit", kReplicas},
    {"StrategyFailures.AStepThatIsNotFiniteOnOneDeviceChangesNothing", kReplicas},
    {"FeaturesOnDevice.*", kOwn},
    {"Pods.*", kOwn},
    {"RowsOnDevice.*", kOwn},
    {"TrainOnDevice.*", kOwn},
    {"TrainingFences.AStepThatFailsChangesNothing", kLate},
};
[[maybe_unused]] const bool on_fake_device = run_on_fake_device(kNotOnDevice);

TEST(TrainOnFakeDevice, EachTestThatIsLeftOutExists) { expect_tests_of(kNotOnDevice); }

TEST(TrainOnFakeDevice, FitLeavesVariablesThereWhereItIsAskedFor) {
  const bool asked = device_of_tests() == "fake";
  Sequential model(Dense({.units = 2}), Dense({.units = 1}));
  model.compile({.optimizer = Adam{}, .loss = MeanSquaredError()});
  model.fit(random_normal({8, 3}, 1, 0), zeros({8, 1}), {.batch_size = 4});
  ASSERT_EQ(model.variables().size(), 4u);
  for (const Variable& variable : model.variables()) {
    const RemoteArrayPtr& remote = variable.state()->value.node()->remote();
    ASSERT_EQ(remote != nullptr, asked) << variable.path();
    if (asked) {
      EXPECT_EQ(&remote->device(), RunContext::current().device);
    }
  }
}

}  // namespace
}  // namespace espalier
