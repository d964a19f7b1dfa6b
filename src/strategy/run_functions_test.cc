// What functions of run() draw and observe is that of one device, wherever the rows are.
#include "strategy/run_functions.h"

#include "base/rule_of_test.h"
#include "espalier/control.h"
#include "espalier/transforms.h"
#include "strategy/loops_test.h"

namespace espalier {
namespace {

Dataset rows_of(const TensorList& tensors, int64_t batch) {
  return Dataset::from_tensor_slices(tensors).batch(batch);
}

// All that `step` gives for x, row by row.
Loop results_of(const Tensor& x, int64_t batch, std::function<Tensor(const Tensor&)> step) {
  return [=](const Strategy& strategy) {
    const auto scope = strategy.scope();
    set_seed(5);
    const auto traced = function(step, {.name = "step"});
    DistributedDataset data = strategy.distribute(rows_of({x}, batch));
    std::vector<float> out;
    while (const auto part = data.next()) {
      const std::vector<float> found = numbers(strategy.gather(strategy.run(traced, *part)[0]));
      out.insert(out.end(), found.begin(), found.end());
    }
    return out;
  };
}

TEST(RunFunctions, DropoutDropsWhatOneDeviceDrops) {
  const auto dropped = [](const Tensor& x) {
    const TrainingScope training(true);
    return Dropout(0.5)(x);
  };
  // Two whole batches; the last one of a row, which one replica has.
  expect_as_on_one_device(results_of(ones({16, 6}), 8, dropped));
  expect_as_on_one_device(results_of(ones({15, 3}), 7, dropped), 0, false);  // nobody asks for weights
}

TEST(RunFunctions, EachWayToDrawFollowsTheRows) {
  const std::vector<std::function<Tensor(const Tensor&)>> ways{
      [](const Tensor& x) { return random_uniform(x.shape()); },
      [](const Tensor& x) { return random_normal(x.shape()); },
      [](const Tensor& x) { return default_generator().uniform(x.shape(), 2, 3); },
      [](const Tensor& x) { return default_generator().normal(x.shape(), 1, 2); },
      [](const Tensor& x) { return default_generator().truncated_normal(x.shape()); },
      [](const Tensor& x) { return default_generator().integers(x.shape(), 0, 1000); },
      [](const Tensor& x) { return default_generator().categorical(x, 5); },
      [](const Tensor& x) { return random_normal(x.shape(), 7, 3); },
      [](const Tensor& x) {
        return convert(shift_right_logical(random_bits({x.size(0)}, 7, 3), 8), DType::kF32);
      },
      // Each row twice, as where steps of a sequence are laid out behind each other.
      [](const Tensor& x) {
        return reshape(random_normal({x.size(0) * 2, 3}), {x.size(0), 6});
      },
      [](const Tensor& x) { return dropout(x, 0.25, 3, 4); }};
  for (size_t way = 0; way < ways.size(); ++way) {
    SCOPED_TRACE(way);
    expect_as_on_one_device(results_of(ones({12, 4}), 6, ways[way]));
  }
}

// Steps of a sequence first, and the batch second: told by the shapes alone. In 7 rows one replica has
// another number than the others, and how far steps are apart follows from all of them.
TEST(RunFunctions, TheBatchMayBeAnyAxis) {
  for (const Dims& order : {Dims{1, 0, 2}, Dims{2, 1, 0}}) {
    const auto dropped = [&](const Tensor& x) {
      const TrainingScope training(true);
      return transpose(Dropout(0.5)(transpose(x, order)), order);
    };
    expect_as_on_one_device(results_of(ones({16, 6, 2}), 8, dropped));
    expect_as_on_one_device(results_of(ones({15, 3, 2}), 7, dropped), 0, false);  // nobody asks for weights
    expect_equal_bits_by_shards(results_of(ones({15, 3, 2}), 7, dropped));
    EXPECT_EQ(results_of(ones({15, 3, 2}), 7, dropped)(strategy::OneDevice({.logical_shards = 8})),
              results_of(ones({15, 3, 2}), 7, dropped)(strategy::OneDevice()));
  }
}

// As many rows as the batch, or as a replica's part of it, and no rows.
TEST(RunFunctions, ASizeThatHappensToBeTheBatchIsNone) {
  for (const int64_t size : {12, 6, 4}) {
    SCOPED_TRACE(size);
    expect_as_on_one_device(results_of(ones({12, 3}), 12, [size](const Tensor& x) {
      const Tensor kernel = random_normal({size, 2});
      return x * sum(kernel) + random_uniform(x.shape());
    }));
  }
}

TEST(RunFunctions, DrawsInScanAndCheckpoint) {
  const auto drop = [](const Tensor& x) {
    return dropout(x, 0.5, default_generator().key(), default_generator().next_step());
  };
  const auto scanned = [drop](const Tensor& x) {
    return scan(
               [&](std::span<const Tensor> carry, std::span<const Tensor>) -> ScanResult {
                 return {{drop(carry[0]) + 1}, {}};
               },
               {x}, {}, {.length = 3})
        .carry[0];
  };
  const auto checkpointed = [drop](const Tensor& x) {
    const TensorFunction once = checkpoint([&](const Tensor& in) { return drop(in * in); });
    const auto sum_of = [&](const Tensor& in) { return reduce_sum(once(in)[0], {0, 1}); };
    return grad(sum_of)(x)[0];
  };
  const auto chosen = [drop](const Tensor& x) {
    return cond(default_generator().uniform({}) < 0.5, drop, [](const Tensor& in) { return in * 3; }, {x});
  };
  const auto while_few = [drop](const Tensor& x) {
    Tensors out = while_loop([](std::span<const Tensor> in) { return Tensors{in[0] < 3}; },
                             [&](std::span<const Tensor> in) {
                               return Tensors{in[0] + 1, drop(in[1]) + 1};
                             },
                             Tensors{full({}, 0, DType::kI32), x});
    return out[1];
  };
  for (const std::function<Tensor(const Tensor&)>& way :
       {std::function<Tensor(const Tensor&)>(scanned), {checkpointed}, {chosen}, {while_few}}) {
    expect_as_on_one_device(results_of(ones({12, 4}), 6, way));
    // Programs of parts of 2 and 3 rows count the draws alike, in regions that are not alike.
    expect_as_on_one_device(results_of(ones({12, 4}), 5, way), 0, false);
  }
}

// One for each row of a batch, in its order.
TEST(RunFunctions, DrawsUnderVmap) {
  const auto dropped = [](const Tensor& x) {
    return vmap([](const Tensor& row) { return dropout(row, 0.5, 3, 4); })(x)[0];
  };
  expect_as_on_one_device(results_of(ones({12, 5}), 6, dropped));
  // An example's shape goes round in rows of one part and not of another.
  expect_as_on_one_device(results_of(ones({12, 6}), 5, dropped), 0, false);
}

TEST(RunFunctions, WhatCannotBePlacedIsRefused) {
  const auto rule = [](std::function<Tensor(const Tensor&)> step) {
    return rule_of([&] { results_of(ones({8, 4}), 8, step)(strategy::Mirrored({.devices = 2})); });
  };
  EXPECT_EQ(rule([](const Tensor& x) {
              return x + reduce_sum(random_normal({x.size(0), x.size(0)}), {0, 1});
            }),
            "random.rows");
  EXPECT_EQ(rule([](const Tensor& x) { return x + reduce_sum(random_normal({x.size(0) + 1}), {0}); }),
            "random.rows");
  EXPECT_EQ(rule([](const Tensor& x) { return default_generator().shuffle(x); }), "random.rows");
  EXPECT_EQ(rule([](const Tensor& x) { return default_generator().shuffle(x, 1); }), "nothing");
}

// A value of each replica that is no rows of the batch, and does not say so.
TEST(RunFunctions, DrawsForANumberOfRowsThatIsNotKnownAreRefused) {
  const auto drawn = [](const Strategy& strategy, bool draws, bool of_batch) {
    const auto scope = strategy.scope();
    set_seed(5);
    const auto step = function(
        [draws](const Tensor& x, const Tensor& y) {
          const Tensor sum = x + reduce_sum(y, {0});
          return draws ? sum + random_uniform(x.shape()) : sum;
        },
        {.name = "step"});
    PerReplica rows, others{.values = {}, .of_batch = of_batch};
    const int64_t count = 12 / strategy.num_replicas_in_sync();
    for (int i = 0; i < strategy.replicas_here(); ++i) {
      rows.values.push_back(ones({count, 2}));
      others.values.push_back(ones({5, 2}));
    }
    return numbers(strategy.gather(strategy.run(step, {rows, others})[0]));
  };
  for (const int devices : {2, 3}) {
    const strategy::Mirrored pools({.devices = devices});
    EXPECT_EQ(drawn(pools, true, false), drawn(strategy::OneDevice(), true, false));
    EXPECT_EQ(drawn(pools, false, true), drawn(strategy::OneDevice(), false, true));
    try {
      drawn(pools, true, true);
      ADD_FAILURE() << "nothing is refused";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "random.rows");
      EXPECT_EQ(error.message(),
                cat("\"step\" draws numbers of shape [", 12 / devices,
                    ",2], and how many rows of the batch it has is not known: argument 0 has ", 12 / devices,
                    ", argument 1 has 5"));
      EXPECT_NE(std::string(error.what()).find("of_batch = false"), std::string::npos);
    }
  }
  for (const std::string& error :
       errors_of_workers(2, [&](const Strategy& strategy) { drawn(strategy, true, true); }))
    EXPECT_NE(error.find("random.rows"), std::string::npos) << error;
}

// One other number of rows tells which draws are of rows, and whether what is assigned is that of all.
TEST(RunFunctions, WhatDrawsAndAssignsIsTracedTwice) {
  for (const bool draws : {false, true}) {
    for (const bool assigns : {false, true}) {
      const strategy::Mirrored pools({.devices = 2});
      const auto scope = pools.scope();
      Variable calls(full({}, 0), {.name = "calls", .trainable = false});
      int traces = 0;
      const auto step = function(
          [&](const Tensor& x) {
            ++traces;
            if (assigns) calls.assign(calls + 1);
            return draws ? x + random_uniform(x.shape()) : x;
          },
          {.name = "step", .check_captures = false});
      pools.run(step, *pools.distribute(rows_of({ones({8, 2})}, 8)).next());
      EXPECT_EQ(traces, draws || assigns ? 2 : 1) << draws << " " << assigns;
    }
  }
}

// The metric of all rows, in the function and behind it.
TEST(RunFunctions, MetricsSeeAllRows) {
  const Tensor labels = convert(random_integers({21, 1}, 1, 0, 0, 2), DType::kI32),
               outputs = random_uniform({21, 1}, 2, 0);
  for (const char* name : {"binary_accuracy", "auc", "mse", "r2_score", "precision"}) {
    SCOPED_TRACE(name);
    expect_as_on_one_device(
        [&](const Strategy& strategy) {
          const auto scope = strategy.scope();
          Metric metric(name);
          const auto step =
              function([&](const Tensor& y, const Tensor& out) { metric.update(y, out); }, {.name = "step"});
          DistributedDataset data = strategy.distribute(rows_of({labels, outputs}, 8));
          std::vector<float> out;
          while (const auto part = data.next()) {
            strategy.run(step, *part);
            out.push_back(static_cast<float>(metric.result()));
          }
          return out;
        },
        1e-6, false);
  }
}

// Averages are those of all rows; statistics, too, where they are synchronized.
TEST(RunFunctions, BatchNormalizationSeesAllRows) {
  const Tensor x = random_normal({24, 3}, 1, 0);
  expect_as_on_one_device(
      [&](const Strategy& strategy) {
        const auto scope = strategy.scope();
        BatchNormalization layer({.synchronized = true});
        layer(ones({2, 3}));
        const auto step = function(
            [&](const Tensor& rows) {
              const TrainingScope training(true);
              return layer(rows);
            },
            {.name = "step"});
        DistributedDataset data = strategy.distribute(rows_of({x}, 12));
        std::vector<float> out;
        while (const auto part = data.next()) {
          for (const float value : numbers(strategy.gather(strategy.run(step, *part)[0])))
            out.push_back(value);
          for (const Variable& variable : layer.variables())
            for (const float value : numbers(variable.read())) out.push_back(value);
        }
        return out;
      },
      2e-6);
}

// Two parts of a batch are two programs, and a constant of one of them would be taken for that of all rows.
TEST(RunFunctions, ACountOfOwnRowsIsRefused) {
  using Assign = std::function<Tensor(const Tensor& x)>;
  using Call = std::function<void(const Assign& assign, const Tensor& x)>;
  const std::vector<Call> calls{
      [](const Assign& assign, const Tensor& x) { assign(x); },
      [](const Assign& assign, const Tensor& x) { checkpoint(assign)(x); },
      [](const Assign& assign, const Tensor& x) { cond(sum(x * 0) < 1, assign, assign, {x}); },
      [](const Assign& assign, const Tensor& x) {
        fori_loop(
            0, 1, [&](const Tensor&, const Tensor& carry) { return assign(x) * 0 + carry; }, full({}, 0));
      }};
  // By another value that the loop carries.
  const auto carried = [](Variable& seen, const Tensor& x) {
    fori_loop(
        0, 2,
        [&](const Tensor&, const Tensor& carry) {
          seen.assign_add(carry);
          return carry + full({}, static_cast<double>(x.size(0)));
        },
        full({}, 0));
  };
  size_t way = 0;
  const auto count = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Variable seen(full({}, 0), {.name = "seen", .trainable = false});
    const auto step = function(
        [&](const Tensor& x) {
          if (way == calls.size()) return carried(seen, x);
          calls[way](
              [&](const Tensor& in) {
                seen.assign_add(full({}, static_cast<double>(in.size(0))));
                return sum(in);
              },
              x);
        },
        {.name = "step"});
    DistributedDataset data = strategy.distribute(rows_of({ones({20, 1})}, 8));
    while (const auto part = data.next()) strategy.run(step, *part);
    return seen.read().item<float>();
  };
  for (; way <= calls.size(); ++way) {
    SCOPED_TRACE(way);
    EXPECT_EQ(count(strategy::OneDevice()), 20);
    EXPECT_EQ(rule_of([&] { count(strategy::Mirrored({.devices = 2})); }), "strategy.variable");
    for (const std::string& error : errors_of_workers(2, count))
      EXPECT_NE(error.find("strategy.variable"), std::string::npos) << error;
  }
}

