// Collectives begin as soon as what they send is written, and end before the first of their results is read.
#include <algorithm>

#include "base/rule_of_test.h"
#include "espalier/ops.h"
#include "ir/trip_test.h"
#include "ops/collective.h"
#include "tests/as_on_grid.h"

namespace espalier {
namespace {

// More than what ranks give each other as they begin, so that memory is read and written until they end.
const TensorType kSquare{DType::kF32, {64, 64}};

// A rank among two that writes down what is asked of it: the other one gives zeros, so sums are what it gave.
class Recorder final : public Communicator, public RunEvents {
 public:
  int rank() const override { return 0; }
  int world() const override { return 2; }
  uint32_t any(uint32_t bits) override { return bits; }
  uint64_t start(const Collective& what, std::byte*, std::byte*) override {
    if (refuses_begins) throw RunError("comm.verdict", "a test wants it so");
    log.push_back(cat("begin ", what.name));
    names.emplace_back(what.name);
    return names.size() - 1;
  }
  void done(uint64_t ticket, ThreadPool&) override {
    EXPECT_EQ(ticket, ended++) << "in the order in which they began";
    log.push_back(cat("end ", names.at(ticket)));
    if (refuses_ends) throw RunError("comm.verdict", "a test wants it so");
  }
  void on_begin(const Activity& activity) override { tell("begin", activity); }
  void on_end(const Activity& activity) override { tell("end", activity); }
  void on_step(const StepEvent& event) override {
    if (event.op != "all_reduce" && event.op != "all_gather") log.emplace_back(event.op);
  }
  size_t place(const std::string& line) const {
    return static_cast<size_t>(std::ranges::find(log, line) - log.begin());
  }
  bool refuses_begins = false, refuses_ends = false;
  std::vector<std::string> log, names, told;
  size_t ended = 0;

