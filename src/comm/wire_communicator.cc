#include "comm/wire_communicator.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include <espalier/error.h>

#include "base/float_environment.h"
#include "base/format.h"
#include "base/shortest.h"
#include "base/thread_pool.h"
#include "base/thread_stacks.h"
#include "comm/board_writer.h"
#include "comm/calls.h"

namespace espalier {
namespace {

// How often whoever waits looks whether the run is given up.
constexpr std::chrono::milliseconds kLook{100};
// What the thread of a run that is given up may need until it touches no memory of others any more; and what
// others may need to read what this rank has sent before it goes.
constexpr std::chrono::seconds kEnding{10}, kLeaving{2};

std::string text_of(const WireJob& job) {
  return collective_text(job.kind, job.what.name, job.what.type, job.what.count, job.what.root);
}

}  // namespace

// Of the thread and whoever waits for it, who may go first.
struct WireCommunicator::Joining {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false, abandoned = false;
  std::exception_ptr refused;
};

WireCommunicator::WireCommunicator(std::shared_ptr<BoardLayout> layout, WirePlace place)
    : layout_(std::move(layout)),
      board_(std::make_shared<Board>(layout_)),
      place_(std::move(place)),
      host_(place_.hosts.host_of(place_.rank)),
      block_(layout_->of(place_.rank)) {
  if (block_.taken.exchange(1) != 0)
    throw ValueError("comm.segments",
                     cat("rank ", place_.rank, " has come already; ranks that start again need a new board"));
  stage(Stage::kStart, 0);
  const auto joining = std::make_shared<Joining>();
  thread_ = thread_with_stack([this, joining, connect = place_.connect] {
    const FloatEnvironment environment;
    // Sockets of engines break. That is an error of theirs, in their threads, too, which inherit this.
    sigset_t broken;
    ::sigemptyset(&broken);
    ::sigaddset(&broken, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
    std::unique_ptr<Wire> wire;
    std::exception_ptr refused;
    try {
      if (connect) wire = connect();
    } catch (...) {
      refused = std::current_exception();
    }
    {
      const std::lock_guard<std::mutex> lock(joining->mutex);
      // Nobody is left to end it.
      if (joining->abandoned) return static_cast<void>(wire.release());
      joining->refused = refused;
      joining->over = true;
      joining->changed.notify_all();
    }
    if (!refused) run(std::move(wire));
  });
  wait_for(*joining);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return connected_ || refused_; });
  if (!refused_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(refused_);
}

void WireCommunicator::wait_for(Joining& joining) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(place_.join_within);
  std::unique_lock<std::mutex> lock(joining.mutex);
  for (; !joining.over; joining.changed.wait_for(lock, kLook)) {
    if (place_.join_within <= 0) continue;
    const bool is_late = Clock::now() >= until;
    if (!is_late && layout_->given_up.load() == 0) continue;
    joining.abandoned = true;
    thread_.detach();
    if (const std::string verdict = board_->verdict(); !verdict.empty())
      throw RunError("comm.verdict", verdict);
    throw RunError("comm.join", cat("rank ", place_.rank, " of ", layout_->world,
                                    " cannot join: its engine has not found the others in ",
                                    plain_number(place_.join_within), " s"));
  }
  lock.unlock();
  if (!joining.refused) return;
  thread_.join();
  std::rethrow_exception(joining.refused);
}

WireCommunicator::~WireCommunicator() {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool fails = failure_ != nullptr;
  closing_ = true;
  if (!calls_.empty() || fails) aborted_ = true;
  if (wire_ && aborted_) wire_->abort();
  if (wire_) wire_->wake();
  told_.notify_all();
  if (!aborted_ && !changed_.wait_for(lock, kLeaving, [&] { return over_; }) && wire_) wire_->abort();
  lock.unlock();
  if (!calls_.empty() && !fails) {
    const std::string why =
        cat("rank ", place_.rank, " has left before ", text_of(calls_[0]->job), " was done");
    board_->abort(why);
    if (place_.inner) place_.inner->abort(why);
  }
  thread_.join();
}

