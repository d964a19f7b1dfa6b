// Loops of one's own on several workers: a call is a step, which all of them make.
#include <atomic>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "strategy/replicas.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

PerReplica each(const Tensor& value, const Strategy& strategy) {
  return {std::vector<Tensor>(static_cast<size_t>(strategy.replicas_here()), value)};
}

// What each of two workers hears, who call `program`.
std::vector<std::string> heard_by_two(const std::function<void(const Strategy&)>& program) {
  return errors_of_workers(2, program);
}

void expect_all_hear(const std::vector<std::string>& errors, const std::string& text) {
  for (const std::string& error : errors) EXPECT_NE(error.find(text), std::string::npos) << error;
}

auto sum_of_replicas(const char* name) {
  return function([](const Tensor& x) { return strategy::all_reduce({x})[0]; }, {.name = name});
}

// Sums of equal size that belong to two functions are never taken for one.
TEST(RunCalls, WhoCallsAnotherFunctionIsNamed) {
  expect_all_hear(heard_by_two([](const Strategy& strategy) {
                    const auto scope = strategy.scope();
                    const auto generator = sum_of_replicas("generator"), judge = sum_of_replicas("judge");
                    const PerReplica x = each(ones({2}), strategy);
                    strategy.run(judge, {x});
                    strategy.run(strategy.worker() == 1 ? generator : judge, {x});
                  }),
                  "in call 2 of Strategy::run() rank 1 calls \"generator\" where rank 0 calls \"judge\"");
}

// Where functions are called by themselves, no header tells them apart.
TEST(RunCalls, ASumOfAnotherCallIsNoPair) {
  expect_all_hear(
      heard_by_two([](const Strategy& strategy) {
        const auto scope = strategy.scope();
        const auto first = sum_of_replicas("first"), second = sum_of_replicas("second");
        first(ones({2}));
        if (strategy.worker() == 0) first(ones({2}));
        second(ones({2}));
      }),
      "rank 1 calls all_reduce of 2 f32 sum (call 2: \"second\") where rank 0 calls all_reduce of 2 "
      "f32 sum (call 2: \"first\")");
  expect_all_hear(heard_by_two([](const Strategy& strategy) {
                    const auto scope = strategy.scope();
                    const auto add_up = [](const Tensor& a) { return strategy::all_reduce({a})[0]; };
                    const auto some = function(
                        [&](const Tensor& x) {
                          const Tensor y = cond(sum(x) > 0, add_up, [](const Tensor& a) { return a; }, {x});
                          return strategy::all_reduce({y})[0];
                        },
                        {.name = "some"});
                    some(full({2}, static_cast<double>(strategy.worker())));
                  }),
                  "rank 1 calls all_reduce \" in if ");
}

TEST(RunCalls, ANumberThatOneWorkerCapturedIsNamed) {
  const auto errors = heard_by_two([](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const double rate = strategy.worker() == 0 ? 0.25 : 0.5;
    const auto step =
        function([&](const Tensor& x) { return strategy::all_reduce({x * rate})[0]; }, {.name = "step"});
    strategy.run(step, {each(ones({2}), strategy)});
  });
  expect_all_hear(errors,
                  "in call 1 of Strategy::run() \"step\" is another program on rank 1 than on rank 0");
  expect_all_hear(errors, "0.5");
  expect_all_hear(errors, "0.25");
}

// Programs on parts of other sizes are others, and no mismatch.
TEST(RunCalls, PartsOfOtherSizesAreNoMismatch) {
  on_each_worker(3, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const auto step = function(
        [](const Tensor& x) {
          return strategy::all_reduce({reduce_sum(x, {0, 1})})[0];
        },
        {.name = "step"});
    for (const int64_t rows : {7, 9, 8}) {
      const auto batch =
          strategy.distribute(Dataset::from_tensor_slices({ones({rows, 2})}).batch(rows)).next();
      EXPECT_EQ(strategy.run(step, *batch)[0].values[0].item<float>(), static_cast<float>(2 * rows));
    }
  });
}

