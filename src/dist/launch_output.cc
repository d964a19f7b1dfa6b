#include "dist/launch_output.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kLongestLine = 1 << 16, kKeptBytes = 500;

void write_whole(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(to, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<size_t>(done));
    } else if (errno == EAGAIN) {
      pollfd room{to, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      throw IoError("launch.output", cat("what a rank wrote cannot be passed on: ", std::strerror(errno)));
    }
  }
}

}  // namespace

LaunchOutput::LaunchOutput(ControlFd from, int to, bool by_lines, std::string prefix)
    : from_(std::move(from)), to_(to), by_lines_(by_lines), prefix_(std::move(prefix)) {
  ::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
}

void LaunchOutput::pass_on() {
  char bytes[1 << 14];
  // One read: others wait too.
  const ssize_t got = ::read(from_.get(), bytes, sizeof bytes);
  if (got > 0) return take({bytes, static_cast<size_t>(got)});
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  from_.close();
  if (line_.empty() && !begun_) return;
  keep(line_);
  if (by_lines_) write_whole(to_, cat(begun_ ? "" : prefix_, line_, "\n"));
  line_.clear();
}

void LaunchOutput::finish() {
  for (pollfd ready{from_.get(), POLLIN, 0}; from_ && ::poll(&ready, 1, 0) > 0;) pass_on();
  from_ = ControlFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  pass_on();
}

void LaunchOutput::take(std::string_view bytes) {
  if (!by_lines_) write_whole(to_, bytes);
  std::string out;
  for (size_t end; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
    line_ += bytes.substr(0, end);
    keep(line_);
    if (by_lines_) out += cat(begun_ ? "" : prefix_, line_, "\n");
    line_.clear();
    begun_ = false;
  }
  line_ += bytes;
  if (line_.size() > kLongestLine) {
    if (by_lines_) out += cat(begun_ ? "" : prefix_, line_);
    line_.clear();
    begun_ = true;
  }
  write_whole(to_, out);
}

void LaunchOutput::keep(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  line = line.substr(line.rfind('\r') + 1);
  last_.emplace_back(line.substr(0, kKeptBytes));
  if (last_.size() > kKeptLines) last_.pop_front();
}

}  // namespace espalier