// Rows that nobody shared out stand behind those of the replicas before.
TEST(RunFunctions, PartsOfAUsersOwnHaveTheirPlace) {
  const auto drawn = [](const Strategy& strategy, const std::vector<int64_t>& sizes, bool second) {
    const auto scope = strategy.scope();
    set_seed(5);
    const auto step = function(
        [second](const Tensor& x) {
          return second ? transpose(random_uniform({2, x.size(0)}), {1, 0}) : random_uniform(x.shape());
        },
        {.name = "step"});
    PerReplica parts;
    for (int i = 0; i < strategy.replicas_here(); ++i)
      parts.values.push_back(ones({sizes[static_cast<size_t>(strategy.first_replica() + i)], 2}));
    return numbers(strategy.gather(strategy.run(step, {parts})[0]));
  };
  for (const bool second : {false, true}) {
    const std::vector<float> wanted = drawn(strategy::OneDevice(), {7}, second);
    EXPECT_EQ(drawn(strategy::Mirrored({.devices = 3}), {3, 0, 4}, second), wanted);
    on_each_worker(3, [&](const Strategy& strategy) {
      EXPECT_EQ(drawn(strategy, {1, 4, 2}, second), wanted);
    });
  }
}

// Weights, losses and metrics behind a few steps, the last batch of which goes round nowhere.
std::vector<float> trained(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_seed(5);
  const Tensor x = random_normal({45, 6}, 1, 0), y = convert(reduce_sum(x, {1}) > 0, DType::kI32);
  Sequential model{Dense({.units = 12, .activation = "relu"}), BatchNormalization({.synchronized = true}),
                   Dropout(0.25), Dense({.units = 2})};
  model.predict(x);
  Optimizer optimizer(SGD{.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 2});
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  Metric accuracy("accuracy");
  const auto step = function(
      [&](const Tensor& rows, const Tensor& labels) -> std::vector<Tensor> {
        const TrainingScope training(true);
        GradientTape tape;
        const Tensor out = model(rows + random_normal(rows.shape()) * 0.1);
        const LossSums sums = loss.sums(labels, out);
        const Tensor weight = strategy::all_reduce({sums.weight})[0];
        const auto weights = model.trainable_variables();
        optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum, weights)), weights, {.weight = weight});
        accuracy.update(labels, out);
        return {sums.sum, sums.weight, out};
      },
      {.name = "step"});
  std::vector<float> out;
  for (int epoch = 0; epoch < 3; ++epoch) {
    accuracy.reset();
    DistributedDataset data = strategy.distribute(Dataset::from_tensor_slices({x, y}).shuffle(45).batch(14));
    while (const auto parts = data.next()) {
      const std::vector<PerReplica> found = strategy.run(step, *parts);
      out.push_back(strategy.reduce(ReduceOp::kSum, found[0]).item<float>() /
                    strategy.reduce(ReduceOp::kSum, found[1]).item<float>());
      for (const float value : numbers(strategy.gather(found[2]))) out.push_back(value);
    }
    out.push_back(static_cast<float>(accuracy.result()));
  }
  for (const Variable& variable : model.variables())
    for (const float value : numbers(variable.read())) out.push_back(value);
  return out;
}

