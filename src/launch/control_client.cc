#include "launch/control_client.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "base/thread_stacks.h"
#include "espalier/error.h"
#include "launch/control_secret.h"
#include "launch/control_socket.h"

namespace espalier {
namespace {

constexpr auto kSending = std::chrono::seconds(1);
constexpr int kLookMilliseconds = 250;

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  const std::string_view word = text ? text : "";
  int out = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc() || end != word.data() + word.size() || out < 0)
    throw ValueError("control.environment",
                     cat(variable, " is \"", shortened(word), "\", and no number from 0"));
  return out;
}

// "rank 2 has not joined" of "gloo/0/at/2".
std::string missing(const std::string& key) {
  const std::string last = key.substr(key.rfind('/') + 1);
  const bool rank = !last.empty() && last.size() < 10 && last.find_first_not_of("0123456789") == last.npos;
  return rank ? cat("rank ", last, " has not joined") : "no rank has joined";
}

}  // namespace

std::unique_ptr<ControlClient> ControlClient::from_environment(ControlHooks hooks) {
  const char* address = std::getenv("ESPALIER_CONTROL");
  if (!address) return nullptr;
  const std::string secret = take_secret();
  if (secret.empty())
    throw ValueError(
        "control.environment",
        "ESPALIER_CONTROL is set, and ESPALIER_SECRET is not: a rank that joins takes it out of its "
        "environment, so that what it starts does not join",
        "start ranks by espalier launch");
  const int rank = number_in("ESPALIER_RANK"), world = number_in("ESPALIER_WORLD");
  if (rank >= world)
    throw ValueError("control.environment",
                     cat("ESPALIER_RANK is ", rank, ", and not below ESPALIER_WORLD, ", world));
  return std::make_unique<ControlClient>(address, ControlMember::Options{rank, world, ::getpid(), secret},
                                         std::move(hooks));
}

ControlClient::ControlClient(const std::string& address, ControlMember::Options options, ControlHooks hooks)
    : hooks_(std::move(hooks)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      member_(options),
      link_(connect_to(address, options.coordinator)) {
  if (!wake_) throw IoError("control.connect", cat("cannot make an event: ", std::strerror(errno)));
  member_.connected(posix_env().steady_seconds());
  {
    std::unique_lock lock(mutex_);
    flush(lock);
  }
  // Signals are for the program's own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = thread_with_stack([this] { run(); });
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw IoError("control.connect", cat("the system gives no thread: ", error.what()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ControlClient::~ControlClient() {
  {
    std::unique_lock lock(mutex_);
    wait_until_sent(lock);
    closing_ = true;
  }
  wake();
  thread_.join();
}

void ControlClient::describe(std::map<std::string, std::string> facts) {
  std::unique_lock lock(mutex_);
  frame_of({ControlMessage::Facts{facts}});  // refuses what is too large
  member_.describe(std::move(facts));
  flush(lock);
  changed_.wait(lock, [&] { return member_.agreed() || member_.verdict(); });
  if (member_.verdict()) throw RunError("comm.verdict", to_string(*member_.verdict()));
}

void ControlClient::failed(const std::string& text, FailureCause cause) {
  const StageReport at = hooks_.report ? hooks_.report() : StageReport();
  std::unique_lock lock(mutex_);
  member_.failed(text, cause, at);
  flush(lock);
  wait_until_sent(lock);
}

void ControlClient::left() {
  const StageReport at = hooks_.report ? hooks_.report() : StageReport();
  std::unique_lock lock(mutex_);
  member_.left(at);
  flush(lock);
  wait_until_sent(lock);
}

void ControlClient::preempted(int signal) {
  std::unique_lock lock(mutex_);
  member_.preempted(signal);
  flush(lock);
}

void ControlClient::put(const std::string& key, const std::string& value) {
  std::unique_lock lock(mutex_);
  frame_of({ControlMessage::Put{key, value}});  // refuses what is too large
  member_.put(key, value);
  flush(lock);
  wait_until_sent(lock);
}

std::string ControlClient::get(const std::string& key, double seconds) {
  std::unique_lock lock(mutex_);
  frame_of({ControlMessage::Get{key}});
  member_.want(key);
  flush(lock);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return member_.value(key) || member_.verdict() || gone_; });
  if (const std::string* value = member_.value(key)) return *value;
  if (member_.verdict()) throw RunError("comm.verdict", to_string(*member_.verdict()));
  if (gone_) throw RunError("comm.verdict", "the launcher is gone");
  throw RunError("comm.join", cat(missing(key), " in ", plain_number(seconds),
                                  " s: no rank has published the key \"", shortened(key), "\""));
}

std::optional<RunVerdict> ControlClient::verdict() const {
  const std::lock_guard lock(mutex_);
  return member_.verdict();
}

std::optional<RunVerdict> ControlClient::wait_for_verdict(double seconds) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return member_.verdict() || gone_; });
  return member_.verdict();
}

// REQUIRES: the lock is held.
void ControlClient::flush(std::unique_lock<std::mutex>&) {
  for (const ControlMessage& message : member_.take()) {
    // While nobody reads, the beats are the first that can be spared.
    const bool spared =
        std::holds_alternative<ControlMessage::Beat>(message.is) && link_.waiting() > kMostFrame;
    if (!cut_ && !spared) cut_ = !link_.send(message);
  }
  if (!cut_) cut_ = !link_.flush();
  if (cut_ || link_.waiting() > 0) wake();
}

void ControlClient::wait_until_sent(std::unique_lock<std::mutex>& lock) {
  const auto sent = [&] { return !member_.has_to_say() && link_.waiting() == 0; };
  changed_.wait_for(lock, kSending, [&] { return cut_ || gone_ || sent(); });
}

void ControlClient::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t done = ::write(wake_.get(), &one, sizeof one);
}

void ControlClient::run() {
  bool told = false, told_of_signal = false;
  while (true) {
    const StageReport at = hooks_.report ? hooks_.report() : StageReport();
    std::optional<RunVerdict> verdict;
    std::string why_gone;
    int signal = 0;
    pollfd ready[2] = {{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
    {
      std::unique_lock lock(mutex_);
      if (closing_) return;
      if (!gone_) {
        try {
          gone_ = !link_.receive([&](const ControlMessage& message) { member_.received(message, at); });
        } catch (const Error& error) {
          gone_ = true;
          why_gone = error.message();
        }
        // Not before what the other side said last has been read.
        gone_ |= cut_;
      }
      member_.tick(posix_env().steady_seconds(), at);
      flush(lock);
      if (gone_) member_.lost(why_gone);
      verdict = member_.verdict();
      signal = member_.preemption();
      if (!gone_) ready[1].fd = link_.descriptor();
      if (link_.waiting() > 0) ready[1].events |= POLLOUT;
      changed_.notify_all();
    }
    if (verdict && !std::exchange(told, true) && hooks_.on_verdict) hooks_.on_verdict(*verdict);
    if (signal != 0 && !std::exchange(told_of_signal, true) && hooks_.on_preemption)
      hooks_.on_preemption(signal);
    ::poll(ready, 2, kLookMilliseconds);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t done = ::read(wake_.get(), &count, sizeof count);
  }
}

}  // namespace espalier