 private:
  void tell(const char* which, const Activity& activity) {
    EXPECT_EQ(activity.kind, Activity::Kind::kExchange);
    told.push_back(cat(which, " ", activity.what, " ", activity.bytes));
  }
};

Tensor sum_named(const char* name, const Tensor& x) {
  const NameScope scope(name);
  return all_reduce({x})[0];
}

TEST(CollectiveOverlap, WhatIsWrittenSetsOffBeforeWhatComesBehind) {
  // As a step has them: all gradients, all sums, all updates.
  const auto graph = graph_of(
      [](const std::vector<Tensor>& in) {
        const Tensor first = dot(in[0], in[1]), second = cholesky(in[0]), third = exponential(second);
        const Tensor a = sum_named("a", first), b = sum_named("b", third);
        return std::vector{sqrt(a), b + a};
      },
      {kSquare, kSquare});
  const auto plan = compile(graph, {.check = true});
  Recorder ranks;
  const RunContext context({.threads = 1, .communicator = &ranks, .events = &ranks});
  const Literal one = Literal::splat(kSquare, 0.5f).expanded();
  run(*plan, std::vector{one, one}, context);
  EXPECT_LT(ranks.place("dot_general"), ranks.place("begin a"));
  EXPECT_LT(ranks.place("begin a"), ranks.place("cholesky"));
  EXPECT_LT(ranks.place("exponential"), ranks.place("begin b"));
  EXPECT_LT(ranks.place("begin b"), ranks.place("end a"));
  EXPECT_LT(ranks.place("end a"), ranks.place("sqrt"));
  EXPECT_EQ(ranks.ended, 2u);
}

TEST(CollectiveOverlap, WhatIsReadElsewhereSetsOffBehindThat) {
  const auto graph = graph_of(
      [](const std::vector<Tensor>& in) {
        const Tensor sent = in[0] * 2, turned = transpose(sent, {1, 0});
        const Tensor b = sum_named("b", turned);
        return std::vector{sum_named("a", sent), b};
      },
      {kSquare});
  Recorder ranks;
  const RunContext context({.threads = 1, .communicator = &ranks, .events = &ranks});
  run(*compile(graph, {.check = true}), std::vector{Literal::splat(kSquare, 0.5f).expanded()}, context);
  EXPECT_EQ(ranks.log, (std::vector<std::string>{"multiply", "transpose", "begin b", "begin a", "end b",
                                                 "end a", "copy", "copy"}));
}

// What the first one needs is computed first, wherever it stands.
TEST(CollectiveOverlap, WhatTheNextOneNeedsWaits) {
  const auto graph = graph_of(
      [](const std::vector<Tensor>& in) {
        const Tensor slow = cholesky(in[0]), quick = transpose(in[0], {1, 0});
        const Tensor a = sum_named("a", quick);
        return std::vector{a, sum_named("b", slow)};
      },
      {kSquare});
  Recorder ranks;
  const RunContext context({.threads = 1, .communicator = &ranks, .events = &ranks});
  run(*compile(graph, {.check = true}), std::vector{Literal::splat(kSquare, 0.5f).expanded()}, context);
  EXPECT_LT(ranks.place("begin a"), ranks.place("cholesky"));
}

TEST(CollectiveOverlap, ThoseThatHaveBegunAreEndedWhereARunFails) {
  const auto graph = graph_of(
      [](const std::vector<Tensor>& in) {
        const Tensor a = sum_named("a", in[0] + 1), second = trip(in[0] * 2, 0);
        const Tensor b = sum_named("b", second);
        return std::vector{a, b};
      },
      {kSquare});
  const auto plan = compile(graph, {.check = true});
  const Literal one = Literal::splat(kSquare, 0.5f).expanded();
  Recorder fails;
  Trips::arm(0);
  {
    const RunContext context({.threads = 1, .communicator = &fails});
    EXPECT_EQ(rule_of([&] { run(*plan, std::vector{one}, context); }), "run.failed");
  }
  EXPECT_EQ(fails.log, (std::vector<std::string>{"begin a", "end a"}));
  Trips::disarm();
  Recorder passes;
  const RunContext context({.threads = 1, .communicator = &passes});
  run(*plan, std::vector{one}, context);
  EXPECT_EQ(passes.log, (std::vector<std::string>{"begin a", "begin b", "end a", "end b"}));
}

TEST(CollectiveOverlap, EachBeginIsToldAndItsEndAlsoWhereARunFails) {
  // Both have begun where the first trip is, and the first one where the second is.
  const auto plan = compile(graph_of(
                                [](const std::vector<Tensor>& in) {
                                  const Tensor a = sum_named("a", in[0] + 1), second = trip(in[0] * 2, 0);
                                  const Tensor b = sum_named("b", second);
                                  return std::vector{a, b, trip(exponential(second), 1)};
                                },
                                {kSquare}),
                            {.check = true});
  const auto told_of = [&](Recorder&& ranks, int trip) {
    if (trip >= 0) Trips::arm(trip);
    const RunContext context({.threads = 1, .communicator = &ranks, .events = &ranks});
    const std::string rule =
        rule_of([&] { run(*plan, std::vector{Literal::splat(kSquare, 0.5f).expanded()}, context); });
    Trips::disarm();
    EXPECT_EQ(rule == "nothing", trip < 0 && !ranks.refuses_begins && !ranks.refuses_ends);
    return ranks.told;
  };
  const auto refusing = [](bool begins) {
    Recorder out;
    (begins ? out.refuses_begins : out.refuses_ends) = true;
    return out;
  };
  // 64 x 64 numbers of f32.
  const std::vector<std::string> first{"begin a 16384", "end a 16384"},
      both{"begin a 16384", "begin b 16384", "end a 16384", "end b 16384"};
  EXPECT_EQ(told_of({}, -1), both);
  EXPECT_EQ(told_of({}, 0), first);
  EXPECT_EQ(told_of({}, 1), both);
  EXPECT_EQ(told_of(refusing(true), -1), first);
  EXPECT_EQ(told_of(refusing(false), -1), both);
  EXPECT_EQ(told_of(refusing(false), 1), both);
}

// A rank among two with equal values. While a collective is under way its memory holds NaN, and whoever reads
// or writes it is found.
class Guard final : public Communicator {
 public:
  int rank() const override { return 0; }
  int world() const override { return 2; }
  uint32_t any(uint32_t bits) override { return bits; }
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override {
    const bool sums = what.kind == Collective::Kind::kAllReduce;
    const size_t bytes = what.count * what.element;
    Call call{.given = {data, data + bytes},
              .from = data,
              .to = sums ? data : out,
              .bytes = sums ? bytes : 2 * bytes};
    std::memset(call.to, 0xff, call.bytes);
    calls.push_back({what, call});
    calls.back().first.reduce = what.reduce;
    return calls.size() - 1;
  }
  void done(uint64_t ticket, ThreadPool&) override {
    auto& [what, call] = calls.at(ticket);
    for (size_t i = 0; i < call.bytes; ++i) ASSERT_EQ(call.to[i], std::byte{0xff}) << "somebody wrote there";
    if (call.to == call.from) {
      const std::byte* const given[] = {call.given.data(), call.given.data()};
      what.reduce(call.to, given, 2, what.count);
      return;
    }
    ASSERT_EQ(std::memcmp(call.from, call.given.data(), call.given.size()), 0) << "somebody wrote there";
    std::memcpy(call.to, call.given.data(), call.given.size());
    std::memcpy(call.to + call.given.size(), call.given.data(), call.given.size());
  }

