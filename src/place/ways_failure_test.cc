// A call that fails has changed nothing, in each way; and calls of two contexts at once.
#include <atomic>
#include <cstring>

#include "base/rule_of_test.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "place/ways_test.h"

namespace espalier {
namespace {

// An op that fails in one place of one replica, of threads that run at once.
struct StumbleAttributes final : Attributes {
  int64_t place = 0, process = 0;
  void fields(FieldVisitor& visitor) override {
    visitor.field("place", place);
    visitor.field("process", process);
  }
};
struct Stumbles {
  static inline std::atomic<int64_t> place = -1, replica = -1;
};
void infer_stumble(InferContext& c) {
  c.require_inputs(1);
  c.result(c.in(0));
}
void eval_stumble(EvalContext& c) {
  if (const size_t bytes = c.out(0).type->bytes()) std::memcpy(c.out(0).data, c.in(0).data, bytes);
  const auto& own = c.attributes<StumbleAttributes>();
  if (own.place == Stumbles::place && own.process + grid_place(c.context).replica == Stumbles::replica)
    c.failure->set("a test wants it so");
}
const OpDef op_stumble = {
    .name = "stumble",
    .doc = "Its operand; fails where Stumbles says.",
    .attributes = make_attributes<StumbleAttributes>,
    .infer = infer_stumble,
    .eval = eval_stumble,
    .fallible = true,
};
// `process`: of workers, who are replicas of their own.
Tensor stumble(const Tensor& x, int64_t place, int64_t process) {
  auto attributes = std::make_shared<StumbleAttributes>();
  attributes->place = place;
  attributes->process = process;
  return emit(op_stumble, attributes, {&x, 1});
}

// Three fences with updates before, between and behind them.
OnProcess fenced_by(int64_t process) {
  Variable a = stored_variable(1, "a"), b = stored_variable(2, "b"),
           count(Tensor::scalar(int64_t{0}), {.name = "count"});
  const auto body = [=](std::span<const Tensor> in) mutable {
    count.assign_add(1);
    const Tensor first = all_reduce({stumble(reduce_sum(in[0], {0}), 0, process)})[0];
    a.assign_add(first);
    const Tensor second = all_reduce({stumble(reduce_sum(in[0] * 2, {0}) + first, 1, process)})[0];
    b.assign_add(second);
    return std::vector<Tensor>{stumble(in[0] + second, 2, process)};
  };
  return {{a, b, count}, TracedFunction(body, {.name = "fenced"})};
}

class Failures : public OnEachWay {
 protected:
  ~Failures() override { Stumbles::place = -1; }
  // One turn that works, and what is held behind it.
  void expect_turn(const OnWay& fenced, int64_t turn) {
    const OfReplicas results = fenced(rows_for(*way, kRows, turn));
    const Numbers first = sums_of(kRows, turn), second = first * (2.0 + static_cast<double>(replicas));
    wanted_[0] = wanted_[0] + first;
    wanted_[1] = wanted_[1] + second;
    wanted_[2][0] += 1;
    EXPECT_EQ(fenced.all_held(), wanted_);
    for (size_t i = 0; i < replicas; ++i) {
      Numbers rows = rows_times(turn, rows_of(i), all_of(1));
      for (size_t k = 0; k < rows.size(); ++k) rows[k] += second[k % static_cast<size_t>(kWidth)];
      EXPECT_EQ(numbers_in(results[i][0]), rows);
    }
  }
  void expect_nothing_changed(const OnWay& fenced) const { EXPECT_EQ(fenced.all_held(), wanted_); }
  // What a failed turn of two results says.
  std::string error_of(const OnWay& fenced, int64_t turn) const {
    try {
      fenced(rows_for(*way, kRows, turn));
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.what());
    }
    return "nothing";
  }
  std::vector<Numbers> wanted_{all_of(1), all_of(2), {0}};
};

class Fenced : public Failures {};
// A device runs late: its whole program is one that may fail behind the call, which src/ir/device.h says.
ESPALIER_ON_WAYS(Fenced, {{"device", "an op fails behind the call: RefusedRuns"},
                          {"devices2", "an op fails behind the call: RefusedRuns"}});

TEST_P(Fenced, ACallThatFailsHasChangedNothing) {
  const OnWay fenced(*way, fenced_by);
  int64_t turn = 0;
  expect_turn(fenced, turn++);
  expect_turn(fenced, turn++);
  // The last stage of a device fails behind the call.
  const int64_t fences = way->devices.empty() ? 3 : 2;
  for (int64_t place = 0; place < fences; ++place) {
    for (const size_t replica : {replicas - 1, size_t{0}}) {
      // An op does not know of which part it is.
      if (way->kind.shards && replica > 0) continue;
      SCOPED_TRACE(cat("place ", place, ", replica ", replica));
      Stumbles::replica = static_cast<int64_t>(replica);
      Stumbles::place = place;
      const std::string error = error_of(fenced, turn);
      Stumbles::place = -1;
      EXPECT_TRUE(error.starts_with(way->devices.empty() ? "run.failed: " : "device.run: ")) << error;
      EXPECT_NE(error.find("a test wants it so"), std::string::npos) << error;
      expect_nothing_changed(fenced);
      way->renew();
      expect_turn(fenced, turn++);
    }
  }
}

// A held value, and one that was lent to a failed call, are the same behind it.
TEST_P(Fenced, AnArgumentToBeDonatedIsKeptWhereTheCallFails) {
  const OnWay step(*way, [](int64_t process) {
    const auto body = [=](std::span<const Tensor> in) {
      const Tensor next = in[0] + sum_of_all(in[1]);
      return std::vector<Tensor>{next, all_reduce({stumble(next * 2, 0, process)})[0]};
    };
    return OnProcess{{}, TracedFunction(body, {.donate = {0}})};
  });
  std::vector<Tensor> caches;
  for (size_t i = 0; i < replicas; ++i) caches.push_back(stored(static_cast<double>(i + 1)));
  const auto call = [&] {
    OfReplicas arguments = rows_for(*way, kRows, 0);
    for (size_t i = 0; i < replicas; ++i) arguments[i].insert(arguments[i].begin(), caches[i]);
    return step(arguments);
  };
  Stumbles::replica = way->kind.shards ? 0 : static_cast<int64_t>(replicas - 1);
  Stumbles::place = 0;
  EXPECT_NE(rule_of(call), "nothing");
  Stumbles::place = -1;
  for (size_t i = 0; i < replicas; ++i) EXPECT_EQ(numbers_in(caches[i]), all_of(static_cast<double>(i + 1)));
  way->renew();
  const OfReplicas results = call();
  for (size_t i = 0; i < replicas; ++i)
    EXPECT_EQ(numbers_in(results[i][0]), all_of(static_cast<double>(i + 1)) + sums_of(kRows, 0));
}

class RefusedRuns : public Failures {};
ESPALIER_ON_WAYS(RefusedRuns, {{"host", "no device refuses it: Fenced"},
                               {"pools2", "no device refuses it: Fenced"},
                               {"pools3", "no device refuses it: Fenced"},
                               {"shards4", "no device refuses it: Fenced"},
                               {"interpreter2", "no device refuses it: Fenced"},
                               {"interpreter3", "no device refuses it: Fenced"}});

// Of staged programs a stage before the last: the others have gone on behind that.
TEST_P(RefusedRuns, ByADeviceChangeNothing) {
  const OnWay fenced(*way, fenced_by);
  int64_t turn = 0;
  expect_turn(fenced, turn++);
  expect_turn(fenced, turn++);
  const size_t stages = way->kind.processes > 1 ? 2 : 1;
  for (size_t stage = 0; stage < stages; ++stage) {
    for (size_t device = 0; device < way->devices.size(); ++device) {
      SCOPED_TRACE(cat("stage ", stage, ", device ", device));
      size_t runs = 0;
      way->running = [&](size_t which, const Graph&) {
        if (which == device && runs++ == stage) throw DeviceError("device.memory", "a test wants it so");
      };
      const std::string error = error_of(fenced, turn);
      way->running = {};
      EXPECT_TRUE(error.starts_with("device.memory: ")) << error;
      expect_nothing_changed(fenced);
      way->renew();
      expect_turn(fenced, turn++);
    }
  }
}

TEST_P(RefusedRuns, AProgramThatWasNotMadeIsMadeByTheNextCall) {
  for (size_t device = 0; device < way->devices.size(); ++device) {
    SCOPED_TRACE(device);
    const OnWay fenced(*way, fenced_by);
    wanted_ = fenced.all_held();
    std::atomic<size_t> asked = 0;
    way->compiling = [&](size_t which, const Graph&) {
      if (which == device && asked++ == 0) throw DeviceError("device.compile", "a test wants it so");
    };
    const std::string error = error_of(fenced, 0);
    EXPECT_TRUE(error.starts_with("device.compile: ")) << error;
    expect_nothing_changed(fenced);
    way->renew();
    for (int64_t turn = 0; turn < 3; ++turn) expect_turn(fenced, turn);
    way->compiling = {};
  }
}

// What has begun ends in whatever way it does.
class ToldFailures : public Failures {
 protected:
  ActivityCounts counts_;
  const std::unique_ptr<Way> own_ = way_of(GetParam(), &counts_);

