// A step that is rewritten for replicas, against sums over what each of them would find alone.
#include "strategy/combine_replicas.h"

#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "base/format.h"
#include "eager/observations.h"
#include "espalier/espalier.h"
#include "ir/graph.h"
#include "strategy/replicas.h"

namespace espalier {
namespace {

// What a program gives, by name.
using Named = std::map<std::string, Tensor>;

// A step whose results `body` names, combined as `options` say. Its variables are made before.
class CombinedStep {
 public:
  using Body = std::function<NamedTensors(std::span<const Tensor>)>;
  CombinedStep(Body body, CombineOptions options)
      : world_(options.world),
        program_(
            [this, body, options](std::span<const TensorType> types, bool again, const std::string&) {
              std::vector<NamedType> arguments;
              for (const TensorType& type : types) arguments.push_back({cat("arg", arguments.size()), type});
              std::vector<TracedObservation> observations;
              TracedGraph step = trace_graph("step", again, arguments, [&](std::span<const Tensor> in) {
                const ObservationScope scope;
                NamedTensors results = body(in);
                observations = name_observations(scope, results);
                return results;
              });
              step.observations = observations;
              TracedGraph combined = combine_replicas(options).run(step, again).program;
              names_ = combined.result_names();
              return combined;
            },
            {.name = "step"}) {}

  // On each replica, with arguments of its own.
  std::vector<Named> operator()(const std::vector<std::vector<Tensor>>& arguments) const {
    const strategy::Mirrored replicas({.devices = world_});
    std::vector<Named> out;
    for (const std::vector<Tensor>& results : replicas.replicas()->run_each(program_, arguments)) {
      Named& named = out.emplace_back();
      for (size_t i = 0; i < results.size(); ++i) named[names_.at(i)] = results[i];
    }
    return out;
  }
  std::shared_ptr<const Graph> graph(const std::vector<Tensor>& arguments) const {
    return program_.graph(arguments);
  }

