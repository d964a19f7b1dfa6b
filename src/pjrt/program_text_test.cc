// What of a graph XLA would compute otherwise than StableHLO says is refused before it is compiled.
#include "pjrt/program_text.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "ops/reduce_window.h"

namespace espalier::pjrt {
namespace {

std::string refusal_of_window(double initial, int64_t low, int64_t high) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {4}});
    Window window;
    window.sizes = {2};
    window.low = {low};
    window.high = {high};
    builder.result("y", reduce_window(x, full({}, initial), window, Reducer::kSum));
  }
  return rule_of([&] { program_text(*builder.finish()); });
}

// XLA counts the initial value once a window, StableHLO once a padded element, too.
TEST(ProgramText, APaddedWindowBeginsWithTheIdentity) {
  for (const auto& [low, high] : {std::pair{1, 0}, {0, 1}, {1, 1}}) {
    EXPECT_EQ(refusal_of_window(3, low, high), "device.program") << low << " and " << high;
    EXPECT_EQ(refusal_of_window(0, low, high), "nothing") << low << " and " << high;
  }
  EXPECT_EQ(refusal_of_window(3, 0, 0), "nothing");
}

// The program of a graph with the argument x, or the sentence that refuses it.
template <class F>
std::string text_of(const TensorType& type, const F& f, size_t replicas = 0) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const std::vector<Tensor> results = f(builder.argument("x", type));
    for (size_t i = 0; i < results.size(); ++i) builder.result(cat("y", i), results[i]);
  }
  try {
    return program_text(*builder.finish(), {}, replicas);
  } catch (const UnsupportedError& error) {
    return cat(error.rule(), ": ", error.message());
  }
}
size_t times(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}
const TensorType kFour{DType::kF32, {4}};

TEST(ProgramText, GroupsHaveReplicasThatRun) {
  const auto sum_of = [](std::vector<std::vector<int64_t>> groups, size_t replicas) {
    return text_of(
        kFour, [&](const Tensor& x) { return all_reduce({x}, Reducer::kSum, {flat_groups(groups)}); },
        replicas);
  };
  EXPECT_EQ(sum_of({{0, 1}, {2}}, 2), "device.program: all_reduce: its groups have replica 2, and 2 run");
  EXPECT_EQ(sum_of({{0, 1}}, 1), "device.program: all_reduce: its groups have replica 1, and 1 runs");
  EXPECT_EQ(times(sum_of({{0, 1}, {2}}, 3), "stablehlo.all_reduce"), 1u);
  EXPECT_EQ(times(sum_of({{0, 1}, {2}}, 0), "stablehlo.all_reduce"), 1u) << "of nobody knows how many";
  const CollectiveGroups groups{flat_groups({{0, 1}})};
  const auto exchange = [&](const CollectiveGroups& of) {
    return text_of(
        kFour, [&](const Tensor& x) { return all_to_all({x}, 0, 0, 2, of); }, 2);
  };
  EXPECT_EQ(exchange({}),
            "device.program: all_to_all: without replica groups XLA does not know how many exchange");
  EXPECT_EQ(times(exchange(groups), "stablehlo.all_to_all"), 1u);
  // Pairs are no groups.
  const auto permuted = [](const Tensor& x) { return collective_permute({x}, {0, 5}); };
  EXPECT_EQ(times(text_of(kFour, permuted, 2), "stablehlo.collective_permute"), 1u);
}

TEST(ProgramText, OfSeveralOperandsSumsAndGathersAloneAreOneOp) {
  const CollectiveGroups groups{flat_groups({{0, 1}})};
  const auto count = [&](const char* op, auto f) {
    return times(text_of(
                     kFour,
                     [&](const Tensor& x) {
                       return f(std::vector<Tensor>{x, x * 2});
                     },
                     2),
                 op);
  };
  using Both = const std::vector<Tensor>&;
  EXPECT_EQ(count("stablehlo.all_reduce", [&](Both t) { return all_reduce(t, Reducer::kSum, groups); }), 1u);
  EXPECT_EQ(count("stablehlo.all_gather", [&](Both t) { return all_gather(t, 0, 2, groups); }), 1u);
  EXPECT_EQ(count("stablehlo.all_to_all", [&](Both t) { return all_to_all(t, 0, 0, 2, groups); }), 2u);
  // XLA's CPUs and TPUs have no broadcast; of a part of the replicas it stays one.
  const auto broadcast = [](Both t) { return collective_broadcast(t, {flat_groups({{1, 0}})}); };
  EXPECT_EQ(count("stablehlo.collective_broadcast", broadcast), 0u);
  EXPECT_EQ(count("stablehlo.all_gather", broadcast), 2u);
  EXPECT_EQ(count("stablehlo.collective_broadcast",
                  [&](Both t) { return collective_broadcast(t, {flat_groups({{1}})}); }),
            2u);
  EXPECT_EQ(count("stablehlo.collective_permute", [&](Both t) { return collective_permute(t, {0, 1}); }), 2u);
}

TEST(ProgramText, AWindowThatIsScatteredMayNotHangOver) {
  const auto scattered = [](int64_t size) {
    return text_of(kFour, [&](const Tensor& x) {
      const IndexAxes axes{.window = {0}, .index_map = {0}, .index_vector = 0};
      return std::vector<Tensor>{scatter_add(x, Tensor::of<int32_t>({3}), full({size}, 1), axes)};
    });
  };
  EXPECT_EQ(scattered(2),
            "device.program: scatter: a window of 2 elements on axis 0 of f32[4] may hang over its edge, "
            "where XLA drops all of it and StableHLO what is outside");
  EXPECT_EQ(times(scattered(1), "\"stablehlo.scatter\"("), 1u);
}

TEST(ProgramText, AStrideThatCountsForNothingIsOne) {
  const auto sliced = [](int64_t start, int64_t limit, int64_t stride) {
    return text_of({DType::kF32, {9}}, [&](const Tensor& x) {
      return std::vector<Tensor>{slice(x, {start}, {limit}, {stride})};
    });
  };
  EXPECT_EQ(sliced(2, 7, 5), sliced(2, 3, 1));
  EXPECT_NE(sliced(2, 7, 4), sliced(2, 3, 1)) << "two elements";
  EXPECT_NE(sliced(2, 7, 5), sliced(3, 4, 1));
}

// XLA folds it otherwise where it sees a constant.
TEST(ProgramText, AnAngleOfAConstantIsHidden) {
  const auto barriers = [](auto f) {
    return times(text_of(kFour, [&](const Tensor& x) { return std::vector<Tensor>{f(x)}; }),
                 "stablehlo.optimization_barrier");
  };
  EXPECT_EQ(barriers([](const Tensor& x) { return atan2(x, x); }), 0u);
  EXPECT_EQ(barriers([](const Tensor& x) { return atan2(x, Tensor::of<float>({1, 2, 3, 4})); }), 1u);
  EXPECT_EQ(barriers([](const Tensor& x) { return atan2(Tensor::of<float>({1, 2, 3, 4}), x); }), 1u);
  EXPECT_EQ(barriers([](const Tensor& x) { return atan2(x, 2); }), 1u) << "a number that is spread";
}

}  // namespace
}  // namespace espalier::pjrt
