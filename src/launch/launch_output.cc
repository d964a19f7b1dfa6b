#include "launch/launch_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kReadBytes = 1 << 14, kLongestLine = 1 << 16, kKeptBytes = 500;

}  // namespace

void LaunchStream::write() {
  size_t done = 0;
  for (pollfd room{to_, POLLOUT, 0}; done < waiting_.size() && ::poll(&room, 1, 0) > 0;) {
    // A pipe that has room at all has it for so many bytes. Ends of lines: the other stream may go there,
    // too.
    std::string_view next = std::string_view(waiting_).substr(done);
    if (next.size() > PIPE_BUF) {
      next = next.substr(0, PIPE_BUF);
      if (const size_t end = next.rfind('\n'); end != next.npos) next = next.substr(0, end + 1);
    }
    const ssize_t wrote = ::write(to_, next.data(), next.size());
    if (wrote >= 0)
      done += static_cast<size_t>(wrote);
    else if (errno != EINTR && errno != EAGAIN)
      throw IoError("launch.output", cat("what a rank wrote cannot be passed on: ", std::strerror(errno)));
  }
  waiting_.erase(0, done);
}

LaunchOutput::LaunchOutput(ControlFd from, LaunchStream& to, bool by_lines, std::string prefix)
    : from_(std::move(from)), to_(&to), by_lines_(by_lines), prefix_(std::move(prefix)) {
  ::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
}

void LaunchOutput::pass_on() {
  char bytes[kReadBytes];
  // One read: others wait too.
  const ssize_t got = ::read(from_.get(), bytes, sizeof bytes);
  if (got > 0) return take({bytes, static_cast<size_t>(got)});
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  from_.close();
  if (line_.empty() && !begun_) return;
  keep(line_);
  if (by_lines_) to_->add(cat(begun_ ? "" : prefix_, line_, "\n"));
  line_.clear();
}

void LaunchOutput::catch_up() {
  // Not more than this: who has left its rank's group may write for ever.
  int left = 0;
  if (from_ && ::ioctl(from_.get(), FIONREAD, &left) != 0) left = 0;
  for (; from_ && left > 0; left -= static_cast<int>(kReadBytes)) pass_on();
}

void LaunchOutput::finish() {
  catch_up();
  from_ = ControlFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  pass_on();
}

void LaunchOutput::take(std::string_view bytes) {
  if (!by_lines_) to_->add(bytes);
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
  to_->add(out);
}

void LaunchOutput::keep(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  line = line.substr(line.rfind('\r') + 1);
  last_.emplace_back(line.substr(0, kKeptBytes));
  if (last_.size() > kKeptLines) last_.pop_front();
}

}  // namespace espalier