 private:
  int world_;
  mutable std::vector<std::string> names_;  // of its results, since the trace
  TracedFunction program_;
};

// A loss, its parts, and gradients, of rows and weights; what is neither stays the replica's own.
NamedTensors step_of_rows(std::span<const Tensor> in) {
  const Tensor &x = in[0], &weight = in[1];
  const Tensor sum = reduce_sum(x * weight, {0}), of_weights = reduce_sum(weight, {0});
  return {{"loss_sum", sum},
          {"loss_weight", of_weights},
          {"loss", sum / of_weights},
          {"loss_sum/0", sum * 3},
          {"gradient/kernel", broadcast_in_dim(reshape(sum, {1}), {4}, {0})},
          {"gradient/bias", reshape(of_weights, {1})},
          {"own", sum}};
}

TEST(CombineReplicas, AStepIsThatOfTheRowsOfAll) {
  for (const int world : {1, 2, 3, 5}) {
    const CombinedStep step(step_of_rows, {.world = world});
    std::vector<std::vector<Tensor>> rows;
    float sum = 0, weight = 0;
    for (int rank = 0; rank < world; ++rank) {
      // The last one has rows of no weight.
      const float of_rank = rank == world - 1 && world > 1 ? 0 : 0.5f * static_cast<float>(rank + 1);
      const std::vector<float> x{static_cast<float>(rank + 1), 2, static_cast<float>(-rank)};
      rows.push_back({Tensor::of(x), Tensor::of(std::vector<float>(3, of_rank))});
      for (const float value : x) sum += value * of_rank;
      weight += 3 * of_rank;
    }
    const std::vector<Named> all = step(rows);
    ASSERT_EQ(std::ssize(all), world);
    for (int rank = 0; rank < world; ++rank) {
      const Named& found = all[static_cast<size_t>(rank)];
      // All are of few bits, so that sums are exact.
      EXPECT_EQ(found.at("loss_sum").item<float>(), sum);
      EXPECT_EQ(found.at("loss_weight").item<float>(), weight);
      EXPECT_EQ(found.at("loss").item<float>(), sum / weight);
      EXPECT_EQ(found.at("loss_sum/0").item<float>(), 3 * sum);
      EXPECT_EQ(found.at("gradient/kernel").to_vector<float>(), std::vector<float>(4, sum));
      EXPECT_EQ(found.at("gradient/bias").to_vector<float>(), std::vector<float>(1, weight));
      const auto x = rows[static_cast<size_t>(rank)][0].to_vector<float>();
      const float own = rows[static_cast<size_t>(rank)][1].to_vector<float>()[0];
      EXPECT_EQ(found.at("own").item<float>(), (x[0] + x[1] + x[2]) * own) << "no gradient and no loss";
    }
  }
}

TEST(CombineReplicas, ALossOfNoWeightIsNothing) {
  const CombinedStep step(step_of_rows, {.world = 2});
  const std::vector<Tensor> none{full({3}, 7), full({3}, 0)};
  for (const Named& found : step({none, none})) EXPECT_EQ(found.at("loss").item<float>(), 0);
}

TEST(CombineReplicas, NamesSayWhatAddsUp) {
  for (const char* sum : {"loss_sum", "loss_weight", "loss_sum/0", "loss_sum/a/b"})
    EXPECT_TRUE(is_loss_sum(sum)) << sum;
  for (const char* other : {"loss", "loss_sums", "loss_weight/0", "gradient/loss_sum", ""})
    EXPECT_FALSE(is_loss_sum(other)) << other;
}

// The names of results that each all_reduce of a step takes, by their sizes, in order.
std::vector<std::vector<int64_t>> sizes_in_buckets(const std::vector<std::pair<int64_t, DType>>& gradients,
                                                   const CombineOptions& options) {
  const CombinedStep step(
      [&](std::span<const Tensor> in) {
        NamedTensors out = step_of_rows(in);
        std::erase_if(out, [](const NamedTensor& each) { return is_gradient(each.name); });
        for (const auto& [size, dtype] : gradients)
          out.push_back({cat("gradient/", out.size()),
                         convert(broadcast_in_dim(slice(in[0], {0}, {1}), {size}, {0}), dtype)});
        return out;
      },
      options);
  const auto graph = step.graph({full({3}, 1), full({3}, 1)});
  std::vector<std::vector<int64_t>> out;
  for (const Node& node : graph->nodes()) {
    if (node.op->name != std::string_view("all_reduce")) continue;
    auto& sizes = out.emplace_back();
    for (const ValueId input : graph->inputs(node)) sizes.push_back(graph->type(input).elements());
  }
  return out;
}

// The last gradients first; a bucket takes gradients until it holds its bytes, the first one fewer.
TEST(CombineReplicas, GradientsTravelInBuckets) {
  using Sizes = std::vector<std::vector<int64_t>>;
  constexpr DType kFloat = DType::kF32, kHalf = DType::kBF16;
  const auto of = [&](const std::vector<int64_t>& sizes) {
    std::vector<std::pair<int64_t, DType>> out;
    for (const int64_t size : sizes) out.emplace_back(size, kFloat);
    return out;
  };
  // In bytes: 400, 800, 1200, 40.
  const auto some = of({100, 200, 300, 10});
  EXPECT_EQ(sizes_in_buckets(some, {.world = 2}), (Sizes{{10, 300, 200, 100}}));
  EXPECT_EQ(sizes_in_buckets(some, {.world = 2, .first_bucket = 1, .bucket = 1}),
            (Sizes{{10}, {300}, {200}, {100}}));
  EXPECT_EQ(sizes_in_buckets(some, {.world = 2, .first_bucket = 40, .bucket = 1200}),
            (Sizes{{10}, {300}, {200, 100}}));
  EXPECT_EQ(sizes_in_buckets(some, {.world = 2, .first_bucket = 41, .bucket = 801}),
            (Sizes{{10, 300}, {200, 100}}));
  EXPECT_EQ(sizes_in_buckets(some, {.world = 2, .first_bucket = 41, .bucket = 800}),
            (Sizes{{10, 300}, {200}, {100}}));
  // Each dtype has its own.
  EXPECT_EQ(sizes_in_buckets({{100, kFloat}, {7, kHalf}, {200, kFloat}, {8, kHalf}}, {.world = 2}),
            (Sizes{{8, 7}, {200, 100}}));
}

// Each rounds its own, the sum is made in f32 and rounded: 1 + 2^-9 is 1 then, and 257 is 256.
TEST(CombineReplicas, GradientsTravelInSixteenBitsWhereTheyAreTold) {
  const auto sums = [](DType travel, std::vector<float> of_ranks) {
    const CombinedStep step(step_of_rows, {.world = static_cast<int>(of_ranks.size()), .travel = travel});
    std::vector<std::vector<Tensor>> rows;
    for (const float value : of_ranks) rows.push_back({Tensor::of<float>({value}), Tensor::of<float>({1})});
    std::vector<float> out;
    for (const Named& found : step(rows)) {
      out.push_back(found.at("gradient/kernel").to_vector<float>()[3]);
      EXPECT_EQ(found.at("gradient/kernel").dtype(), DType::kF32);
      // A loss is no gradient.
      EXPECT_EQ(found.at("loss_sum").item<float>(), std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0f));
    }
    return out;
  };
  const float little = 1 + 0x1p-9f;
  EXPECT_EQ(sums(DType::kF32, {little, 256}), std::vector<float>(2, 257 + 0x1p-9f));
  EXPECT_EQ(sums(DType::kBF16, {little, 256}), std::vector<float>(2, 256));
  // 1 + 256 + 1 is 258, where a sum in bfloat16 would stay at 256.
  EXPECT_EQ(sums(DType::kBF16, {1, 256, 1}), std::vector<float>(3, 258));
}

// What replicas observe of their rows is combined as it says, for each in the order of ranks.
TEST(CombineReplicas, ObservationsAreCombinedAsTheySay) {
  const Variable total(full({2}, 0), {.name = "total"}), most(full({2}, 0), {.name = "most"}),
      mean(full({2}, 0), {.name = "mean"}), equal(full({2}, 0), {.name = "equal"}),
      last(full({2}, 0), {.name = "last"});
  const auto body = [&](std::span<const Tensor> in) {
    const Tensor &x = in[0], &weight = in[1];
    observe({.variables = {total}, .increments = {x}, .combination = Combination::kSum});
    observe({.variables = {most}, .increments = {x}, .combination = Combination::kMaximum});
    observe({.variables = {mean},
             .increments = {x, reduce_sum(weight, {0})},
             .combination = Combination::kMean,
             .fold = [](std::span<const Tensor>, std::span<const Tensor> increments) {
               return std::vector<Tensor>{increments[0]};
             }});
    observe({.variables = {equal}, .increments = {x}, .combination = Combination::kEqual});
    // Not commutative, so that an order shows.
    observe({.variables = {last},
             .increments = {x},
             .combination = Combination::kJoint,
             .combine = [](std::span<const Tensor> a, std::span<const Tensor> b) {
               return std::vector<Tensor>{a[0] * 10 + b[0]};
             }});
    return step_of_rows(in);
  };
  const CombinedStep step(body, {.world = 3});
  std::vector<std::vector<Tensor>> rows;
  for (const float value : {1.0f, 4.0f, 2.0f})
    rows.push_back({Tensor::of<float>({value, -value}), Tensor::of<float>({value, value})});
  for (const Named& found : step(rows)) {
    const auto observed = [&](const char* name) {
      return found.at(cat("observation/", name)).to_vector<float>();
    };
    EXPECT_EQ(observed("total"), (std::vector<float>{7, -7}));
    EXPECT_EQ(observed("most"), (std::vector<float>{4, -1}));
    // Weights are 2, 8 and 4: (2 * 1 + 8 * 4 + 4 * 2) / 14.
    EXPECT_NEAR(observed("mean")[0], 3, 1e-6);
    EXPECT_EQ(observed("equal"), (std::vector<float>{1, -1}));
    EXPECT_EQ(observed("last"), (std::vector<float>{142, -142}));
  }
}

}  // namespace
}  // namespace espalier
