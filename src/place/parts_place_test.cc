#include "place/parts_place.h"

#include <map>
#include <set>
#include <thread>

#include "base/rule_of_test.h"
#include "espalier/control.h"
#include "place/ways_test.h"

namespace espalier {
namespace {

constexpr int kParts = 4;

std::vector<Tensor> drawn_parts(int parts) {
  Generator generator(11);
  std::vector<Tensor> out;
  for (int i = 0; i < parts; ++i) out.push_back(generator.normal({6, 40}));
  return out;
}

// Two sums over all rows, the second one of what the first has to say.
TracedFunction normalizing(const Variable& variable) {
  return TracedFunction(
      [w = variable](std::span<const Tensor> in) mutable {
        const Tensor scaled = in[0] * tanh(w.read());
        const Tensor total = all_reduce({reduce_sum(scaled, {0})})[0];
        const Tensor apart = scaled - total * 0.01;
        const Tensor squares = all_reduce({reduce_sum(apart * apart, {0})})[0];
        w.assign(w.read() - squares * 0.001);
        return std::vector<Tensor>{apart / sqrt(squares)};
      },
      {.name = "normalizing"});
}

// The tree, written out.
Tensor sum_by_pairs(const std::vector<Tensor>& of) {
  EXPECT_EQ(of.size(), 4u);
  return (of[0] + of[1]) + (of[2] + of[3]);
}

struct Bits {
  std::vector<std::vector<float>> results;  // of each part
  std::vector<float> w;
  bool operator==(const Bits&) const = default;
};

// Two calls, one behind the other.
std::vector<Bits> bits_of_ranks(int world, int parts) {
  const std::vector<Tensor> x = drawn_parts(parts);
  const auto ranks = local_communicators(world);
  std::vector<Bits> out(static_cast<size_t>(world));
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < out.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const RunContext context({.threads = 1, .communicator = world > 1 ? ranks[rank].get() : nullptr});
      const PartsPlace place(parts, context);
      const RunScope scope(context);
      Variable w(full({40}, 0.7), {.name = "w"});
      const TracedFunction f = normalizing(w);
      const ShardRange owned = place.owned(static_cast<int>(rank));
      OfReplicas arguments;
      for (int part = owned.first; part < owned.last; ++part)
        arguments.push_back({x[static_cast<size_t>(part)]});
      if (arguments.empty()) arguments.push_back({x[0]});
      for (int turn = 0; turn < 2; ++turn) {
        for (const std::vector<Tensor>& each : f.call_each(arguments, place, context)) {
          EXPECT_EQ(each[0].defined(), owned.count() > 0);
          if (each[0].defined()) out[rank].results.push_back(each[0].to_vector<float>());
        }
      }
      out[rank].w = w.read().to_vector<float>();
    });
  }
  threads.clear();
  return out;
}

TEST(LogicalShardsOfAFunction, GiveTheBitsOfOneTreeOnAnyNumberOfRanks) {
  const std::vector<Tensor> x = drawn_parts(kParts);
  Bits wanted;
  Tensor w = full({40}, 0.7);
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<Tensor> scaled, sums, apart, squares;
    for (const Tensor& part : x) {
      scaled.push_back(part * tanh(w));
      sums.push_back(reduce_sum(scaled.back(), {0}));
    }
    for (const Tensor& part : scaled) {
      apart.push_back(part - sum_by_pairs(sums) * 0.01);
      squares.push_back(reduce_sum(apart.back() * apart.back(), {0}));
    }
    for (const Tensor& part : apart)
      wanted.results.push_back((part / sqrt(sum_by_pairs(squares))).to_vector<float>());
    w = w - sum_by_pairs(squares) * 0.001;
  }
  wanted.w = w.to_vector<float>();
  for (const int world : {1, 2, 3}) {
    SCOPED_TRACE(world);
    std::vector<std::vector<float>> first, second;
    for (const Bits& each : bits_of_ranks(world, kParts)) {
      EXPECT_EQ(each.w, wanted.w);
      const auto half = each.results.begin() + static_cast<std::ptrdiff_t>(each.results.size() / 2);
      first.insert(first.end(), each.results.begin(), half);
      second.insert(second.end(), half, each.results.end());
    }
    first.insert(first.end(), second.begin(), second.end());
    EXPECT_EQ(first, wanted.results);
  }
}

TEST(LogicalShardsOfAFunction, ARankWithoutOneHasTheNewValuesOfAll) {
  const Bits one = bits_of_ranks(1, 2)[0];
  for (const Bits& each : bits_of_ranks(3, 2)) EXPECT_EQ(each.w, one.w);
}

