// What gives its memory away in each way, and what keeps its values.
#include <set>

#include "base/rule_of_test.h"
#include "place/ways_test.h"

namespace espalier {
namespace {

// w += the rows' sum, a second one too.
OnProcess adding(int64_t) {
  Variable w = stored_variable(1, "w"), v = stored_variable(2, "v");
  const auto body = [=](std::span<const Tensor> in) mutable {
    const Tensor total = sum_of_all(in[0]);
    w.assign_add(total);
    v.assign(v.read() - total * 2);
    return std::vector<Tensor>{w.read() * 2};
  };
  return {{w, v}, TracedFunction(body, {.name = "adding"})};
}

class Donation : public OnEachWay {
 protected:
  size_t donations() const {
    size_t out = 0;
    for (const FakeDevicePtr& device : way->devices) out += device->donations();
    return out;
  }
};
ESPALIER_ON_WAYS(Donation, {});

class DonatedMemory : public Donation {};
ESPALIER_ON_WAYS(DonatedMemory, {{"interpreter2", "what donates nothing is what others are held against"},
                                 {"interpreter3", "what donates nothing is what others are held against"}});

TEST_P(DonatedMemory, TakesTheNewValuesOfVariables) {
  const OnWay add(*way, adding);
  std::set<const void*> of_w, of_v;
  for (int64_t turn = 0; turn < 6; ++turn) {
    const size_t before = donations();
    add(rows_for(*way, kRows, turn));
    if (!way->devices.empty()) {
      // Of shards the sums of the first ones, too, to those of more.
      const size_t sums = way->kind.shards ? replicas - 1 : 0;
      EXPECT_EQ(donations() - before, 2 * way->kind.processes + sums) << "in turn " << turn;
      continue;
    }
    of_w.insert(add.of(0).variables[0].state()->value.bytes());
    of_v.insert(add.of(0).variables[1].state()->value.bytes());
  }
  if (!way->devices.empty()) return;
  if (replicas == 1) {
    EXPECT_EQ(of_w.size(), 1u);
    EXPECT_EQ(of_v.size(), 1u);
  } else {
    // New values lie in the memory of the ones before the last, in any order.
    of_w.insert(of_v.begin(), of_v.end());
    EXPECT_LE(of_w.size(), 4u);
  }
}

TEST_P(Donation, AHeldValueKeepsItsNumbers) {
  const OnWay add(*way, adding);
  Numbers w = all_of(1), v = all_of(2);
  std::vector<std::pair<std::vector<Tensor>, Numbers>> held;
  const auto hold = [&](size_t variable, const Numbers& wanted) {
    std::vector<Tensor> of_processes;
    for (const OnProcess& process : add.processes())
      of_processes.push_back(process.variables[variable].read());
    held.emplace_back(std::move(of_processes), wanted);
  };
  hold(0, w);
  for (int64_t turn = 0; turn < 8; ++turn) {
    add(rows_for(*way, kRows, turn));
    w = w + sums_of(kRows, turn);
    v = v + sums_of(kRows, turn) * -2;
    if (turn == 1 || turn == 3) hold(0, w);
    if (turn == 2) hold(1, v);
    if (turn == 5) held.erase(held.begin() + 1);  // whose memory is free from here on
    for (const auto& [tensors, wanted] : held) {
      for (const Tensor& tensor : tensors)
        for (const Numbers& each : numbers_of_replicas(tensor)) EXPECT_EQ(each, wanted) << "in turn " << turn;
    }
    EXPECT_EQ(add.all_held(), (std::vector<Numbers>{w, v}));
  }
}

// A result is the user's, whatever becomes of the variable that has the same value.
TEST_P(Donation, AResultThatIsANewValueKeepsItsNumbers) {
  const OnWay add(*way, [](int64_t) {
    Variable w = stored_variable(1, "w");
    const auto body = [=](std::span<const Tensor> in) mutable {
      const Tensor old = w.read();
      w.assign_add(sum_of_all(in[0]));
      return std::vector<Tensor>{w.read(), old};
    };
    return OnProcess{{w}, TracedFunction(body, {})};
  });
  Numbers w = all_of(1);
  std::vector<std::pair<OfReplicas, std::pair<Numbers, Numbers>>> held;
  for (int64_t turn = 0; turn < 5; ++turn) {
    OfReplicas results = add(rows_for(*way, kRows, turn));
    const Numbers before = std::exchange(w, w + sums_of(kRows, turn));
    held.push_back({std::move(results), {w, before}});
    for (const auto& [given, wanted] : held) {
      for (const std::vector<Tensor>& each : given) {
        EXPECT_EQ(numbers_in(each[0]), wanted.first);
        EXPECT_EQ(numbers_in(each[1]), wanted.second);
      }
    }
  }
}

// A cache of each replica, which comes back with the sum of all rows on it.
OnProcess with_cache(int64_t) {
  const auto body = [](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] + sum_of_all(in[1])}; };
  return {{}, TracedFunction(body, {.name = "with_cache", .donate = {0}})};
}

