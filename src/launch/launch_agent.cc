#include "launch/launch_agent.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/format.h"
#include "base/shortened.h"
#include "base/split.h"
#include "comm/control_fd.h"
#include "espalier/error.h"
#include "launch/agent_orders.h"
#include "launch/control_board.h"
#include "launch/control_link.h"
#include "launch/control_proof.h"
#include "launch/control_socket.h"
#include "launch/host_address.h"
#include "launch/host_ranks.h"
#include "launch/launch_environment.h"
#include "launch/launch_process.h"
#include "launch/launch_signals.h"
#include "launch/launch_start.h"

namespace espalier {
namespace {

using Message = ControlMessage;
using AgentClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kAgentBeat{1};
// A message's text has 8 KiB, and the last lines are the ones that count.
constexpr size_t kLinesKept = 8000;
constexpr const char* kLost = "the launcher is gone";

// Lines of the launcher.
class AgentInput {
 public:
  explicit AgentInput(int descriptor) : descriptor_(descriptor) {}
  int descriptor() const { return descriptor_; }
  bool ended() const { return ended_; }
  // The next line that is there.
  std::optional<std::string> line() {
    const size_t end = text_.find('\n', looked_);
    looked_ = end == text_.npos ? text_.size() : 0;
    if (end == text_.npos) return std::nullopt;
    std::string out = text_.substr(0, end);
    text_.erase(0, end + 1);
    return out;
  }
  // What has come; waits where nothing has.
  void read() {
    char bytes[1 << 16];
    const ssize_t got = ::read(descriptor_, bytes, sizeof bytes);
    if (got > 0) text_.append(bytes, static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) ended_ = true;
  }

 private:
  const int descriptor_;
  std::string text_;
  size_t looked_ = 0;
  bool ended_ = false;
};

AgentOrders first_orders(AgentInput& input) {
  std::optional<std::string> line;
  while (!(line = input.line()) && !input.ended()) input.read();
  if (!line)
    throw FormatError("agent.orders",
                      "the agent of a host is told by espalier launch what to start, on its "
                      "standard input, and nothing came");
  return read_orders(*line);
}

class LaunchAgent final : private HostListener {
 public:
  // `file` is the program.
  LaunchAgent(AgentOrders orders, const std::string& file, AgentInput& input);
  bool run();

 private:
  void started(int rank, int64_t pid) override { say({Message::RankStarted{rank, pid}}); }
  void stopped(int rank, bool is_stopped) override { say({Message::RankStopped{rank, is_stopped}}); }
  void ended(int rank, const ProcessEnd& end, const std::optional<StageReport>& last) override;

  HostRanks::Options host_options() const;
  void join(const std::string& nonce);
  void say(const Message& message);
  void wait();
  void hear_input();
  void hear_launcher();
  void hear(const Message& message);
  void forward(int number);
  void lose_launcher();
  void give_up(const std::string& why);

