// What functions gather, broadcast and wait for inside of Strategy::run(), in each way, against what is
// written out here.
#include <chrono>
#include <limits>
#include <mutex>

#include "base/rule_of_test.h"
#include "ir/op.h"
#include "place/ways_test.h"

namespace espalier {
namespace {

// One weight a column.
double weight_of(int64_t column) { return static_cast<double>(column % 5 + 1); }
Tensor column_weights() {
  std::vector<float> out;
  for (int64_t i = 0; i < kWidth; ++i) out.push_back(static_cast<float>(weight_of(i)));
  return Tensor::of(out);
}

// The rows of each, and a number that is its own: 1, 2, ...
OfReplicas numbered_rows(const Way& way, int64_t rows, int64_t turn) {
  OfReplicas out = rows_for(way, rows, turn);
  for (size_t i = 0; i < out.size(); ++i) out[i].push_back(full({}, static_cast<double>(i + 1)));
  return out;
}
double sum_of_numbers(size_t replicas) { return static_cast<double>(replicas * (replicas + 1)) / 2; }

// What is gathered, what a variable keeps of it, and the gradient of a loss that each weighs by its number.
OnProcess gathering(int64_t) {
  Variable kept(zeros({kWidth}), {.name = "kept"});
  const auto body = [=](std::span<const Tensor> in) mutable {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor all = strategy::all_gather(in[0]);
    const Tensor loss = in[1] * reduce_sum(all * column_weights(), {0, 1});
    kept.assign(reduce_sum(all, {0}));
    const Tensor beside = strategy::all_gather(slice(in[0], {0, 0}, {2, 2}), -1);
    return std::vector<Tensor>{all, tape.gradient(loss, {in[0]})[0], beside,
                               strategy::all_gather(compare(in[0], 0, Comparison::kGT))};
  };
  return {{kept}, TracedFunction(body, {.name = "gathering"})};
}

class Gathered : public OnEachWay {};
ESPALIER_ON_WAYS(Gathered, {{"shards4", "refused: LogicalShards.DoNotGather"},
                            {"shards4devices2", "refused: LogicalShards.DoNotGather"}});

TEST_P(Gathered, AllHaveWhatEachHas) {
  const OnWay gather(*way, gathering);
  for (const int64_t turn : {0, 1, 2}) {
    const OfReplicas results = gather(numbered_rows(*way, kRows, turn));
    Numbers all, positive, beside;
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < kWidth; ++column) all.push_back(number_at(row, column, turn));
    for (const double number : all) positive.push_back(number > 0);
    for (int64_t row = 0; row < 2; ++row)
      for (size_t i = 0; i < replicas; ++i)
        for (int64_t column = 0; column < 2; ++column)
          beside.push_back(number_at(rows_of(i).first + row, column, turn));
    for (size_t i = 0; i < replicas; ++i) {
      EXPECT_EQ(results[i][0].shape(), (Shape{kRows, kWidth}));
      EXPECT_EQ(numbers_in(results[i][0]), all) << "replica " << i;
      Numbers gradient;
      for (int64_t row = rows_of(i).first; row < rows_of(i).second; ++row)
        for (int64_t column = 0; column < kWidth; ++column)
          gradient.push_back(sum_of_numbers(replicas) * weight_of(column));
      EXPECT_EQ(numbers_in(results[i][1]), gradient) << "replica " << i;
      EXPECT_EQ(numbers_in(results[i][2]), beside) << "replica " << i;
      EXPECT_EQ(results[i][3].dtype(), DType::kBool);
      EXPECT_EQ(numbers_in(results[i][3]), positive) << "replica " << i;
    }
    EXPECT_EQ(gather.held(0), sums_of(kRows, turn));
  }
}

class Broadcast : public OnEachWay {
 protected:
  // From this replica, as above.
  static auto from(size_t root) {
    return [root](int64_t) -> OnProcess {
      Variable kept(zeros({kWidth}), {.name = "kept"});
      const auto body = [=](std::span<const Tensor> in) mutable {
        GradientTape tape;
        const Tensor own = slice(in[0], {0, 0}, {1, kWidth});
        tape.watch(own);
        const Tensor first = strategy::broadcast(own, static_cast<int>(root));
        const Tensor loss = in[1] * reduce_sum(first * column_weights(), {0, 1});
        kept.assign(reshape(first, {kWidth}));
        // The bits, of those that no sum keeps, too.
        const Tensor odd = Tensor::of<float>(
            {-0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
        const Tensor bits = bitcast_convert(
            strategy::broadcast(
                select(compare(in[1], static_cast<double>(root + 1), Comparison::kEQ), odd, full({3}, 7)),
                static_cast<int>(root)),
            DType::kU32);
        return std::vector<Tensor>{first, tape.gradient(loss, {own})[0], bits};
      };
      return {{kept}, TracedFunction(body, {.name = "broadcasting"})};
    };
  }
};
ESPALIER_ON_WAYS(Broadcast, {{"shards4", "refused: LogicalShards.DoNotGather"},
                             {"shards4devices2", "refused: LogicalShards.DoNotGather"}});

TEST_P(Broadcast, AllHaveWhatTheRootHas) {
  for (size_t root = 0; root < replicas; ++root) {
    const OnWay broadcast(*way, from(root));
    const OfReplicas results = broadcast(numbered_rows(*way, kRows, 3));
    const int64_t row = rows_of(root).first;
    const Numbers wanted = rows_times(3, {row, row + 1}, all_of(1));
    for (size_t i = 0; i < replicas; ++i) {
      EXPECT_EQ(numbers_in(results[i][0]), wanted) << "replica " << i << " of root " << root;
      Numbers gradient(kWidth);
      for (int64_t column = 0; i == root && column < kWidth; ++column)
        gradient[static_cast<size_t>(column)] = sum_of_numbers(replicas) * weight_of(column);
      EXPECT_EQ(numbers_in(results[i][1]), gradient) << "replica " << i << " of root " << root;
      EXPECT_EQ(numbers_in(results[i][2]), (Numbers{0x80000000, 0x7f800000, 0x7fc00000}));
    }
    EXPECT_EQ(broadcast.held(0), wanted);
  }
}

TEST_P(Broadcast, ARootThatIsNotThereIsRefused) {
  const OnWay broadcast(*way, from(replicas));
  EXPECT_EQ(rule_of([&] { broadcast(numbered_rows(*way, kRows, 0)); }), "strategy.root");
}

class Together : public OnEachWay {};
ESPALIER_ON_WAYS(Together, {{"shards4", "refused: LogicalShards.DoNotGather"},
                            {"shards4devices2", "refused: LogicalShards.DoNotGather"}});

// Some begin before others have ended, and some are done as they begin.
TEST_P(Together, EachHasWhatIsItsOwn) {
  const OnWay all(*way, [this](int64_t) -> OnProcess {
    const int last = static_cast<int>(replicas) - 1;
    return {{},
            TracedFunction(
                [last](std::span<const Tensor> in) {
                  const Tensor own = slice(in[0], {0, 0}, {1, kWidth});
                  return std::vector<Tensor>{strategy::all_gather(own), strategy::broadcast(own, last),
                                             strategy::all_reduce({own})[0], strategy::broadcast(own),
                                             strategy::all_gather(own * 2)};
                },
                {.name = "together"})};
  });
  for (const int64_t turn : {0, 1, 2}) {
    const OfReplicas results = all(rows_for(*way, kRows, turn));
    std::vector<Numbers> rows;
    Numbers gathered, sum(kWidth);
    for (size_t i = 0; i < replicas; ++i) {
      rows.push_back(rows_times(turn, {rows_of(i).first, rows_of(i).first + 1}, all_of(1)));
      gathered.insert(gathered.end(), rows[i].begin(), rows[i].end());
      sum = sum + rows[i];
    }
    for (const std::vector<Tensor>& own : results) {
      EXPECT_EQ(numbers_in(own[0]), gathered);
      EXPECT_EQ(numbers_in(own[1]), rows.back());
      EXPECT_EQ(numbers_in(own[2]), sum);
      EXPECT_EQ(numbers_in(own[3]), rows.front());
      EXPECT_EQ(numbers_in(own[4]), gathered * 2);
    }
  }
}

// An op that says when a replica comes to it, and is slow on the last one.
struct Notes {
  struct Note {
    int64_t place, replica;
  };
  static inline std::mutex mutex;
  static inline std::vector<Note> all;
  static inline int64_t slow = -1;
};
struct NoteAttributes final : Attributes {
  int64_t place = 0, process = 0;
  void fields(FieldVisitor& visitor) override {
    visitor.field("place", place);
    visitor.field("process", process);
  }
};
void infer_note(InferContext& c) {
  c.require_inputs(1);
  c.result(c.in(0));
}
void eval_note(EvalContext& c) {
  if (const size_t bytes = c.out(0).type->bytes()) std::memcpy(c.out(0).data, c.in(0).data, bytes);
  const auto& own = c.attributes<NoteAttributes>();
  const int64_t replica = own.process + grid_place(c.context).replica;
  if (own.place == 0 && replica == Notes::slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::lock_guard lock(Notes::mutex);
  Notes::all.push_back({own.place, replica});
}
const OpDef op_note = {
    .name = "note",
    .doc = "Its operand; Notes has that it was come to.",
    .attributes = make_attributes<NoteAttributes>,
    .infer = infer_note,
    .eval = eval_note,
    .fallible = true,
};
Tensor note(const Tensor& x, int64_t place, int64_t process) {
  auto attributes = std::make_shared<NoteAttributes>();
  attributes->place = place;
  attributes->process = process;
  return emit(op_note, attributes, {&x, 1});
}

class Barriers : public OnEachWay {};
ESPALIER_ON_WAYS(Barriers, {});

// Nobody is behind it before all were there.
TEST_P(Barriers, WaitForAll) {
  const OnWay waits(*way, [](int64_t process) -> OnProcess {
    return {{},
            TracedFunction(
                [process](std::span<const Tensor> in) {
                  const Tensor here = strategy::barrier(note(in[0], 0, process));
                  return std::vector<Tensor>{note(here, 1, process)};
                },
                {.name = "waiting"})};
  });
  // On devices of processes the rank is told by the process, and not by the place.
  Notes::slow = static_cast<int64_t>(replicas) - 1;
  for (int64_t turn = 0; turn < 4; ++turn) {
    Notes::all.clear();
    const OfReplicas results = waits(rows_for(*way, kRows, turn));
    for (size_t i = 0; i < replicas; ++i)
      EXPECT_EQ(numbers_in(results[i][0]), rows_times(turn, rows_of(i), all_of(1))) << "it is the value";
    const std::lock_guard lock(Notes::mutex);
    ASSERT_EQ(Notes::all.size(), 2 * replicas);
    for (size_t i = 0; i < Notes::all.size(); ++i)
      EXPECT_EQ(Notes::all[i].place, i < replicas ? 0 : 1) << "turn " << turn << ", note " << i;
  }
}

TEST_P(Barriers, HaveTheGradientOfTheirValue) {
  const OnWay waits(*way, [](int64_t) -> OnProcess {
    return {{},
            TracedFunction(
                [](std::span<const Tensor> in) {
                  GradientTape tape;
                  tape.watch(in[0]);
                  return tape.gradient(reduce_sum(square(strategy::barrier(in[0])), {0, 1}), {in[0]});
                },
                {.name = "waiting"})};
  });
  const OfReplicas results = waits(rows_for(*way, kRows, 0));
  for (size_t i = 0; i < replicas; ++i)
    EXPECT_EQ(numbers_in(results[i][0]), rows_times(0, rows_of(i), all_of(2)));
}

// Parts of a batch that does not go round.
class UnequalParts : public OnEachWay {
 protected:
  std::string error_of(const TracedFunction::Body& body) {
    const OnWay call(*way, [&](int64_t) -> OnProcess {
      return {{}, TracedFunction(body, {.name = "call"})};
    });
    OfReplicas parts;
    for (size_t i = 0; i < replicas; ++i) parts.push_back({rows_between_of(0, 0, i ? 3 : 2)});
    try {
      call(parts);
    } catch (const Error& error) {
      way->renew();
      return error.what();
    }
    return "nothing";
  }
};
ESPALIER_ON_WAYS(UnequalParts, {{"host", "one replica"},
                                {"device", "one replica"},
                                {"shards4", "refused: LogicalShards.DoNotGather"},
                                {"shards4devices2", "refused: LogicalShards.DoNotGather"}});

TEST_P(UnequalParts, AreNotGathered) {
  const std::string error =
      error_of([](std::span<const Tensor> in) { return std::vector<Tensor>{strategy::all_gather(in[0])}; });
  const auto says = [&](const char* what) { EXPECT_NE(error.find(what), std::string::npos) << error; };
  if (way->kind.processes > 1) {
    // Strategy::run() says it before the call: RunCalls.PartsOfOtherSizesAreNotGathered.
    says("rank 1 calls all_gather of 3600 f32 where rank 0 calls all_gather of 2400 f32");
  } else if (way->kind.interpreted || !way->devices.empty()) {
    says("argument 0 is f32[2,1200] for the first and f32[3,1200] for another");
  } else {
    says(
        "the next collective of replica 1 is all_gather f32[3,1200], and that of replica 0 is all_gather "
        "f32[2,1200]");
    says("Strategy::gather() takes others, behind the call");
  }
}

TEST(LogicalShards, DoNotGather) {
  const std::unique_ptr<Way> way = way_of(kWays.at(6));
  ASSERT_TRUE(way->kind.shards);
  for (const bool gathers : {true, false}) {
    const OnWay call(*way, [&](int64_t) -> OnProcess {
      return {{},
              TracedFunction(
                  [gathers](std::span<const Tensor> in) {
                    return std::vector<Tensor>{gathers ? strategy::all_gather(in[0])
                                                       : strategy::broadcast(in[0])};
                  },
                  {.name = "call"})};
    });
    EXPECT_EQ(rule_of([&] { call(rows_for(*way, 12, 0)); }), "shards.collective");
  }
}

// One function for any number of them: what is traced for two is not run by three.
TEST(OneFunction, GathersAmongAnyNumber) {
  Variable kept(full({}, 0), {.name = "kept"});
  const TracedFunction gather(
      [=](std::span<const Tensor> in) mutable {
        const Tensor all = strategy::all_gather(in[0]);
        kept.assign(reduce_sum(all, {0}));
        return std::vector<Tensor>{all, strategy::broadcast(in[0], 0)};
      },
      {.name = "gather"});
  for (const size_t count : {2, 3, 1, 2, 3}) {
    const strategy::Mirrored strategy({.devices = static_cast<int>(count)});
    PerReplica x;
    Numbers wanted;
    for (size_t i = 0; i < count; ++i) {
      x.values.push_back(full({2}, static_cast<double>(i + 1)));
      wanted.insert(wanted.end(), 2, static_cast<double>(i + 1));
    }
    for (const bool scoped : {false, true}) {
      std::optional<Strategy::Scope> scope;
      if (scoped) scope.emplace(strategy.replicas());
      const std::vector<PerReplica> out = strategy.run(gather, {x});
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(numbers_in(out[0].values[i]), wanted);
        EXPECT_EQ(numbers_in(out[1].values[i]), (Numbers{1, 1}));
      }
      EXPECT_EQ(kept.read().item<float>(), static_cast<float>(2 * sum_of_numbers(count)));
    }
  }
}

}  // namespace
}  // namespace espalier
