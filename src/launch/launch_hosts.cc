#include "launch/launch_hosts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/format.h"
#include "base/version.h"
#include "espalier/error.h"
#include "launch/control_text.h"
#include "launch/host_address.h"
#include "launch/host_port.h"
#include "launch/launch_environment.h"
#include "launch/launch_process.h"

namespace espalier {
namespace {

// What an agent that was told to end its ranks may take, beside the time that these have.
constexpr std::chrono::seconds kAgentEnd{5};

// Where ranks of all hosts find the launcher.
std::string launcher_address(const LaunchOptions& options) {
  if (!options.interface.empty()) return address_of_interface(options.interface);
  std::string why, loopback;
  for (const RunHost& host : options.hosts) {
    const std::string found = address_towards(host.name.substr(host.name.find('@') + 1), &why);
    if (found.empty()) continue;
    if (!is_loopback(found)) return found;
    loopback = found;
  }
  if (!loopback.empty()) return loopback;
  throw ValueError("launch.interface",
                   cat("host ", options.hosts[0].name, ": ", why,
                       "; so it is not known at which address of this host its ranks find the launcher"),
                   "--interface eth0, or an address of this host");
}

ControlCoordinator::Options hosted_coordination(const LaunchOptions& options, const std::string& run,
                                                const std::string& secret) {
  ControlCoordinator::Options out = coordination(options, run, secret);
  int first = 0;
  for (const RunHost& host : options.hosts) {
    out.hosts.push_back({host.name, first, host.ranks});
    first += host.ranks;
  }
  return out;
}

// A pipe whose reader is gone is no reason to end.
ssize_t write_without_signal(int to, const std::string& text) {
  sigset_t pipe, before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t wrote = ::write(to, text.data(), text.size());
  const int error = errno;
  if (wrote < 0 && error == EPIPE && !::sigismember(&before, SIGPIPE)) {
    const timespec none = {};
    ::sigtimedwait(&pipe, nullptr, &none);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return wrote;
}

}  // namespace

LaunchHosts::LaunchHosts(const LaunchOptions& options, const std::string& job, int restart)
    : options_(options),
      run_(start_name(job, restart)),
      secret_(random_name() + random_name()),
      control_(control_address(launcher_address(options)), hosted_coordination(options, run_, secret_)),
      tally_(options.ranks),
      lines_(static_cast<size_t>(options.ranks)),
      collectives_(lines_),
      agents_(options.output, options.errors) {
  AgentOrders orders{.version = std::string(kVersion),
                     .job = job,
                     .restart = restart,
                     .control = control_.address(),
                     .secret = secret_,
                     .folder = std::filesystem::current_path().string(),
                     .environment = with_variables(forwarded_environment(), options.environment),
                     .program = options.program,
                     .chaos = restart == 0 ? options.chaos : std::string(),
                     .prefix = options.prefix,
                     .engine = options.engine,
                     .interface = options.interface,
                     .stall_after = options.stall_after};
  for (const RunHost& host : options.hosts) {
    orders.sizes.push_back(host.ranks);
    orders.hosts.push_back(host.name.substr(host.name.find('@') + 1));
  }
  for (size_t i = 0; i < options.hosts.size(); ++i) {
    orders.host = static_cast<int>(i);
    orders.name = options.hosts[i].name;
    start_agent(i, orders);
    orders.first += options.hosts[i].ranks;
  }
}

void LaunchHosts::start_agent(size_t number, AgentOrders orders) {
  LaunchProcesses::Start start;
  start.words = agent_words(options_.agent, orders.name,
                            {std::filesystem::read_symlink("/proc/self/exe").string(), "agent"});
  start.environment = outer_environment();
  start.file = program_file(start.words[0]);
  LaunchPipe pipe = make_launch_pipe();
  ::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);
  start.in = pipe.read.get();
  // Rank 0 is of the first, whose agent passes its output on byte by byte.
  start.by_lines = options_.prefix || number > 0;
  agents_.start(start);
  inputs_.push_back({std::move(pipe.write), line_of(orders)});
  flush(inputs_.back());
}

bool LaunchHosts::is_over() const {
  return agents_.all_ended() && (tally_.all_ended() || control_.verdict());
}

void LaunchHosts::run(LaunchSignals& signals) {
  while (!is_over()) {
    wait(signals);
    for (const int number : signals.take()) forward(number);
    for (Input& input : inputs_) flush(input);
    control_.serve();
    look_after_agents();
    hear();  // behind the agents: what the last of them said of its ranks counts, too
    if (kill_at_ && Clock::now() >= *kill_at_) agents_.signal_all(SIGKILL);
  }
  tally_.see([](int, LaunchRecord::Rank&) {});
  agents_.finish();
  pass_on_the_rest(signals);
}

// As LaunchRanks does.
void LaunchHosts::pass_on_the_rest(LaunchSignals& signals) {
  for (std::optional<Clock::time_point> until; agents_.has_output_left();) {
    for (const int number : signals.take()) tally_.forwarded(number);
    if (was_told_to_end() && !until) until = Clock::now() + kReading;
    if (until && Clock::now() >= *until) return;
    wait(signals);
  }
}

void LaunchHosts::wait(LaunchSignals& signals) {
  std::vector<pollfd> also{{signals.descriptor(), POLLIN, 0}, {control_.descriptor(), POLLIN, 0}};
  for (const Input& input : inputs_) {
    if (!input.waiting.empty()) also.push_back({input.to.get(), POLLOUT, 0});
  }
  agents_.wait(std::move(also));
}

void LaunchHosts::forward(int number) {
  tell({.signal = number});
  tally_.forwarded(number);
  if (number != SIGTSTP) return;
  ::raise(SIGSTOP);
  tell({.signal = SIGCONT});
}

void LaunchHosts::tell(const AgentWord& word) {
  for (Input& input : inputs_) {
    if (input.to) input.waiting += line_of(word);
    flush(input);
  }
}

void LaunchHosts::flush(Input& input) {
  while (!input.waiting.empty()) {
    const ssize_t wrote = write_without_signal(input.to.get(), input.waiting);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) return;
    // Nobody reads: its end says more.
    if (wrote < 0) input = {};
    input.waiting.erase(0, static_cast<size_t>(std::max<ssize_t>(wrote, 0)));
  }
}

