// Loops of one's own in which each rank calls what a draw has it call. Calls that all make have the sums of
// all; who calls something else than others, or waits for one that does not come, hears so in that call.
// There is never another sum, and nobody waits for ever.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/drawn_test.h"
#include "base/format.h"
#include "base/philox.h"
#include "comm/host.h"
#include "comm/wired_ranks_test.h"
#include "espalier/espalier.h"
#include "launch/control_board.h"
#include "launch/control_scripted_run_test.h"
#include "launch/control_text.h"

namespace espalier {
namespace {

// All that move data move f32[4].
struct Call {
  enum Way { kRun, kByItself, kReduce, kGather, kOwnRows, kWays };
  Way way = kRun;
  std::string function = {};  // of kRun and kByItself
  int form = 0;               // of "pair" the order of its sums, of "scaled" the number that it captures

  float scale() const { return form ? 4 : 2; }
  // Of a function that is called by itself no header tells them apart.
  bool has_forms() const { return way == kRun && (function == "pair" || function == "scaled"); }
  bool operator==(const Call&) const = default;
  std::string text() const {
    constexpr const char* kTexts[] = {"run ", "", "reduce", "gather", "rows of its own"};
    return cat(kTexts[way], function, form ? "'" : "");
  }
};

// What one rank does, and how it ends.
struct Script {
  std::vector<Call> calls;
  bool throws = false;

  std::string text() const {
    std::string out;
    for (const Call& call : calls) out += cat(call.text(), ", ");
    return out + (throws ? "throws" : "returns");
  }
};

Call drawn_call(Philox& random) {
  static const std::vector<std::string> names = {"a", "b", "pair", "kept", "scaled"};
  // Most calls are of functions, which is where equal sizes could be taken for each other.
  Call out{.way = random.below(4) == 0   ? static_cast<Call::Way>(random.below(Call::kWays))
                  : random.below(2) == 0 ? Call::kRun
                                         : Call::kByItself};
  if (out.way == Call::kRun || out.way == Call::kByItself) out.function = names[random.below(names.size())];
  return out;
}

// One program for all, from which at most two ranks, or one of them twice, depart.
std::vector<Script> drawn_scripts(Philox& random, size_t world) {
  Script script;
  for (uint64_t i = 0, calls = 4 + random.below(5); i < calls; ++i)
    script.calls.push_back(drawn_call(random));
  std::vector<Script> out(world, script);
  for (uint64_t faults = random.below(4) == 0 ? 0 : 1 + random.below(2); faults > 0; --faults) {
    Script& odd = out[random.below(world)];
    std::vector<Call>& calls = odd.calls;
    const size_t place = random.below(calls.size());
    const auto at = calls.begin() + static_cast<std::ptrdiff_t>(place);
    switch (random.below(7)) {
      case 0:
        calls.erase(at);
        break;
      case 1:
        std::swap(*at, calls[(place + 1) % calls.size()]);
        break;
      case 2:
        *at = drawn_call(random);
        break;
      case 3:
        calls.insert(at, drawn_call(random));
        break;
      case 4: {
        const auto other = std::find_if(at, calls.end(), [](const Call& call) { return call.has_forms(); });
        if (other != calls.end()) other->form = 1;
        break;
      }
      case 5:
        odd.throws = true;
        [[fallthrough]];
      default:
        calls.resize(std::max<size_t>(place, 1));
    }
  }
  return out;
}

// What a rank gives to its call at a place: numbers that sums keep exactly, each other ones.
class Values {
 public:
  Values(Philox& random, size_t world) : world_(world) {
    for (size_t i = 0; i < world * kPlaces; ++i) drawn_.push_back(random.below(1 << 15));
  }
  std::vector<float> of(size_t rank, size_t place) const {
    std::vector<float> out(4);
    std::iota(out.begin(), out.end(), static_cast<float>(drawn_[rank * kPlaces + place]));
    return out;
  }
  // Rows of its own: of some ranks more than of others, of some none.
  std::vector<std::vector<float>> rows(size_t rank, size_t place) const {
    std::vector<std::vector<float>> out(drawn_[rank * kPlaces + place] % 4);
    for (size_t i = 0; i < out.size(); ++i) out[i] = of(rank, (place + i + 1) % kPlaces);
    return out;
  }
  size_t world() const { return world_; }