std::shared_ptr<std::byte[]> WireCommunicator::allocate(size_t bytes) {
  return place_.inner ? place_.inner->allocate(bytes) : Communicator::allocate(bytes);
}

void WireCommunicator::stage(Stage stage, int64_t number) {
  step_ = number;
  write_stage(block_, stage_word(stage, number));
}

void WireCommunicator::abort(std::string_view why) {
  board_->abort(why);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    aborted_ = true;
    if (wire_) wire_->abort();
    told_.notify_all();
    changed_.notify_all();
  }
  if (place_.inner) place_.inner->abort(why);
}

void WireCommunicator::raise_failure() {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(place_.verdict_within);
  // Why a rank has ended the launcher knows, not who misses it.
  const auto awaits = [&] { return failure_->rule == "comm.verdict" || peer_left_; };
  while (layout_->given_up.load() == 0 && awaits() && Clock::now() < until)
    std::this_thread::sleep_for(kLook / 10);
  const std::string verdict = board_->verdict();
  if (!verdict.empty()) abort(verdict);
  std::unique_lock<std::mutex> lock(mutex_);
  // Until nobody touches what the caller may free.
  changed_.wait_for(lock, kEnding, [&] { return over_; });
  if (!verdict.empty() || !failure_) throw RunError("comm.verdict", verdict);
  throw RunError(failure_->rule, failure_->what);
}

void WireCommunicator::check() {
  bool fails = layout_->given_up.load() != 0;
  if (!fails) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fails = failure_ != nullptr;
  }
  if (fails) raise_failure();
}

uint32_t WireCommunicator::any(uint32_t bits) {
  check();
  if (!calls_.empty())
    throw StateError("comm.order", cat("any() before ", counted(calls_.size(), "collective"),
                                       " is done, as \"", calls_[0]->name, "\""));
  const uint64_t ticket = begin(CallKind::kAny, {}, nullptr, nullptr, bits);
  finish(ticket);
  const uint32_t all = calls_.front()->job.bits;
  calls_.pop_front();
  return all;
}

uint64_t WireCommunicator::start(const Collective& what, std::byte* data, std::byte* out) {
  check();
  check_call(what, world());
  return begin(static_cast<CallKind>(what.kind), what, data, out, 0);
}

uint64_t WireCommunicator::begin(CallKind kind, const Collective& what, std::byte* data, std::byte* out,
                                 uint32_t bits) {
  auto call = std::make_unique<Call>();
  call->name = what.name;
  call->type = what.type;
  call->out = out;
  WireJob& job = call->job;
  job.kind = kind;
  job.what = what;
  job.what.name = call->name;
  job.what.type = call->type;
  program_.mark(job.what);
  job.what.program = call->program = job.what.program;
  job.sequence = begun_;
  job.fingerprint = fingerprint(kind, job.what);
  job.data = data;
  job.out = out;
  job.bits = bits;
  if (exchange_) call->scratch_bytes = exchange_->scratch_bytes(kind, job.what);
  if (call->scratch_bytes > 0) {
    const auto known = scratch_.find(call->scratch_bytes);
    if (known == scratch_.end()) {
      call->scratch = std::make_unique_for_overwrite<std::byte[]>(call->scratch_bytes);
    } else {
      call->scratch = std::move(known->second);
      scratch_.erase(known);
    }
    job.scratch = call->scratch.get();
  }
  write_call(layout_->call(place_.rank, begun_), begun_, kind, job.what, step_, bits, 0);
  block_.announced.store(begun_ + 1);
  calls_.push_back(std::move(call));
  tell({calls_.back().get(), false});
  return begun_++;
}

void WireCommunicator::tell(Command command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  commands_.push_back(command);
  if (wire_) wire_->wake();
  told_.notify_all();
}