// What is gathered is of one size on all: before the call runs, and both are said.
TEST(RunCalls, PartsOfOtherSizesAreNotGathered) {
  const auto errors = heard_by_two([](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const auto step = function([](const Tensor& x) { return strategy::all_gather(x); }, {.name = "step"});
    // As many elements on both, of other shapes.
    strategy.run(step, {each(ones(strategy.worker() ? Shape{3, 2} : Shape{2, 3}), strategy)});
  });
  expect_all_hear(errors,
                  "in call 1 of Strategy::run() the next collective of rank 1 in \"step\" is all_gather "
                  "f32[3,2], and that of rank 0 is all_gather f32[2,3]");
  expect_all_hear(errors, "Strategy::gather() takes others, behind the call");
}

TEST(RunCalls, VariablesBeginAsThoseOfWorkerZero) {
  std::atomic<int> right = 0;
  on_each_worker(3, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Variable weight(full({2}, 10.0 + strategy.worker()), {.name = "weight"});
    const auto step =
        function([&](const Tensor& x) { weight.assign_add(strategy::all_reduce({x})[0]); }, {.name = "step"});
    strategy.run(step, {each(ones({2}), strategy)});
    right += weight.read().to_vector<float>() == std::vector<float>{13, 13};
    // Later on they are left to the program.
    if (strategy.worker() == 0)
      strategy.run(step, {each(ones({2}), strategy)});
    else
      strategy.run(step, {each(ones({2}), strategy)});
    right += weight.read().to_vector<float>() == std::vector<float>{16, 16};
  });
  EXPECT_EQ(right, 6);
}

// What is read alone, as a rate, is compared.
TEST(RunCalls, AVariableThatIsReadAndDiffersIsNamed) {
  expect_all_hear(
      heard_by_two([](const Strategy& strategy) {
        const auto scope = strategy.scope();
        Variable rate(full({}, 0.5 + strategy.worker()), {.name = "rate"}),
            weight(zeros({2}), {.name = "weight"});
        const auto step =
            function([&](const Tensor& x) { weight.assign_sub(rate * strategy::all_reduce({x})[0]); },
                     {.name = "step"});
        strategy.run(step, {each(ones({2}), strategy)});
      }),
      "variable \"rate\" of rank 1 differs from that of rank 0 in run \"step\": it is 0.5 on rank 0 "
      "and 1.5 on rank 1");
}

// What drifts apart behind the first call is found by the next audit.
TEST(RunCalls, WhatDriftsApartIsFoundByTheAudit) {
  const auto ranks = local_communicators(2);
  std::vector<std::jthread> threads;
  std::vector<std::string> errors(2);
  std::atomic<int> calls = 0;
  for (size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      const RunContext context({.threads = 1, .communicator = ranks[i].get()});
      const RunScope in(context);
      const strategy::MultiWorkerMirrored strategy({.audit_steps = 5});
      const auto scope = strategy.scope();
      Variable weight(zeros({2}), {.name = "weight"});
      const auto step = function([&](const Tensor& x) { weight.assign_add(strategy::all_reduce({x})[0]); },
                                 {.name = "step"});
      try {
        for (int call = 1; call <= 20; ++call) {
          strategy.run(step, {each(ones({2}), strategy)});
          if (call == 6 && i == 1) weight.assign(ones({2}));
          ++calls;
        }
      } catch (const std::exception& error) {
        errors[i] = error.what();
        ranks[i]->abort(error.what());
      }
    });
  threads.clear();
  expect_all_hear(errors, "variable \"weight\" of rank 1 differs from that of rank 0 behind step 10");
  EXPECT_EQ(calls, 18);
}