 private:
  static constexpr size_t kPlaces = 16;
  size_t world_;
  std::vector<uint64_t> drawn_;
};

void add(std::vector<float>& to, const std::vector<float>& what, float times = 1) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += times * what[i];
}

// What the call at this place gives, which all ranks make.
std::vector<float> expected(const Call& call, const Values& values, size_t place) {
  std::vector<float> out;
  if (call.way == Call::kGather) {
    for (size_t rank = 0; rank < values.world(); ++rank)
      for (const float value : values.of(rank, place)) out.push_back(value);
    return out;
  }
  std::vector<float> sum(4);
  if (call.way == Call::kOwnRows) {
    // Two rows an element; who is at the end goes on with none.
    for (size_t from = 0, left = 1; left > 0; from += 2) {
      left = 0;
      std::ranges::fill(sum, 0.0f);
      for (size_t rank = 0; rank < values.world(); ++rank) {
        const auto rows = values.rows(rank, place);
        left += from < rows.size();
        for (size_t i = from; i < std::min(from + 2, rows.size()); ++i) add(sum, rows[i]);
      }
      if (left > 0) out.insert(out.end(), sum.begin(), sum.end());
    }
    return out;
  }
  for (size_t rank = 0; rank < values.world(); ++rank)
    add(sum, values.of(rank, place), call.function == "scaled" ? call.scale() : 1);
  out = sum;
  if (call.function == "pair")
    for (const float value : sum) out.push_back(3 * value);
  return out;
}

// How many calls all make alike, and who then waits, or is in another one.
struct Outcome {
  size_t alike = 0;
  std::vector<bool> concerned;
  explicit Outcome(const std::vector<Script>& scripts) {
    const auto at = [&](const Script& script) {
      return alike < script.calls.size() ? &script.calls[alike] : nullptr;
    };
    const auto all_alike = [&] {
      const Call* const first = at(scripts[0]);
      return first && std::ranges::all_of(scripts, [&](const Script& script) {
               const Call* const call = at(script);
               return call && *call == *first;
             });
    };
    while (all_alike()) ++alike;
    for (const Script& script : scripts) concerned.push_back(at(script) != nullptr);
  }
};

// The program of one rank.
class Rank {
 public:
  Rank(const Strategy& strategy, const Values& values) : strategy_(strategy), values_(values) {}

  std::vector<float> make(const Call& call, size_t place) {
    const Tensor x = Tensor::of(values_.of(static_cast<size_t>(strategy_.worker()), place));
    switch (call.way) {
      case Call::kRun: {
        std::vector<float> out;
        for (const PerReplica& result : strategy_.run(function_of(call), {{{x}}}))
          append(out, result.values[0]);
        return out;
      }
      case Call::kByItself: {
        std::vector<float> out;
        for (const Tensor& result : function_of(call).call(std::vector<Tensor>{x})) append(out, result);
        return out;
      }
      case Call::kReduce:
        return strategy_.reduce(ReduceOp::kSum, {{x}}).to_vector<float>();
      case Call::kGather:
        return strategy_.gather({{x}}).to_vector<float>();
      default:
        return sums_of_own_rows(place);
    }
  }
  std::vector<float> kept() const { return kept_.read().to_vector<float>(); }

 private:
  static void append(std::vector<float>& out, const Tensor& tensor) {
    for (const float value : tensor.to_vector<float>()) out.push_back(value);
  }

  std::vector<float> sums_of_own_rows(size_t place) {
    const auto rows = values_.rows(static_cast<size_t>(strategy_.worker()), place);
    DistributedDataset batches = strategy_.distribute(
        Dataset::per_worker(Dataset::from_generator([rows] {
                              return [rows, next = size_t{0}]() mutable -> std::optional<Tensors> {
                                if (next == rows.size()) return std::nullopt;
                                return Tensors{Tensor::of(rows[next++])};
                              };
                            }).batch(2)));
    const auto sum =
        function([](const Tensor& part) { return strategy::all_reduce({reduce_sum(part, {0})})[0]; },
                 {.name = "rows"});
    std::vector<float> out;
    while (const auto batch = batches.next()) append(out, strategy_.run(sum, *batch)[0].values[0]);
    return out;
  }