// Stages of each part run once for all that devices run together.
TEST(LogicalShardsOfAFunction, WhatDependsOnNoRowsRunsOnce) {
  for (const int devices : {1, 2, 3}) {
    SCOPED_TRACE(devices);
    std::map<std::string, int> runs;
    FakeDeviceOptions options{.replicas = static_cast<size_t>(devices)};
    options.running = [&](const Graph& graph) { ++runs[graph.name()]; };
    const FakeDevicePtr device = FakeDevice::create(std::move(options));
    const RunContext context({.threads = 1, .device = device.get(), .world = devices});
    const PartsPlace place(kParts, context);
    const RunScope scope(context);
    Variable w(full({40}, 0.7), {.name = "w"});
    const TracedFunction f = normalizing(w);
    OfReplicas arguments;
    for (const Tensor& part : drawn_parts(kParts)) arguments.push_back({part});
    f.call_each(arguments, place, context);
    // Once: what each step shares of weights and sums, and the new weight; for each part: up to the first
    // sums, up to the second ones, and the results.
    std::multiset<int> of_stages;
    for (const auto& [name, count] : runs)
      if (name.starts_with("normalizing/")) of_stages.insert(count);
    const int each = (kParts + devices - 1) / devices;
    EXPECT_EQ(of_stages, (std::multiset<int>{1, 1, 1, 1, each, each, each}));
    EXPECT_EQ(runs["both"], 2 * (kParts - 1));
  }
}

// Of two sizes, neither of which goes round, and of none. Sums of whole numbers have no rounding.
TEST(LogicalShardsOfAFunction, HaveTheirOwnRowsOnDevicesThatRunSeveral) {
  const std::vector<int64_t> sizes{2, 3, 2, 0, 3, 2, 3};
  const auto number = [](size_t part, int64_t row, int64_t turn) {
    return static_cast<float>(static_cast<int64_t>(part) * 10 + row * 3 - turn * 7);
  };
  for (const int devices : {1, 2, 3, 8}) {
    SCOPED_TRACE(devices);
    const FakeDevicePtr device = FakeDevice::create({.replicas = static_cast<size_t>(devices)});
    const RunContext context({.threads = 1, .device = device.get(), .world = devices});
    const PartsPlace place(static_cast<int>(sizes.size()), context);
    const RunScope scope(context);
    Variable w(full({}, 1), {.name = "w"});
    const TracedFunction f(
        [&](std::span<const Tensor> in) {
          const Tensor sum = all_reduce({reduce_sum(in[0] + w.read(), {0})})[0];
          const Tensor squares = all_reduce({reduce_sum(in[0] * in[0] + sum, {0})})[0];
          w.assign(w.read() + sum);
          return std::vector<Tensor>{in[0] + convert(replica_id(), DType::kF32) * 1000, squares};
        },
        {});
    float w_before = 1;
    for (int64_t turn = 0; turn < 2; ++turn) {
      OfReplicas arguments;
      float sum = 0, squares = 0;
      for (size_t part = 0; part < sizes.size(); ++part) {
        std::vector<float> rows;
        for (int64_t row = 0; row < sizes[part]; ++row) rows.push_back(number(part, row, turn));
        for (const float row : rows) sum += row + w_before;
        arguments.push_back({Tensor::of(rows, {sizes[part]})});
      }
      for (size_t part = 0; part < sizes.size(); ++part)
        for (int64_t row = 0; row < sizes[part]; ++row)
          squares += number(part, row, turn) * number(part, row, turn) + sum;
      const OfReplicas found = f.call_each(arguments, place, context);
      for (size_t part = 0; part < sizes.size(); ++part) {
        std::vector<float> wanted = arguments[part][0].to_vector<float>();
        for (float& row : wanted) row += static_cast<float>(part) * 1000;
        EXPECT_EQ(found[part][0].to_vector<float>(), wanted) << part;
        EXPECT_EQ(found[part][1].item<float>(), squares) << part;
      }
      EXPECT_EQ(w.read().item<float>(), w_before + sum);
      w_before += sum;
    }
  }
}

TEST(LogicalShardsOfAFunction, RefuseOtherMeetings) {
  const RunContext context({.threads = 1});
  const PartsPlace place(2, context);
  const auto rule = [&](const TracedFunction::Body& body) {
    const TracedFunction f(body, {});
    const Tensor x = full({2, 3}, 1);
    return rule_of([&] { f.call_each(OfReplicas{{x}, {x}}, place, context); });
  };
  EXPECT_EQ(rule([](auto in) { return all_reduce({in[0]}); }), "nothing");
  EXPECT_EQ(rule([](auto in) { return all_gather({in[0]}, 0, 2); }), "shards.collective");
  EXPECT_EQ(rule([](auto in) {
              return all_reduce({in[0]}, Reducer::kSum, {.replica_groups = flat_groups({{0}, {1}})});
            }),
            "shards.collective");
  const auto sums_where = [](const Tensor& chosen_by, const Tensor& x) {
    return std::vector<Tensor>{cond(
        reduce_max(chosen_by, {0, 1}) > 0, [&] { return all_reduce({x})[0]; }, [&] { return x; })};
  };
  EXPECT_EQ(rule([&](auto in) { return sums_where(all_reduce({in[0]})[0], in[0]); }), "shards.collective");
  // Of some shards and not of others.
  EXPECT_EQ(rule([&](auto in) { return sums_where(in[0], in[0]); }), "strategy.control");
}

}  // namespace
}  // namespace espalier