 private:
  struct Call {
    std::vector<std::byte> given;
    std::byte *from, *to;
    size_t bytes;
  };
  std::vector<std::pair<Collective, Call>> calls;
};

// Values that are read before and behind the collective that takes them, sums of sums, values that several of
// them take, results that nobody reads.
Program random_program(unsigned seed) {
  return [seed](const std::vector<Tensor>& in) {
    std::mt19937 random(seed);
    std::vector<Tensor> values = in;
    const auto any_value = [&] { return values[random() % values.size()]; };
    for (int i = 0; i < 25; ++i) {
      switch (random() % 8) {
        case 0:
          values.push_back(maximum(any_value() * 0.5f, any_value()));
          break;
        case 1:
        case 2: {
          std::vector<Tensor> sent;
          for (unsigned n = 1 + random() % 3; n > 0; --n) sent.push_back(any_value());
          const NameScope scope(cat("sum", i));
          for (const Tensor& sum : all_reduce(sent)) values.push_back(sum);
          break;
        }
        case 3: {
          const NameScope scope(cat("all", i));
          values.push_back(reduce_max(reshape(all_gather({any_value()}, 0, 2)[0], {2, 64, 64}), {0}));
          break;
        }
        case 4:
          values.push_back(negate(any_value()));
          break;
        case 5:
          values.push_back(transpose(any_value(), {1, 0}));
          break;
        default:
          values.push_back(any_value() - any_value());
      }
    }
    return std::vector<Tensor>(values.end() - 4, values.end());
  };
}

TEST(CollectiveOverlap, RandomProgramsAreWhatTheGridSays) {
  for (unsigned seed = 0; seed < 60; ++seed)
    expect_as_on_grid(cat("seed ", seed), random_program(seed), {kSquare, kSquare}, 2);
}

TEST(CollectiveOverlap, NobodyTouchesWhatIsUnderWay) {
  const TensorType row{DType::kF32, {64, 64}};
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto graph = graph_of(random_program(seed), {row, row});
    std::vector<Literal> inputs;
    for (const float first : {-3.0f, 5.0f}) {
      std::vector<float> values(64 * 64);
      for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 97) / 8;
      inputs.push_back(Literal::copy(row, values.data()));
    }
    const std::vector<Literal> wanted = interpret_grid(*graph, {{inputs}, {inputs}})[0][0];
    Guard ranks;
    const RunContext context({.threads = 1, .communicator = &ranks});
    const std::vector<Literal> results = run(*compile(graph, {.check = true}), inputs, context);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Literal x = results[i].expanded(), y = wanted[i].expanded();
      ASSERT_EQ(std::memcmp(x.raw(), y.raw(), x.raw_bytes()), 0) << "result " << i;
    }
  }
}

}  // namespace
}  // namespace espalier