void LaunchHosts::look_after_agents() {
  for (size_t i = 0; i < agents_.size(); ++i) {
    if (agents_.of(i).ended()) continue;
    if (const Process::Event event = agents_.poll(i); event.end) {
      control_.serve();  // its last words
      control_.agent_ended(static_cast<int>(i), *event.end);
    }
  }
}

void LaunchHosts::hear() {
  for (const ControlAction& action : control_.take_news()) {
    if (const auto* warning = std::get_if<ControlAction::Warn>(&action.is); warning && options_.say)
      options_.say(cat("warning: ", warning->text));
    if (const auto* started = std::get_if<ControlAction::Started>(&action.is))
      tally_.started(started->rank, started->pid, options_.hosts[host_of(started->rank)].name);
    if (const auto* ended = std::get_if<ControlAction::Ended>(&action.is)) {
      lines_[static_cast<size_t>(ended->rank)] = ended->lines;
      collectives_[static_cast<size_t>(ended->rank)] = ended->collective;
      tally_.ended(ended->rank, ended->end, kill_at_.has_value());
    }
    if (const auto* given_up = std::get_if<ControlAction::GiveUp>(&action.is)) {
      gone_host_ = given_up->host;
      tally_.see([&](int rank, LaunchRecord::Rank& record) {
        if (const auto at = control_.report_of(rank)) record.doing = stage_text(*at);
      });
      // Most have heard of it by now; one whose connection is lost may still be there.
      tell({.end = true, .verdict = to_string(given_up->verdict)});
      end_agents_soon();
    }
  }
  // Programs that do not join have no coordinator to wait for.
  if (tally_.any_failed() && control_.joined() == 0 && !kill_at_) {
    tell({.end = true});
    end_agents_soon();
  }
}

void LaunchHosts::end_agents_soon() {
  if (!kill_at_) kill_at_ = Clock::now() + kAgentEnd;
}

size_t LaunchHosts::host_of(int rank) const {
  size_t host = 0;
  for (; rank >= options_.hosts[host].ranks; ++host) rank -= options_.hosts[host].ranks;
  return host;
}

std::string LaunchHosts::last_lines(int rank) const {
  const std::string& own = lines_[static_cast<size_t>(rank)];
  const size_t host = host_of(rank);
  if (!own.empty() || tally_.has_ended(rank)) return own;
  return agents_.last_lines(host, cat("host ", options_.hosts[host].name));
}

LaunchRecord LaunchHosts::record() const {
  std::string aside =
      gone_host_ < 0 ? std::string()
                     : agents_.last_lines(static_cast<size_t>(gone_host_),
                                          cat("host ", options_.hosts[static_cast<size_t>(gone_host_)].name));
  bool any = false;
  for (size_t rank = 0; rank < collectives_.size(); ++rank) {
    if (collectives_[rank].empty()) continue;
    if (!std::exchange(any, true)) aside += "\nthe last collective of each rank:";
    aside += cat("\n  | rank ", rank, ": ", collectives_[rank]);
  }
  return tally_.record(
      control_.verdict(), [&](int rank) { return last_lines(rank); }, aside);
}

}  // namespace espalier