  // So many of them, all of which have ended.
  void expect_ended(Activity::Kind kind, size_t count) const {
    EXPECT_EQ(counts_.of(kind).begun, static_cast<int64_t>(count));
    EXPECT_EQ(counts_.of(kind).ended, static_cast<int64_t>(count));
  }
};
ESPALIER_ON_WAYS(ToldFailures, {});

TEST_P(ToldFailures, ARunThatFailsHasItsEnd) {
  const OnWay fenced(*own_, fenced_by);
  size_t runs = 0;
  // Behind the first exchange. A device runs late, and says at once what it refuses.
  own_->running = [&](size_t device, const Graph&) {
    const size_t last = own_->kind.processes > 1 ? 1 : 0;
    if (device == 0 && runs++ == last) throw DeviceError("device.memory", "a test wants it so");
  };
  // An op does not know its shard.
  Stumbles::replica = own_->kind.shards ? 0 : static_cast<int64_t>(replicas - 1);
  Stumbles::place = own_->devices.empty() ? 1 : -1;
  EXPECT_NE(rule_of([&] { fenced(rows_for(*own_, kRows, 0)); }), "nothing");
  Stumbles::place = -1;
  expect_ended(Activity::Kind::kCompile, own_->kind.processes);
  expect_ended(Activity::Kind::kRun, own_->kind.processes);
  for (const auto kind : {Activity::Kind::kExchange, Activity::Kind::kUpload, Activity::Kind::kDownload})
    EXPECT_EQ(counts_.of(kind).begun, counts_.of(kind).ended) << static_cast<int>(kind);
}

class ToldRefusals : public ToldFailures {};
ESPALIER_ON_WAYS(ToldRefusals, {{"host", "it makes any program"}});

TEST_P(ToldRefusals, AProgramThatIsNotMadeHasItsEnd) {
  // Replicas of one program are refused what would differ between them, and a device refuses what it wants.
  const OnWay own(*own_, [&](int64_t) {
    Variable w = stored_variable(1, "w");
    const auto body = [=](std::span<const Tensor> in) mutable {
      w.assign_add(reduce_sum(in[0], {0}));
      return std::vector<Tensor>{in[0]};
    };
    return OnProcess{{w}, TracedFunction(body, {})};
  });
  own_->compiling = [](size_t, const Graph&) { throw DeviceError("device.compile", "a test wants it so"); };
  EXPECT_NE(rule_of([&] { own(rows_for(*own_, kRows, 0)); }), "nothing");
  expect_ended(Activity::Kind::kCompile, own_->kind.processes);
  expect_ended(Activity::Kind::kRun, 0);
}

// A new value of the rows of one replica would be another on each.
class OwnRows : public Failures {};
ESPALIER_ON_WAYS(OwnRows, {{"host", "its rows are all"}, {"device", "its rows are all"}});

TEST_P(OwnRows, GiveNoNewValue) {
  for (const bool place : {false, true}) {
    const OnWay own(*way, [&](int64_t) {
      Variable w = stored_variable(1, "w"), v = stored_variable(2, "v");
      const auto body = [=](std::span<const Tensor> in) mutable {
        w.assign_add(sum_of_all(in[0]));
        v.assign_add(place ? convert(replica_id(), DType::kF32) : reduce_sum(in[0], {0}));
        return std::vector<Tensor>{in[0]};
      };
      return OnProcess{{w, v}, TracedFunction(body, {})};
    });
    EXPECT_EQ(rule_of([&] { own(rows_for(*way, kRows, 0)); }), "strategy.variable") << place;
    EXPECT_EQ(own.all_held(), (std::vector<Numbers>{all_of(1), all_of(2)}));
    way->renew();
  }
}

// What runs at once.

class TwoAtOnce : public OnEachWay {};
ESPALIER_ON_WAYS(TwoAtOnce, {});

// Each in a context of its own and with variables of its own; a variable that none updates is both's.
TEST_P(TwoAtOnce, ContextsShareAVariableThatTheyRead) {
  const Variable scale = stored_variable(2, "scale");
  constexpr int64_t kTurns = 25;
  std::vector<std::string> errors(2);
  const auto run = [&](size_t which) {
    const auto own = way_of(GetParam());
    const auto factor = static_cast<double>(which + 1);
    const OnWay add(*own, [&](int64_t) {
      Variable w = stored_variable(0, "w");
      const auto body = [=](std::span<const Tensor> in) mutable {
        w.assign_add(sum_of_all(in[0] * scale.read()) * factor);
        return std::vector<Tensor>{w.read() + scale.read()};
      };
      return OnProcess{{w}, TracedFunction(body, {})};
    });
    Numbers wanted = all_of(0);
    for (int64_t turn = 0; turn < kTurns; ++turn) {
      const OfReplicas results = add(rows_for(*own, kRows, turn));
      wanted = wanted + sums_of(kRows, turn) * (2 * factor);
      bool right = add.held(0) == wanted;
      for (const auto& each : results) right = right && numbers_in(each[0]) == wanted + all_of(2);
      if (!right) errors[which] += cat(" turn ", turn);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < errors.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          run(i);
        } catch (const std::exception& error) {
          errors[i] = error.what();
        }
      });
    }
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(numbers_in(scale.read()), all_of(2));
}