void WireCommunicator::done(uint64_t ticket, ThreadPool&) {
  check();
  if (calls_.empty() || ticket != finished_)
    throw StateError("comm.order", cat("collective ", ticket, " is to be done where ",
                                       calls_.empty() ? std::string("none has begun")
                                                      : cat("collective ", finished_, ", \"", calls_[0]->name,
                                                            "\", is next")));
  finish(ticket);
  Call& call = *calls_.front();
  if (call.scratch) scratch_.emplace(call.scratch_bytes, std::move(call.scratch));
  calls_.pop_front();
}

// The call is done and still the first of calls_.
void WireCommunicator::finish(uint64_t ticket) {
  Call& call = *calls_.front();
  tell({&call, true});
  {
    const AsleepOnBoard asleep(block_, ticket);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!call.done && !failure_ && layout_->given_up.load() == 0) changed_.wait_for(lock, kLook);
    if (!call.done) {
      lock.unlock();
      raise_failure();
    }
  }
  layout_->call(place_.rank, ticket).done_ns.store(monotonic_ns(), std::memory_order_release);
  block_.finished.store(ticket + 1);
  finished_ = ticket + 1;
}

void WireCommunicator::fail(const std::string& rule, const std::string& what) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = std::make_unique<Failure>(rule, what);
    changed_.notify_all();
  }
  if (place_.inner) place_.inner->abort(what);
}

void WireCommunicator::run(std::unique_ptr<Wire> made) {
  try {
    std::unique_ptr<Wire> wire = std::move(made);
    const bool speaks = wire && place_.rank == place_.hosts.first(host_) && place_.hosts.hosts() > 1;
    std::vector<int> peers = place_.peers;
    for (int host = static_cast<int>(peers.size()); host < place_.hosts.hosts(); ++host)
      peers.push_back(host);
    const std::lock_guard<std::mutex> lock(mutex_);
    wire_ = std::move(wire);
    if (wire_) wire_name_ = wire_->name();
    if (speaks) exchange_ = std::make_unique<WireExchange>(*wire_, place_.hosts, host_, std::move(peers));
    connected_ = true;
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    refused_ = std::current_exception();
  }
  changed_.notify_all();
  if (!connected_) return;
  try {
    serve();
  } catch (const Error& error) {
    fail(error.rule(), error.message());
  } catch (const std::exception& error) {
    fail("comm.verdict", error.what());
  }
  std::unique_ptr<Wire> wire;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wire = std::move(wire_);
  }
  exchange_.reset();
  wire.reset();
  const std::lock_guard<std::mutex> lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void WireCommunicator::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!aborted_) {
    if (commands_.empty()) {
      if (closing_) {
        lock.unlock();
        if (exchange_) exchange_->leave();
        return;
      }
      if (under_way_.empty())
        told_.wait(lock);
      else
        advance(lock, nullptr);
      continue;
    }
    const Command command = commands_.front();
    commands_.pop_front();
    if (!command.finishes) {
      lock.unlock();
      begin_on_host(*command.call);
      if (exchange_) exchange_->post(command.call->job);
      lock.lock();
      if (exchange_) under_way_.push_back(command.call);
      continue;
    }
    advance(lock, command.call);
    if (aborted_) return;
    lock.unlock();
    end_on_host(*command.call);
    lock.lock();
    command.call->done = true;
    changed_.notify_all();
  }
}

// The first of those under way until it is done, or somebody has something else to do; or all up to `until`.
void WireCommunicator::advance(std::unique_lock<std::mutex>& lock, const Call* until) {
  while (!under_way_.empty() && !aborted_) {
    WireJob& job = under_way_.front()->job;
    if (until && job.sequence > until->job.sequence) return;
    lock.unlock();
    const WireExchange::Progress progress = exchange_->advance(job);
    lock.lock();
    if (progress == WireExchange::Progress::kMismatch) {
      peer_left_ = exchange_->has_left();
      throw RunError("comm.mismatch", exchange_->why());
    }
    if (progress == WireExchange::Progress::kBroken)
      throw RunError("comm.verdict",
                     cat("the connection to another host broke in ", text_of(job), ": ", exchange_->why()));
    if (progress == WireExchange::Progress::kDone) under_way_.pop_front();
    if (!until) return;
  }
}

}  // namespace espalier
