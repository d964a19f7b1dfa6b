#include "launch/control_link.h"

#include <sys/socket.h>

#include <cerrno>

namespace espalier {

bool ControlLink::receive(const std::function<void(const ControlMessage&)>& take) {
  char bytes[1 << 14];
  for (int i = 0; i < 8; ++i) {
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    reader_.add({bytes, static_cast<size_t>(got)});
    while (const auto message = reader_.next()) take(*message);
  }
  return true;
}

bool ControlLink::send(const ControlMessage& message) {
  out_ += frame_of(message);
  return flush();
}

bool ControlLink::flush() {
  while (!out_.empty()) {
    const ssize_t done = ::send(socket_.get(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done >= 0) {
      out_.erase(0, static_cast<size_t>(done));
    } else if (errno == EAGAIN) {
      return out_.size() <= kMostWaiting;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace espalier
