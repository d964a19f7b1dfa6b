#include <mutex>
#include <random>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "data/dataset_sources_test.h"
#include "strategy/replicas.h"
#include "train/dataset_batches.h"
#include "train/shard_batches.h"
#include "train/shard_readers_test.h"

namespace espalier {
namespace {

// What all workers have of the batches that follow, put together by place.
std::string text_of_state(const DatasetState& state) {
  std::string out = cat(state.seed, " ", state.iteration, ", ", state.elements, ":");
  for (const int64_t step : state.steps) out += cat(" ", step);
  for (const SourceState& source : state.sources) {
    out += cat("; of ", source.shards);
    for (const ShardState& one : source.owned) {
      out += cat(" ", one.shard, "=", one.elements, "/", one.bytes.value_or("-"));
      for (const int64_t step : one.steps) out += cat("/", step);
    }
  }
  return out;
}

struct ReadTogether {
  PlainElements batches;
  std::vector<std::vector<int64_t>> of_shards;
  std::vector<std::string> states;
};

ReadTogether read_together(int world, const Dataset& dataset, const DatasetState& from, int64_t shards,
                           size_t most) {
  ReadTogether out;
  std::mutex mutex;
  on_each_worker(world, [&](const Strategy& workers) {
    DataShares shares = workers.replicas()->shares();
    shares.logical_shards = shards;
    StepArguments arguments({.verb = "fit", .rows_rule = "fit.rows", .shares = shares});
    const auto reader = batch_reader(dataset, 0, arguments);
    reader->restore(from);
    for (size_t b = 0; b < most; ++b) {
      const auto part = reader->next();
      const std::string state = text_of_state(reader->save());
      if (part.empty()) break;
      const std::lock_guard hold(mutex);
      if (out.batches.size() == b) {
        out.of_shards.emplace_back(reader->rows_of_shards().begin(), reader->rows_of_shards().end());
        out.states.push_back(state);
        const int64_t rows = std::accumulate(out.of_shards[b].begin(), out.of_shards[b].end(), int64_t{0});
        out.batches.push_back({{{rows, 2}, std::vector<int32_t>(static_cast<size_t>(2 * rows), -7)},
                               {{rows}, std::vector<int32_t>(static_cast<size_t>(rows), -7)}});
      }
      EXPECT_EQ(out.states[b], state);
      const std::vector<int32_t> x = part[0].to_vector<int32_t>(), y = part[1].to_vector<int32_t>();
      const std::vector<float> weights = part[2].to_vector<float>();
      const std::vector<int64_t> places(reader->places().begin(), reader->places().end());
      if (places.empty()) {
        EXPECT_EQ(weights, std::vector<float>{0});
      }
      for (size_t i = 0; i < places.size(); ++i) {
        const auto place = static_cast<size_t>(places[i]);
        EXPECT_EQ(weights[i], 1);
        EXPECT_EQ(out.batches[b][1].values.at(place), -7) << "two rows in one place";
        out.batches[b][1].values.at(place) = y[i];
        out.batches[b][0].values.at(2 * place) = x[2 * i];
        out.batches[b][0].values.at(2 * place + 1) = x[2 * i + 1];
      }
    }
  });
  return out;
}

TEST(ShardBatches, TheStateOfAnotherDatasetIsRefused) {
  const Dataset data = NumberedShards{{7, 7, 7}}.dataset(), other = data.batch(4);
  std::mutex mutex;
  on_each_worker(2, [&](const Strategy& workers) {
    StepArguments arguments({.verb = "fit", .rows_rule = "fit.rows", .shares = workers.replicas()->shares()});
    const auto reader = batch_reader(data.batch(6), 0, arguments);
    reader->next();
    const DatasetState state = reader->save();
    const std::string rule = rule_of([&] { batch_reader(other, 0, arguments)->restore(state); });
    const std::lock_guard hold(mutex);
    EXPECT_EQ(rule, "dataset.restore");
  });
}

// The oracle of what is read is one iterator; of its order, the formula of dataset_sources_test.h.
TEST(ShardBatches, WorkersReadTogetherWhatOneIteratorGives) {
  std::mt19937 random(5);
  for (const Finds finds : kAllFinds) {
    for (const std::vector<int64_t>& sizes :
         {kUneven, std::vector<int64_t>{7, 7, 7}, std::vector<int64_t>{0, 3}}) {
      const NumberedShards shards{sizes, finds};
      const Dataset data = shards.dataset();
      const auto twice = [](const Tensor& x, const Tensor& y) -> Tensors { return {x * 2, y}; };
      const Dataset datasets[] = {
          data.batch(10),
          data.map(twice).batch(7).prefetch(2),
          data.prefetch(3).repeat(2).map(twice).batch(9),
          data.batch(6, {.drop_remainder = true}).repeat(3),
          data.repeat(2).repeat(2).batch(11).prefetch(1).repeat(2).repeat(),
          data.shuffle(9).batch(10),
          data.prefetch(2).shuffle(30).map(twice).prefetch(1).repeat(3).batch(7),
          data.map(twice)
              .shuffle(100, {.seed = 3, .reshuffle_each_iteration = false})
              .shuffle(5)
              .batch(4)
              .repeat(),
          data.map(twice).cache().batch(10).repeat(2),
          data.shuffle(20).cache().shuffle(9).prefetch(1).batch(8).repeat(3),
      };
      for (const Dataset& dataset : datasets) {
        SCOPED_TRACE(to_string(dataset));
        DatasetIterator iterator(dataset, 0);
        std::vector<DatasetState> states{iterator.save()};
        PlainElements all;
        while (all.size() < 60) {
          const auto batch = iterator.next();
          if (!batch) break;
          all.push_back(plain(*batch));
          states.push_back(iterator.save());
        }
        for (const int world : {1, 2, 3, 5}) {
          SCOPED_TRACE(world);
          const size_t first = world == 1 || all.empty() ? 0 : random() % all.size();
          const ReadTogether got = read_together(world, dataset, states[first], std::ssize(sizes),
                                                 all.size() - first + (all.size() < 60));
          ASSERT_EQ(got.batches.size(), all.size() - first);
          for (size_t b = 0; b < got.batches.size(); ++b) {
            ASSERT_EQ(got.batches[b][0].values, all[first + b][0].values);
            ASSERT_EQ(got.batches[b], all[first + b]);
            ASSERT_EQ(got.states[b], text_of_state(states[first + b + 1]));
          }
          for (size_t b = 0; b < got.batches.size(); ++b) {
            std::vector<int64_t> of_shards(sizes.size());
            for (const int32_t label : got.batches[b][1].values)
              ++of_shards[static_cast<size_t>(label / 1000)];
            EXPECT_EQ(got.of_shards[b], of_shards);
          }
        }
      }
      PlainElements by_formula;
      for (const auto& batch : read_together(3, data.batch(10), {}, std::ssize(sizes), 100).batches) {
        for (const int32_t label : batch[1].values)
          by_formula.push_back({{{2}, {label, -label}}, {{}, {label}}});
      }
      EXPECT_EQ(by_formula, shards.expected());
    }
  }
}

}  // namespace
}  // namespace espalier