// Nobody calls anything behind it that could raise; the run is told.
TEST(RunCalls, WhatDiffersBehindTheLastCallIsToldAtTheEnd) {
  for (const bool differs : {false, true}) {
    const auto ranks = local_communicators(2);
    std::vector<std::jthread> threads;
    std::vector<std::string> told(2);
    for (size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        const RunContext context({.threads = 1, .communicator = ranks[i].get()});
        const RunScope in(context);
        {
          const strategy::MultiWorkerMirrored strategy;
          const auto scope = strategy.scope();
          Variable weight(zeros({2}), {.name = "weight"});
          const auto step = function(
              [&](const Tensor& x) { weight.assign_add(strategy::all_reduce({x})[0]); }, {.name = "step"});
          strategy.run(step, {each(ones({2}), strategy)});
          if (differs && i == 1) weight.assign(ones({2}));
        }
        try {
          ranks[i]->any(0);
        } catch (const std::exception& error) {
          told[i] = error.what();
        }
      });
    threads.clear();
    if (differs)
      expect_all_hear(told, "variable \"weight\" of rank 1 differs from that of rank 0 behind step 1");
    else
      EXPECT_EQ(told, std::vector<std::string>(2));
  }
}

TEST(RunCalls, AWorkerThatIsToldToGoTellsTheOthers) {
  on_each_worker(2, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const auto step = sum_of_replicas("step");
    const PerReplica x = each(ones({2}), strategy);
    strategy.run(step, {x});
    EXPECT_FALSE(strategy.told_to_go());
    if (strategy.worker() == 1) strategy.replicas()->membership().go();
    strategy.run(step, {x});
    EXPECT_TRUE(strategy.told_to_go());
  });
}

// A branch that one replica takes and another does not.
TEST(RunCalls, ACollectiveThatSomeReplicasWouldSkipIsRefused) {
  const auto program = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const auto add_up = [](const Tensor& a) { return strategy::all_reduce({a})[0]; };
    const auto keep = [](const Tensor& a) { return a; };
    // So is each other one; what all have from one may choose.
    const std::vector<std::function<Tensor(const Tensor&)>> others{
        [](const Tensor& a) { return reduce_sum(strategy::all_gather(a), {0}) + a; },
        [](const Tensor& a) { return strategy::broadcast(a, 1); },
        [](const Tensor& a) { return strategy::barrier(a); }};
    const int world = strategy.num_replicas_in_sync();
    for (const auto& other : others) {
      const auto own = function([&](const Tensor& x) { return cond(sum(x) > 0, other, keep, {x}); });
      const auto first =
          function([&](const Tensor& x) { return cond(sum(strategy::broadcast(x)) > 0, other, keep, {x}); });
      const auto any =
          function([&](const Tensor& x) { return cond(sum(strategy::all_gather(x)) > 0, other, keep, {x}); });
      const PerReplica x = each(ones({2}), strategy);
      EXPECT_EQ(rule_of([&] { strategy.run(own, {x}); }), "strategy.control");
      const float wanted = &other == &others[0] ? static_cast<float>(2 * world + 1) : 1;
      for (const auto* const chosen : {&first, &any})
        EXPECT_EQ(strategy.run(*chosen, {x})[0].values[0].to_vector<float>(), std::vector<float>(2, wanted));
    }
    const auto by_own = function([&](const Tensor& x) { return cond(sum(x) > 0, add_up, keep, {x}); });
    const auto by_all = function(
        [&](const Tensor& x) { return cond(sum(strategy::all_reduce({x})[0]) > 0, add_up, keep, {x}); });
    const PerReplica x = each(ones({2}), strategy);
    EXPECT_EQ(rule_of([&] { strategy.run(by_own, {x}); }), "strategy.control");
    EXPECT_EQ(strategy.run(by_all, {x})[0].values[0].to_vector<float>(),
              std::vector<float>(2, static_cast<float>(strategy.num_replicas_in_sync())));
    // Of loops the number of rounds is to be one.
    const auto rounds_of = [&](const Tensor& most) {
      return while_loop([&](const Tensors& now) -> Tensors { return {now[0] < most}; },
                        [&](const Tensors& now) -> Tensors {
                          return {now[0] + 1, strategy::all_reduce({now[1]})[0]};
                        },
                        {full({}, 0), ones({2})})[1];
    };
    const auto own_rounds = function([&](const Tensor& most) { return rounds_of(most); });
    const auto all_rounds = function(
        [&](const Tensor& most) { return rounds_of(strategy::all_reduce({most}, ReduceOp::kMean)[0]); });
    const PerReplica three = each(full({}, 3), strategy);
    EXPECT_EQ(rule_of([&] { strategy.run(own_rounds, {three}); }), "strategy.control");
    EXPECT_EQ(strategy.run(all_rounds, {three})[0].values[0].to_vector<float>(),
              std::vector<float>(2, static_cast<float>(std::pow(strategy.num_replicas_in_sync(), 3))));
  };
  program(strategy::Mirrored({.devices = 2}));
  for (const int world : {2, 3}) on_each_worker(world, program);
}