  const AgentOrders orders_;
  const std::string file_;
  AgentInput& input_;
  LaunchSignals signals_;
  ControlLink link_;
  bool linked_ = true, alone_ = false;
  bool joined_ = false;
  std::vector<Message> held_;  // until then
  AgentClock::time_point beat_ = {};
  std::vector<std::string> collectives_;  // the last of each rank, when the run was given up, or it ended
  std::unique_ptr<HostRanks> ranks_;
};

LaunchAgent::LaunchAgent(AgentOrders orders, const std::string& file, AgentInput& input)
    : orders_(std::move(orders)),
      file_(file),
      input_(input),
      link_(connect_to(orders_.control)),
      collectives_(static_cast<size_t>(orders_.count())) {
  ranks_ = std::make_unique<HostRanks>(host_options(), static_cast<HostListener&>(*this));
}

HostRanks::Options LaunchAgent::host_options() const {
  HostRanks::Options out{.first = orders_.first,
                         .count = orders_.count(),
                         .world = orders_.world(),
                         .file = file_,
                         .words = orders_.program,
                         .environment = outer_environment(),
                         .chaos = parse_chaos(orders_.chaos, orders_.world()),
                         .prefix = orders_.prefix,
                         .world_board = !orders_.engine.empty()};
  const auto set = [&](const char* name, const auto& value) {
    out.environment.push_back(cat(name, "=", value));
  };
  set("ESPALIER_JOB", orders_.job);
  set("ESPALIER_RESTART", orders_.restart);
  set("ESPALIER_CONTROL", orders_.control);
  set("ESPALIER_SECRET", orders_.secret);
  set("ESPALIER_HOST", orders_.host);
  std::string sizes;
  for (const int size : orders_.sizes) sizes += cat(sizes.empty() ? "" : ",", size);
  set("ESPALIER_HOST_SIZES", sizes);
  set("ESPALIER_HOSTS", joined(orders_.hosts, ','));
  char seconds[40];
  std::snprintf(seconds, sizeof seconds, "%g", orders_.stall_after);
  set("ESPALIER_STALL_AFTER", seconds);
  if (!orders_.chaos.empty()) set("ESPALIER_CHAOS", orders_.chaos);
  if (!orders_.engine.empty()) {
    const bool is_here = !orders_.interface.empty() && has_interface(orders_.interface);
    set("ESPALIER_ENGINE", orders_.engine);
    // The way to the launcher is one that leads to other hosts.
    set("ESPALIER_ENGINE_ADDRESS", is_here ? orders_.interface : local_address(link_.descriptor()));
  }
  return out;
}

void LaunchAgent::ended(int rank, const ProcessEnd& end, const std::optional<StageReport>& last) {
  ranks_->catch_up(rank);
  std::string lines = ranks_->last_lines(rank);
  if (lines.size() > kLinesKept)
    lines = cat("\nthe last lines of rank ", rank, ":\n  | ...", lines.substr(lines.size() - kLinesKept));
  std::string& collective = collectives_[static_cast<size_t>(rank - orders_.first)];
  if (collective.empty()) collective = last_collective(ranks_->board(), ranks_->block_of(rank));
  say({Message::RankEnded{rank, end, last, lines, collective}});
}

bool LaunchAgent::run() {
  while (!ranks_->all_ended()) {
    wait();
    ranks_->look_after();
  }
  ranks_->finish();
  while (ranks_->has_output_left() && !alone_) wait();
  while (linked_ && (link_.waiting() > 0 || !held_.empty()) && !alone_) wait();
  return !alone_;
}

void LaunchAgent::wait() {
  const short room = link_.waiting() > 0 ? POLLOUT : 0;
  ranks_->wait({{signals_.descriptor(), POLLIN, 0},
                {alone_ ? -1 : input_.descriptor(), POLLIN, 0},
                {linked_ ? link_.descriptor() : -1, static_cast<short>(POLLIN | room), 0}});
  for (const int number : signals_.take()) forward(number);
  hear_input();
  if (linked_) hear_launcher();
}

void LaunchAgent::hear_input() {
  pollfd ready{input_.descriptor(), POLLIN, 0};
  if (!alone_ && ::poll(&ready, 1, 0) > 0) input_.read();
  while (const auto line = input_.line()) {
    const AgentWord word = read_word(*line);
    if (word.signal > 0) ranks_->signal(word.signal);
    if (word.end && word.verdict.empty())
      ranks_->end(std::chrono::seconds(0));
    else if (word.end)
      give_up(word.verdict);
  }
  if (!input_.ended() || std::exchange(alone_, true)) return;
  // Nobody reads what ranks write: a pipe that is closed must not end this process, and them before they have
  // said why.
  const ControlFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  for (const int stream : {1, 2}) ::dup2(nowhere.get(), stream);
  lose_launcher();
}

void LaunchAgent::hear_launcher() {
  const auto now = AgentClock::now();
  if (joined_ && now - beat_ >= kAgentBeat) {
    beat_ = now;
    say({Message::Beat{}});
  }
  bool is_there = link_.flush();
  try {
    is_there &= link_.receive([&](const Message& message) { hear(message); });
  } catch (const FormatError&) {
    is_there = false;
  }
  if (!is_there) lose_launcher();
}

void LaunchAgent::hear(const Message& message) {
  if (const auto* challenge = std::get_if<Message::Challenge>(&message.is)) join(challenge->nonce);
  if (const auto* refused = std::get_if<Message::Refused>(&message.is))
    throw RunError("agent.refused", cat("the launcher does not take this host: ", refused->why));
  if (const auto* given_up = std::get_if<Message::GivenUp>(&message.is)) {
    give_up(to_string(given_up->verdict));
  }
}

void LaunchAgent::forward(int number) {
  ranks_->signal(number);
  if (number != SIGTSTP) return;
  ::raise(SIGSTOP);
  ranks_->signal(SIGCONT);
}

void LaunchAgent::join(const std::string& nonce) {
  if (std::exchange(joined_, true)) return;
  const Message::HostJoin join{{}, orders_.host, orders_.name, orders_.first, orders_.count()};
  say({proved(join, orders_.secret, nonce)});
  for (const Message& message : std::exchange(held_, {})) say(message);
}

void LaunchAgent::say(const Message& message) {
  if (!joined_)
    held_.push_back(message);
  else if (linked_ && !link_.send(message))
    lose_launcher();
}

void LaunchAgent::lose_launcher() {
  if (std::exchange(linked_, false)) give_up(kLost);
}

void LaunchAgent::give_up(const std::string& why) {
  for (size_t i = 0; i < collectives_.size(); ++i) {
    const int rank = orders_.first + static_cast<int>(i);
    if (collectives_[i].empty()) collectives_[i] = last_collective(ranks_->board(), ranks_->block_of(rank));
  }
  ranks_->give_up(why);
  ranks_->end(kHearing);
}

}  // namespace

bool run_agent(int input) {
  AgentInput lines(input);
  AgentOrders orders = first_orders(lines);
  if (::chdir(orders.folder.c_str()) != 0)
    throw IoError("agent.folder", cat("the launcher's folder ", shortened(orders.folder),
                                      " is not on this host: ", std::strerror(errno)));
  for (const std::string& variable : orders.environment) {
    const size_t mark = variable.find('=');
    if (mark != variable.npos && mark > 0)
      ::setenv(variable.substr(0, mark).c_str(), variable.c_str() + mark + 1, 1);
  }
  const std::string file = program_file(orders.program[0]);
  LaunchAgent agent(std::move(orders), file, lines);
  return agent.run();
}

}  // namespace espalier