TEST(RunFunctions, ALoopOfLayersAndMetricsIsThatOfOneDevice) { expect_as_on_one_device(trained, 4e-6); }

TEST(RunFunctions, FormulasOfAUsersOwnAskWhichRowsCount) {
  const Tensor x = random_normal({7, 3}, 1, 0);
  const auto sums = [&](bool asks) {
    return [&x, asks](const Strategy& strategy) {
      const auto scope = strategy.scope();
      const auto step = function([asks](const Tensor& rows) -> std::vector<Tensor> {
        Tensor of_rows = reduce_sum(rows, {1});
        if (asks) of_rows = of_rows * strategy::row_weight(rows);
        return {strategy::all_reduce({reduce_sum(of_rows, {0})})[0], concatenate({rows, rows}, 0)};
      });
      const auto found = strategy.run(step, *strategy.distribute(rows_of({x}, 7)).next());
      EXPECT_EQ(strategy.gather(found[1]).size(0), 14);
      return numbers(found[0].values[0]);
    };
  };
  expect_as_on_one_device(sums(true), 2e-6);
  expect_as_on_one_device(sums(false), 2e-6, false);
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  const DeviceScope device(pjrt::test_plugin());
  EXPECT_EQ(rule_of([&] { sums(false)(strategy::Mirrored({.devices = 2})); }), "strategy.rows");
}

}  // namespace
}  // namespace espalier