  const TracedFunction& function_of(const Call& call) {
    const auto made = made_.find({call.function, call.form});
    return made != made_.end()
               ? made->second
               : made_.emplace(std::pair(call.function, call.form), make_function(call)).first->second;
  }
  TracedFunction make_function(const Call& call) {
    const FunctionOptions options{.name = call.function};
    const bool other = call.form != 0;
    if (call.function == "kept")
      return function(
          [this](const Tensor& x) {
            const Tensor sum = strategy::all_reduce({x})[0];
            kept_.assign_add(sum);
            return sum;
          },
          options);
    if (call.function == "scaled")
      return function(
          [scale = call.scale()](const Tensor& x) { return strategy::all_reduce({x * scale})[0]; }, options);
    if (call.function != "pair")
      return function([](const Tensor& x) { return strategy::all_reduce({x})[0]; }, options);
    return function(
        [other](const Tensor& x) -> std::vector<Tensor> {
          if (other) {
            const Tensor second = strategy::all_reduce({x * 3})[0];
            return {strategy::all_reduce({x})[0], second};
          }
          const Tensor first = strategy::all_reduce({x})[0];
          return {first, strategy::all_reduce({x * 3})[0]};
        },
        options);
  }

  const Strategy& strategy_;
  const Values& values_;
  Variable kept_{zeros({4}), {.name = "kept"}};
  std::map<std::pair<std::string, int>, TracedFunction> made_;
};

// What a rank has seen.
struct Seen {
  std::vector<std::vector<float>> results;
  std::vector<float> kept;
  std::string error, rule;
  std::atomic<bool> over = false;
};

// Communicators of the ranks of one process, or of two hosts.
struct Ranks {
  explicit Ranks(size_t world, bool on_hosts) {
    if (on_hosts) {
      wired = std::make_unique<WiredRanks>(std::vector<int>{static_cast<int>(world) - 1, 1});
      all = wired->ranks;
      board = std::make_shared<Board>(wired->board);
    } else {
      all = local_communicators(static_cast<int>(world));
      board = board_of(*all[0]);
    }
  }
  // The run is given up: who watches it tells all hosts.
  void give_up(const std::string& why) const {
    for (const auto& rank : all) rank->abort(why);
  }
  std::unique_ptr<WiredRanks> wired;
  std::vector<std::shared_ptr<Communicator>> all;
  std::shared_ptr<Board> board;
};

// The launcher, which sees on the board what ranks do, and gives the run up where one has left that others
// need. Its clock is twenty times as fast as ours. Whether all came to an end in time.
bool look_after(const Ranks& of, const std::vector<Seen>& ranks) {
  ScriptedRun run(of.board->world(), {.silent = 1e9, .warn = 1e9, .stalled = 1e9});
  std::vector<bool> left(ranks.size());
  const auto all_over = [&] {
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (left[rank]) continue;
      const int number = static_cast<int>(rank);
      left[rank] = ranks[rank].over;
      const StageReport at = report_of(*of.board, number).value_or(StageReport());
      if (!left[rank]) {
        run.beat(number, at);
      } else if (ranks[rank].error.empty()) {
        run.say(number, {ControlMessage::Left{at}});
        run.coordinator.ended(number, {}, at, run.now);
      }
    }
    run.pass(0.1);
    if (run.coordinator.verdict()) of.give_up(to_string(*run.coordinator.verdict()));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return std::ranges::all_of(left, [](bool is) { return is; });
  };
  if (comes_true(all_over)) return true;
  of.give_up("the test waits no longer");
  return false;
}

