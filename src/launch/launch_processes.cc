#include "launch/launch_processes.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "espalier/error.h"
#include "report/terminal.h"

namespace espalier {
namespace {

constexpr int kOutputLookMilliseconds = 100;

[[noreturn]] void no_descriptor(const char* what) {
  const bool too_many = errno == EMFILE;
  throw IoError("launch.start", cat("cannot make ", what, " for a rank: ", std::strerror(errno)),
                too_many ? "raise the limit of open files: ulimit -n 4096" : "");
}

}  // namespace

LaunchPipe make_launch_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) no_descriptor("a pipe");
  return {ControlFd(ends[0]), ControlFd(ends[1])};
}

Process& LaunchProcesses::start(const Start& start) {
  const ControlFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) no_descriptor("an empty input");
  LaunchPipe out = make_launch_pipe(), err = make_launch_pipe();
  std::vector<std::string> environment = start.environment;
  const std::string terminals = start.by_lines ? ""
                                               : terminal_behind(out.write.get(), output_.descriptor()) +
                                                     terminal_behind(err.write.get(), errors_.descriptor());
  if (!terminals.empty()) environment.push_back(cat(kTerminalBehind, "=", terminals));
  auto process =
      std::make_unique<Process>(start.file, start.words, environment,
                                Process::Streams{start.in < 0 ? nothing.get() : start.in, out.write.get(),
                                                 err.write.get(), guard_.descriptor()});
  all_.push_back({LaunchOutput(std::move(out.read), output_, start.by_lines, start.prefix),
                  LaunchOutput(std::move(err.read), errors_, start.by_lines, start.prefix),
                  std::move(process)});
  return *all_.back().process;
}

Process::Event LaunchProcesses::poll(size_t number) {
  Process& process = of(number);
  Process::Event event = process.poll();
  if (event.end) guard_.remove(process.id());
  return event;
}

void LaunchProcesses::signal_all(int number) {
  for (const One& one : all_) one.process->signal(number);
}

bool LaunchProcesses::all_ended() const {
  return std::ranges::all_of(all_, [](const One& one) { return one.process->ended(); });
}

void LaunchProcesses::wait(std::vector<pollfd> also) {
  const size_t first = also.size();
  std::vector<LaunchOutput*> outputs;
  for (One& one : all_) {
    for (LaunchOutput* from : {&one.output, &one.errors}) {
      if (from->descriptor() < 0 || !from->may_read()) continue;
      also.push_back({from->descriptor(), POLLIN, 0});
      outputs.push_back(from);
    }
  }
  for (const LaunchStream* to : {&output_, &errors_}) {
    if (!to->empty()) also.push_back({to->descriptor(), POLLOUT, 0});
  }
  if (::poll(also.data(), also.size(), kOutputLookMilliseconds) <= 0) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (also[first + i].revents) outputs[i]->pass_on();
  }
  for (LaunchStream* to : {&output_, &errors_}) to->write();
}

void LaunchProcesses::catch_up(size_t number) {
  all_[number].output.catch_up();
  all_[number].errors.catch_up();
}

void LaunchProcesses::finish() {
  // One that has left its process's group may hold a stream open for ever.
  for (One& one : all_) {
    one.output.finish();
    one.errors.finish();
  }
}

std::string LaunchProcesses::last_lines(size_t number, const std::string& whose) const {
  const std::deque<std::string>& lines = all_[number].errors.last_lines();
  if (lines.empty()) return {};
  std::string out = cat("\nthe last ", counted(lines.size(), "line"), " of ", whose, ":");
  for (const std::string& line : lines) out += cat("\n  | ", line);
  return out;
}

}  // namespace espalier