TEST(RunCalls, TheRefusalNamesCollectiveAndBranch) {
  const strategy::Mirrored strategy({.devices = 2});
  const auto scope = strategy.scope();
  std::string told;
  const auto f = function([](const Tensor& x) {
    return cond(
        sum(x) > 0, [](const Tensor& a) { return strategy::all_reduce({a})[0]; },
        [](const Tensor& a) { return a; }, {x});
  });
  const int line = __LINE__ + 2;
  try {
    strategy.run(f, {each(ones({2}), strategy)});
  } catch (const std::exception& error) {
    told = error.what();
  }
  EXPECT_NE(told.find("all_reduce"), std::string::npos) << told;
  EXPECT_NE(told.find(cat("run_calls_test.cc:", line)), std::string::npos) << told;
  EXPECT_NE(told.find("by what differs between replicas"), std::string::npos) << told;
}

// Each worker shuffles by a seed of its own.
TEST(RunCalls, RowsAreShuffledByTheSeedOfWorkerZero) {
  for (const int world : {2, 3}) {
    std::vector<std::vector<int>> seen(static_cast<size_t>(world));
    on_each_worker(world, [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      set_seed(static_cast<uint64_t>(strategy.worker()) + 1);
      DistributedDataset data =
          strategy.distribute(Dataset::from_tensor_slices({arange(100)}).shuffle(100).batch(10));
      while (const auto batch = data.next())
        for (const int row : convert((*batch)[0].values[0], DType::kI32).to_vector<int>())
          seen[static_cast<size_t>(strategy.worker())].push_back(row);
    });
    std::vector<int> all;
    for (const auto& rows : seen) all.insert(all.end(), rows.begin(), rows.end());
    std::ranges::sort(all);
    std::vector<int> wanted(100);
    for (int i = 0; i < 100; ++i) wanted[static_cast<size_t>(i)] = i;
    EXPECT_EQ(all, wanted) << world;
  }
}

TEST(RunCalls, DataOfAWorkersOwnAreRefused) {
  const auto reads = [](const std::function<Dataset(int)>& data) {
    return heard_by_two([&](const Strategy& strategy) {
      DistributedDataset batches = strategy.distribute(data(strategy.worker()));
      while (batches.next()) {
      }
    });
  };
  expect_all_hear(
      reads([](int worker) { return Dataset::from_tensor_slices({arange(8) + int{worker == 1}}).batch(4); }),
      "element 0 of the dataset of worker 1 is another one than that of worker 0");
  expect_all_hear(reads([](int worker) {
                    return Dataset::from_generator([worker] {
                      return [left = 2 + worker]() mutable -> std::optional<Tensors> {
                        if (left-- == 0) return std::nullopt;
                        return Tensors{ones({4})};
                      };
                    });
                  }),
                  "the dataset of worker 0 ends before element 2, and that of worker 1 does not");
  expect_all_hear(
      reads([](int worker) { return Dataset::from_tensor_slices({arange(8)}).batch(4 - worker); }),
      "worker 1 names ");
}

}  // namespace
}  // namespace espalier