std::vector<Seen> run_scripts(const std::vector<Script>& scripts, const Values& values, bool on_hosts,
                              uint64_t seed) {
  std::vector<Seen> out(scripts.size());
  const Ranks ranks(scripts.size(), on_hosts);
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < scripts.size(); ++rank)
    threads.emplace_back([&, rank] {
      Seen& seen = out[rank];
      Communicator& communicator = *ranks.all[rank];
      Philox random(seed, rank + 1);
      try {
        const RunContext context({.threads = 1, .communicator = &communicator});
        const RunScope in(context);
        const strategy::MultiWorkerMirrored strategy;
        const auto scope = strategy.scope();
        Rank program(strategy, values);
        const Script& script = scripts[rank];
        try {
          for (size_t place = 0; place < script.calls.size(); ++place) {
            if (random.below(3) == 0)
              std::this_thread::sleep_for(std::chrono::microseconds(random.below(500)));
            seen.results.push_back(program.make(script.calls[place], place));
          }
        } catch (...) {
          seen.kept = program.kept();
          throw;
        }
        seen.kept = program.kept();
        if (script.throws) throw std::runtime_error(cat("rank ", rank, " has no more rows"));
      } catch (const std::exception& error) {
        seen.error = error.what();
        if (const auto* const known = dynamic_cast<const Error*>(&error)) seen.rule = known->rule();
        communicator.abort(seen.error);
      }
      seen.over = true;
    });
  EXPECT_TRUE(look_after(ranks, out)) << "it hangs";
  threads.clear();
  return out;
}

// What came of the schedules, so that none of it is left out by chance.
struct Ends {
  int sums = 0, mismatches = 0, verdicts = 0;
};

void try_schedule(uint64_t seed, Ends& ends) {
  Philox random(seed);
  const size_t world = 2 + random.below(3);
  const bool on_hosts = random.below(3) == 0;
  const std::vector<Script> scripts = drawn_scripts(random, world);
  const Values values(random, world);
  const Outcome wanted(scripts);
  std::string text = cat("ESPALIER_SEED=", seed, on_hosts ? ", over a wire" : "");
  for (const Script& script : scripts) text += cat("\n  ", script.text());
  SCOPED_TRACE(text);
  const std::vector<Seen> seen = run_scripts(scripts, values, on_hosts, seed);
  for (size_t rank = 0; rank < world; ++rank) {
    const Seen& of = seen[rank];
    SCOPED_TRACE(cat("rank ", rank, " hears: ", of.error));
    const auto& calls = scripts[rank].calls;
    const bool throws = scripts[rank].throws && !wanted.concerned[rank];
    // One that is gone may keep others from the end of the last call that all make.
    const bool any_gone = std::ranges::count(wanted.concerned, false) > 0;
    EXPECT_LE(of.results.size(), wanted.alike);
    EXPECT_GE(of.results.size() + static_cast<size_t>(any_gone || wanted.alike > 0), wanted.alike);
    std::vector<float> kept(4);
    for (size_t place = 0; place < std::min(of.results.size(), wanted.alike); ++place) {
      EXPECT_EQ(of.results[place], expected(calls[place], values, place)) << "call " << place + 1;
      if (calls[place].function == "kept") add(kept, of.results[place]);
    }
    EXPECT_EQ(of.kept, kept) << "a call that fails changes nothing";
    EXPECT_FALSE(wanted.concerned[rank] && of.error.empty()) << "it had to hear of it";
    if (of.error.empty()) {
      ends.sums += calls.size() == wanted.alike;
    } else if (!throws || !of.rule.empty()) {
      EXPECT_TRUE(of.rule == "comm.mismatch" || of.rule == "comm.verdict") << of.rule;
      ++(of.rule == "comm.mismatch" ? ends.mismatches : ends.verdicts);
    }
  }
}

void try_schedules(uint64_t count) {
  Ends ends;
  for (uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) try_schedule(first_seed() + i, ends);
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(ends.sums, 0);
  EXPECT_GT(ends.mismatches, 0);
  EXPECT_GT(ends.verdicts, 0);
}

TEST(DrawnCalls, HaveTheSumsOfAllOrAreRefused) { try_schedules(20); }
TEST(DrawnCalls, NightlyHaveTheSumsOfAllOrAreRefused) { try_schedules(200); }

}  // namespace
}  // namespace espalier
