#include "launch/control_simulation_test.h"

#include <algorithm>
#include <csignal>

#include "base/format.h"
#include "launch/control_scripted_run_test.h"

namespace espalier {

Simulation::Simulation(const SimulatedRun& run, uint64_t seed)
    : run_(run),
      random_(seed),
      coordinator_({.world = run.world, .secret = "s", .id = "v1", .limits = {.stalled = run.stalled}}),
      arrived_(static_cast<size_t>(run.steps * run.collectives + 1)),
      wait_(arrived_.size()) {
  for (int i = 0; i < run.world; ++i) {
    ranks_.emplace_back(ControlMember::Options{i, run.world, 100 + i, "s"});
    coordinator_.started(i, 100 + i, 0);
  }
  for (int i = 0; i < run.world; ++i) {
    in_rank(i, random(0, 2), [this, i] {
      at_coordinator(now_, [this, i] { coordinator_.connected(i, nonce_of(i), now_); });
      ranks_[static_cast<size_t>(i)].member.connected(now_);
      beat(i);
      compare(i, 1);
    });
  }
  for (int i = 0; i < run.strangers; ++i) after(random(0, 10), [this, i] { stranger(1000 + i); });
  after(0, [this] { tick(); });
}

void Simulation::at(double when, std::function<void()> run) {
  events_.emplace(std::pair(when, order_++), std::move(run));
}

void Simulation::in_rank(int rank, double seconds, std::function<void()> run) {
  after(seconds, [this, rank, run = std::move(run)] {
    Rank& of = ranks_[static_cast<size_t>(rank)];
    if (of.life == Life::kGone) return;
    if (of.life == Life::kStopped)
      of.held.push_back(run);
    else
      run();
  });
}

// Who comes while it is late waits until it is there again, in the order of coming.
void Simulation::at_coordinator(double when, std::function<void()> run) {
  const double end = run_.late_at + run_.late;
  if (run_.late > 0 && when >= run_.late_at && when < end) when = end;
  at(when, [this, run = std::move(run)] {
    run();
    flush_coordinator();
  });
}

void Simulation::flush(int rank) {
  Rank& of = ranks_[static_cast<size_t>(rank)];
  for (const ControlMessage& message : of.member.take()) {
    if (!of.linked) continue;
    if (std::holds_alternative<ControlMessage::Join>(message.is)) recorded_ = message;
    of.sent = std::max(of.sent, now_ + delay());
    at_coordinator(of.sent, [this, rank, message] { coordinator_.received(rank, message, now_); });
  }
}

void Simulation::flush_coordinator() {
  for (const ControlAction& action : coordinator_.take()) {
    if (const auto* send = std::get_if<ControlAction::Send>(&action.is)) {
      if (send->link >= 1000) {
        if (std::holds_alternative<ControlMessage::Challenge>(send->message.is)) answer(send->link);
        out_.refused += std::holds_alternative<ControlMessage::Refused>(send->message.is);
        continue;
      }
      const int rank = send->link;
      Rank& of = ranks_[static_cast<size_t>(rank)];
      of.heard = std::max(of.heard, now_ + delay());
      in_rank(rank, of.heard - now_, [this, rank, message = send->message] {
        Rank& to = ranks_[static_cast<size_t>(rank)];
        if (!to.linked) return;
        const bool agreed = to.member.agreed();
        to.member.received(message, to.at);
        flush(rank);
        if (!agreed && to.member.agreed()) phase(rank, to.next, 0);
        look(rank);
      });
    } else if (std::holds_alternative<ControlAction::Warn>(action.is)) {
      ++out_.warnings;
    } else if (const auto* given = std::get_if<ControlAction::GiveUp>(&action.is)) {
      out_.verdict = given->verdict;
      out_.given = now_;
    }
  }
}

void Simulation::beat(int rank) {
  Rank& of = ranks_[static_cast<size_t>(rank)];
  of.member.tick(now_, of.at);
  flush(rank);
  in_rank(rank, random(1, 1.05), [this, rank] { beat(rank); });
}

void Simulation::tick() {
  const double end = run_.late_at + run_.late;
  const bool late = run_.late > 0 && now_ >= run_.late_at && now_ < end;
  if (!late) {
    coordinator_.tick(now_);
    flush_coordinator();
  }
  after(late ? end - now_ : 0.1, [this] { tick(); });
}

void Simulation::stranger(int link) {
  at_coordinator(now_, [this, link] { coordinator_.connected(link, nonce_of(link), now_); });
}

void Simulation::answer(int link) {
  if (link % 5 == 0) return;  // says nothing
  ControlMessage says = join_of(link, 0, run_.world, 1, "wrong");
  if (link % 5 == 1) says = {ControlMessage::Left{}};
  if (link % 5 == 2) says = join_of(link, 0, run_.world + 1, 1, "s");
  if (link % 5 == 3 && recorded_) says = *recorded_;
  at_coordinator(now_ + delay(), [this, link, says] { coordinator_.received(link, says, now_); });
}

void Simulation::compare(int rank, int64_t next) {
  Rank& of = ranks_[static_cast<size_t>(rank)];
  of.next = next;
  const bool now = run_.fault == SimulatedFault::kMismatch && run_.other_again == (next > 1);
  if (now) out_.broken = std::max(out_.broken, now_);
  of.member.describe({{"plan", "p"}, {"seed", now && rank == run_.culprit ? "2" : "1"}});
  flush(rank);
}

// What a rank does: input, then its collectives with some work before each, then a callback.
void Simulation::phase(int rank, int64_t step, int phase) {
  Rank& of = ranks_[static_cast<size_t>(rank)];
  if (of.over || of.life == Life::kGone) return;
  if (step > run_.steps) {
    of.at = {Stage::kEnd, run_.steps, of.at.collectives, of.at.collective};
    of.over = true;
    of.member.left(of.at);
    flush(rank);
    return exit(rank, {}, random(0, 3));
  }
  out_.stepped |= step >= (run_.other_again ? run_.again_at : 1);
  of.at.stage = phase == 0 ? Stage::kInput : phase > run_.collectives ? Stage::kCallback : Stage::kStep;
  of.at.number = step;
  if (break_down(rank, step, phase)) return;
  double seconds = random(0.001, 0.3);
  if (run_.slow > 0 && rank == run_.world - 1 && step == 3 && phase == 1) seconds = run_.slow;
  in_rank(rank, seconds, [this, rank, step, phase] {
    if (ranks_[static_cast<size_t>(rank)].hangs) return;
    if (phase == 0) return this->phase(rank, step, 1);
    if (phase > run_.collectives)
      return step + 1 == run_.again_at ? compare(rank, step + 1) : this->phase(rank, step + 1, 0);
    arrive(rank, step, phase);
  });
}

void Simulation::arrive(int rank, int64_t step, int phase) {
  Rank& of = ranks_[static_cast<size_t>(rank)];
  if (of.over) return;
  const auto which = static_cast<size_t>((step - 1) * run_.collectives + phase - 1);
  ++of.at.collectives;
  of.at.stage = Stage::kCollective;
  of.at.collective = cat("all-reduce 'gradients/", phase, "'");
  if (broken_ && out_.missed == 0) out_.missed = now_;
  wait_[which].push_back([this, rank, step, phase] {
    in_rank(rank, random(0.0001, 0.01), [this, rank, step, phase] { this->phase(rank, step, phase + 1); });
  });
  if (++arrived_[which] < run_.world) return;
  for (const auto& go_on : std::exchange(wait_[which], {})) go_on();
}

bool Simulation::break_down(int rank, int64_t step, int phase) {
  if (broken_ || rank != run_.culprit || step != run_.at_step || phase != run_.at_phase) return false;
  Rank& of = ranks_[static_cast<size_t>(rank)];
  const auto breaks = [&] {
    broken_ = true;
    out_.broken = now_;
    out_.step = step;
  };
  const auto abort_others = [&] {
    for (int i = 0; i < run_.world; ++i) {
      if (i != rank) in_rank(i, random(0.001, 0.1), [this, i] { fail_for_others(i, "rank gone"); });
    }
  };
  switch (run_.fault) {
    case SimulatedFault::kKill:
      breaks();
      exit(rank, {true, run_.number}, 0);
      if (run_.resets) abort_others();
      return true;
    case SimulatedFault::kExit:
      breaks();
      exit(rank, {false, run_.number}, 0);
      return true;
    case SimulatedFault::kLeave:
      breaks();
      of.over = true;
      of.at = {Stage::kEnd, step - 1, of.at.collectives, of.at.collective};
      of.member.left(of.at);
      flush(rank);
      exit(rank, {}, random(0, 1));
      return true;
    case SimulatedFault::kThrow:
      breaks();
      of.over = true;
      of.member.failed("ValueError: bad row", FailureCause::kOwn, of.at);
      flush(rank);
      abort_others();
      exit(rank, {false, 1}, random(0, 0.5));
      return true;
    case SimulatedFault::kStop:
      breaks();
      of.life = Life::kStopped;
      after(run_.seconds, [this, rank] {
        Rank& stopped = ranks_[static_cast<size_t>(rank)];
        if (stopped.life != Life::kStopped) return;
        stopped.life = Life::kRuns;
        for (const auto& held : std::exchange(stopped.held, {})) in_rank(rank, 0, held);
      });
      return false;
    case SimulatedFault::kHang:
      breaks();
      of.hangs = true;
      return true;
    case SimulatedFault::kCut:
      breaks();
      of.linked = false;
      at_coordinator(std::max(of.sent, now_ + delay()), [this, rank] { coordinator_.lost(rank, now_); });
      return false;
    default:
      return false;
  }
}

// A rank that knows of the verdict stops.
void Simulation::look(int rank) {
  const Rank& of = ranks_[static_cast<size_t>(rank)];
  if (of.member.verdict() && !of.over) fail_for_others(rank, of.member.verdict()->text);
}

void Simulation::fail_for_others(int rank, const std::string& text) {
  Rank& of = ranks_[static_cast<size_t>(rank)];
  if (of.over || of.life == Life::kGone) return;
  of.over = true;
  const bool says = !run_.wordless || of.member.verdict();
  if (says) of.member.failed(text, FailureCause::kOthers, of.at);
  flush(rank);
  // Long enough that the verdict can reach it.
  const ProcessEnd end = rank % 2 ? ProcessEnd{false, 1} : ProcessEnd{true, SIGABRT};
  exit(rank, end, says ? random(3, 4) : random(0.01, 0.1));
}

void Simulation::exit(int rank, ProcessEnd end, double seconds) {
  const auto gone = [this, rank, end] {
    Rank& of = ranks_[static_cast<size_t>(rank)];
    if (of.life == Life::kGone) return;
    of.life = Life::kGone;
    const std::optional<StageReport> last = run_.board ? std::optional(of.at) : std::nullopt;
    // Which of the two is seen first is chance.
    const double link = std::max(of.sent, now_ + delay()), process = now_ + delay();
    if (of.linked) at_coordinator(link, [this, rank] { coordinator_.lost(rank, now_); });
    at_coordinator(process, [this, rank, end, last] { coordinator_.ended(rank, end, last, now_); });
  };
  if (seconds <= 0)
    gone();
  else
    in_rank(rank, seconds, gone);
}

SimulatedEnd Simulation::end() {
  double until = 1e9;
  while (!events_.empty() && now_ < 400) {
    const auto event = events_.extract(events_.begin());
    if (event.key().first > until) break;
    now_ = event.key().first;
    event.mapped()();
    const bool all_gone =
        std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.life == Life::kGone; });
    if ((out_.verdict || all_gone) && until == 1e9) until = now_ + (out_.verdict ? 1.5 : 6 + run_.late);
  }
  for (const Rank& rank : ranks_) {
    const bool lives = rank.life == Life::kRuns && rank.linked;
    if (out_.verdict && lives) out_.all_told &= rank.member.verdict() == out_.verdict;
  }
  out_.finished = std::ranges::all_of(
      ranks_, [&](const Rank& rank) { return rank.at.stage == Stage::kEnd && rank.at.number == run_.steps; });
  return out_;
}

}  // namespace espalier