class SharedUpdates : public OnEachWay {};
ESPALIER_ON_WAYS(SharedUpdates, {{"host", "one thread at a time assigns a variable: espalier/function.h"},
                                 {"pools2", "as the host"},
                                 {"pools3", "as the host"},
                                 {"staged2", "a process has variables of its own"},
                                 {"shards4", "as the host"},
                                 {"interpreter2", "as the host"},
                                 {"interpreter3", "as the host"}});

// As the state of the default generator, of two models on two devices.
TEST_P(SharedUpdates, OfTwoContextsAreAllMade) {
  const Variable both = stored_variable(0, "both");
  constexpr int64_t kTurns = 25;
  std::vector<std::string> errors(2);
  {
    std::vector<std::jthread> threads;
    for (size_t which = 0; which < errors.size(); ++which) {
      threads.emplace_back([&, which] {
        try {
          const auto own = way_of(GetParam());
          const OnWay add(*own, [&](int64_t) {
            const auto body = [shared = both](std::span<const Tensor> in) mutable {
              shared.assign_add(sum_of_all(in[0]));
              return std::vector<Tensor>{in[0]};
            };
            return OnProcess{{}, TracedFunction(body, {})};
          });
          for (int64_t turn = 0; turn < kTurns; ++turn) add(rows_for(*own, kRows, turn));
        } catch (const std::exception& error) {
          errors[which] = error.what();
        }
      });
    }
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  Numbers wanted = all_of(0);
  for (int64_t turn = 0; turn < kTurns; ++turn) wanted = wanted + sums_of(kRows, turn) * 2;
  for (const Numbers& each : numbers_of_replicas(both.state()->value)) EXPECT_EQ(each, wanted);
}

// A function that assigns nothing is called by two threads in one place.
class OnePlace : public OnEachWay {};
ESPALIER_ON_WAYS(OnePlace, {{"staged2", "a communicator is one thread's"}});

TEST_P(OnePlace, TwoThreadsCallAFunctionThatAssignsNothing) {
  const OnWay read(*way, [](int64_t) {
    Variable w = stored_variable(3, "w");
    const auto body = [=](std::span<const Tensor> in) {
      return std::vector<Tensor>{sum_of_all(in[0]) + w.read(), in[0] * w.read()};
    };
    return OnProcess{{w}, TracedFunction(body, {})};
  });
  std::vector<std::string> errors(2);
  {
    std::vector<std::jthread> threads;
    for (size_t which = 0; which < errors.size(); ++which) {
      threads.emplace_back([&, which] {
        try {
          for (int64_t turn = 0; turn < 25; ++turn) {
            const auto mine = turn + 3 * static_cast<int64_t>(which);
            const OfReplicas results = read(rows_for(*way, kRows, mine));
            for (size_t i = 0; i < replicas; ++i) {
              if (numbers_in(results[i][0]) != sums_of(kRows, mine) + all_of(3) ||
                  numbers_in(results[i][1]) != rows_times(mine, rows_of(i), all_of(3)))
                errors[which] += cat(" turn ", turn);
            }
          }
        } catch (const std::exception& error) {
          errors[which] = error.what();
        }
      });
    }
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace espalier