TEST_P(Donation, AnArgumentIsGivenAndComesBack) {
  const OnWay step(*way, with_cache);
  std::vector<Tensor> caches;
  for (size_t i = 0; i < replicas; ++i) caches.push_back(stored(static_cast<double>(i)));
  const void* const first = caches[0].bytes();
  Numbers sum = all_of(0);
  for (int64_t turn = 0; turn < 5; ++turn) {
    OfReplicas arguments = rows_for(*way, kRows, turn);
    for (size_t i = 0; i < replicas; ++i)
      arguments[i].insert(arguments[i].begin(), std::exchange(caches[i], {}));
    const OfReplicas results = step(arguments);
    sum = sum + sums_of(kRows, turn);
    for (size_t i = 0; i < replicas; ++i) {
      caches[i] = results[i][0];
      EXPECT_EQ(numbers_in(caches[i]), sum + all_of(static_cast<double>(i))) << "in turn " << turn;
      EXPECT_EQ(rule_of([&] { arguments[i][0].bytes(); }), "tensor.donated") << "in turn " << turn;
    }
  }
  if (way->devices.empty() && replicas == 1) {
    EXPECT_EQ(caches[0].bytes(), first);
  }
}

// As a loop that begins with the same cache each time.
TEST_P(Donation, ArgumentsOfEqualNumbersAreGivenEachTime) {
  const OnWay step(*way, with_cache);
  for (int64_t turn = 0; turn < 4; ++turn) {
    OfReplicas arguments = rows_for(*way, kRows, 3);
    for (auto& each : arguments) each.insert(each.begin(), stored(5));
    const OfReplicas results = step(arguments);
    for (const auto& each : results) EXPECT_EQ(numbers_in(each[0]), all_of(5) + sums_of(kRows, 3));
  }
}

// By a variable, as another argument, or as one of another replica.
TEST_P(Donation, AnArgumentThatOthersHoldIsCopied) {
  const OnWay step(*way, with_cache);
  Variable holder(stored(4), {.name = "holder"});
  const Tensor shared = stored(6), view = make_concrete(shared.node()->literal());
  for (int64_t turn = 0; turn < 3; ++turn) {
    OfReplicas arguments = rows_for(*way, kRows, turn);
    for (auto& each : arguments) each.insert(each.begin(), holder.read());
    for (const auto& each : step(arguments))
      EXPECT_EQ(numbers_in(each[0]), all_of(4) + sums_of(kRows, turn)) << turn;
    EXPECT_EQ(numbers_in(holder.read()), all_of(4)) << turn;
  }
  OfReplicas arguments = rows_for(*way, kRows, 1);
  // Tensors of one array: each process gives one of its own away.
  for (auto& each : arguments) each.insert(each.begin(), make_concrete(shared.node()->literal()));
  for (const auto& each : step(arguments)) EXPECT_EQ(numbers_in(each[0]), all_of(6) + sums_of(kRows, 1));
  EXPECT_EQ(numbers_in(view), all_of(6));
}

// One is read behind the write into the other; the second time it lies where its program left it.
TEST_P(Donation, OneThatIsGivenTwiceIsCopied) {
  const OnWay add(*way, [](int64_t) {
    const auto body = [](std::span<const Tensor> in) {
      const Tensor total = sum_of_all(in[2]), next = in[0] + total;
      return std::vector<Tensor>{next, reverse(in[1], {0}) + reduce_max(next, {0})};
    };
    return OnProcess{{}, TracedFunction(body, {.donate = {0}})};
  });
  std::vector<Tensor> both;
  for (size_t i = 0; i < replicas; ++i) both.push_back(counting(static_cast<double>(i)));
  for (int64_t turn = 0; turn < 3; ++turn) {
    OfReplicas arguments = rows_for(*way, kRows, turn);
    std::vector<Numbers> before;
    for (size_t i = 0; i < replicas; ++i) {
      before.push_back(numbers_in(both[i]));
      arguments[i].insert(arguments[i].begin(), {both[i], both[i]});
    }
    const OfReplicas results = add(arguments);
    for (size_t i = 0; i < replicas; ++i) {
      const Numbers next = before[i] + sums_of(kRows, turn);
      EXPECT_EQ(numbers_in(results[i][0]), next) << "in turn " << turn;
      std::ranges::reverse(before[i]);
      EXPECT_EQ(numbers_in(results[i][1]), before[i] + all_of(std::ranges::max(next))) << "in turn " << turn;
      both[i] = results[i][0];
    }
  }
}

}  // namespace
}  // namespace espalier
