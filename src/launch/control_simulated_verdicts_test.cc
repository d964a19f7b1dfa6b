// Verdicts on simulated runs.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/control_simulation_test.h"

namespace espalier {

SimulatedRun SimulatedRun::of(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto below = [&](uint64_t n) { return random() % n; };
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  SimulatedRun out;
  out.world = static_cast<int>(below(4) == 0 ? 2 + below(63) : 2 + below(7));
  out.steps = static_cast<int64_t>(8 + below(20));
  out.collectives = static_cast<int>(1 + below(3));
  out.delay = below(3) ? 0.002 : 0.15;
  out.slow = below(4) == 0 ? real(4, 14) : 0;
  out.board = below(2) == 0;
  out.wordless = below(3) == 0;
  out.fault = static_cast<SimulatedFault>(below(9));
  out.culprit = static_cast<int>(below(static_cast<uint64_t>(out.world)));
  out.at_step = static_cast<int64_t>(1 + below(static_cast<uint64_t>(out.steps)));
  out.at_phase = static_cast<int>(below(static_cast<uint64_t>(out.collectives + 2)));
  out.seconds = real(1, 8);
  constexpr int kSignals[] = {SIGKILL, SIGSEGV, SIGBUS};
  out.number = out.fault == SimulatedFault::kKill ? kSignals[below(3)] : below(2) ? 0 : 3;
  out.resets = below(3) == 0;
  out.strangers = below(4) == 0 ? 5 : 0;
  if (below(6) == 0) {
    out.late_at = real(0, 8);
    out.late = real(1, 20);
  }
  out.stalled = out.fault == SimulatedFault::kHang ? 20 : 300;
  if (below(2)) out.again_at = static_cast<int64_t>(2 + below(static_cast<uint64_t>(out.steps - 1)));
  out.other_again = out.again_at > 0 && below(2);
  return out;
}

namespace {

// What has to be said of it; nothing where nothing is wrong.
std::optional<VerdictKind> wanted_kind(const SimulatedRun& run) {
  switch (run.fault) {
    case SimulatedFault::kKill:
      return VerdictKind::kKilled;
    case SimulatedFault::kThrow:
      return VerdictKind::kThrown;
    case SimulatedFault::kExit:
      return run.number ? VerdictKind::kEnded : VerdictKind::kEarly;
    case SimulatedFault::kLeave:
      return VerdictKind::kEarly;
    case SimulatedFault::kMismatch:
      return VerdictKind::kMismatch;
    case SimulatedFault::kHang:
      return VerdictKind::kStalled;
    case SimulatedFault::kCut:
      return VerdictKind::kLost;
    case SimulatedFault::kStop:
      return VerdictKind::kSilent;
    default:
      return std::nullopt;
  }
}

// Seconds from the break to the verdict, at most.
double wanted_seconds(const SimulatedRun& run, const SimulatedEnd& end) {
  const double missed = std::max(0.0, end.missed - end.broken);
  switch (*wanted_kind(run)) {
    case VerdictKind::kStalled:
      return run.stalled + 2;
    case VerdictKind::kSilent:
      return 6;
    case VerdictKind::kEarly:
      return missed + (run.fault == SimulatedFault::kExit && !run.board ? 6 + run.slow : 2);
    default:
      return 2;
  }
}

std::string problem_of(const SimulatedRun& run, const SimulatedEnd& end) {
  const auto wanted = wanted_kind(run);
  const auto holds = [&](const std::string& part) {
    return end.verdict->text.find(part) != std::string::npos;
  };
  const auto said = [&] { return end.verdict ? to_string(*end.verdict) : std::string("nothing"); };
  const bool last_breath = run.at_step == run.steps && run.at_phase > run.collectives;
  if (run.fault == SimulatedFault::kStop && run.seconds <= 3.8) {
    if (end.verdict || !end.finished)
      return cat("no verdict is wanted after ", run.seconds, " s, not ", said());
  } else if (wanted == VerdictKind::kEarly && last_breath) {
    if (end.verdict) return cat("nobody needed it any more: ", said());
  } else if (!wanted) {
    if (end.verdict || !end.finished) return cat("no verdict is wanted, not ", said());
  } else if (run.fault == SimulatedFault::kStop && run.seconds < 5.5 && !end.verdict) {
    // Its last beat may have come just before it stopped.
    if (!end.finished) return "it went on, and the run did not";
  } else if (run.fault == SimulatedFault::kStop && run.late > 0 && !end.verdict) {
    // The coordinator was late too, and cannot tell.
  } else if (run.fault == SimulatedFault::kCut && (run.late > 0 || last_breath) && end.finished &&
             !end.verdict) {
    // All had left before the coordinator was there again, or before its verdict.
  } else {
    if (!end.verdict) return "a verdict is wanted";
    if (end.verdict->kind != *wanted)
      return cat(name(*wanted), " is wanted, not ", name(end.verdict->kind), ": ", said());
    const bool two = *wanted == VerdictKind::kMismatch && run.world == 2;
    if (end.verdict->rank != (two ? -1 : run.culprit))
      return cat("rank ", run.culprit, " is wanted, not ", said());
    const double took = end.given - end.broken, may = wanted_seconds(run, end) + run.late + 2 * run.delay;
    if (took > may) return cat("it took ", took, " s, and may take ", may, ": ", said());
    if (!end.all_told) return cat("some rank was told another sentence than ", said());
    if (*wanted == VerdictKind::kMismatch) {
      if (end.stepped) return cat("a step had begun: ", said());
      if (!holds("seed is ")) return said();
    } else if (end.verdict->text.find(cat("rank ", run.culprit, " (pid ", 100 + run.culprit, ") ")) != 0) {
      return said();
    } else if (!holds(cat("step ", end.step - (run.fault == SimulatedFault::kLeave)))) {
      // Where nobody knows, it says so.
      const bool known = run.board || *wanted == VerdictKind::kThrown ||
                         run.fault == SimulatedFault::kLeave || *wanted == VerdictKind::kStalled;
      const bool is_gone = *wanted != VerdictKind::kLost && *wanted != VerdictKind::kSilent;
      if ((known && is_gone) || !holds("last seen")) return cat("step ", end.step, " is wanted: ", said());
    }
  }
  if (run.strangers > 0 && end.refused != run.strangers && end.given > 16 + run.late)
    return cat(end.refused, " of ", run.strangers, " strangers were refused");
  return {};
}

std::string text_of(const SimulatedRun& run) {
  return cat("world ", run.world, ", fault ", static_cast<int>(run.fault), " of rank ", run.culprit,
             " in step ", run.at_step, " of ", run.steps, " phase ", run.at_phase, " of ", run.collectives,
             " number ", run.number, " seconds ", run.seconds, " slow ", run.slow, " late ", run.late, " at ",
             run.late_at, " board ", run.board, " resets ", run.resets, " wordless ", run.wordless, " delay ",
             run.delay, " again at ", run.again_at, " other again ", run.other_again);
}

void expect_exact(uint64_t first, uint64_t last) {
  int problems = 0;
  for (uint64_t seed = first; seed < last && problems < 10; ++seed) {
    const SimulatedRun run = SimulatedRun::of(seed);
    const SimulatedEnd end = Simulation(run, seed).end();
    const std::string problem = problem_of(run, end);
    if (problem.empty()) continue;
    ++problems;
    ADD_FAILURE() << "seed " << seed << ": " << problem << "\n  " << text_of(run);
  }
}

TEST(ControlSimulation, VerdictsAreExact) { expect_exact(0, 100); }
TEST(ControlSimulation, SlowVerdictsOfAThousandSeedsAreExact) { expect_exact(0, 1000); }

}  // namespace
}  // namespace espalier
