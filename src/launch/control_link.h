// A socket that carries messages.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "comm/control_fd.h"
#include "launch/control_message.h"

namespace espalier {

class ControlLink {
 public:
  // Beyond it nobody reads at the other end.
  static constexpr size_t kMostWaiting = size_t{1} << 20;

  explicit ControlLink(ControlFd socket) : socket_(std::move(socket)) {}
  int descriptor() const { return socket_.get(); }

  // What has come, at most some frames. False when the other side is gone. Raises what ControlReader::next()
  // does.
  bool receive(const std::function<void(const ControlMessage&)>& take);
  // Sends as much as there is room for, and keeps the rest. False when the other side is gone.
  bool send(const ControlMessage& message);
  bool flush();
  // Bytes that wait for room.
  size_t waiting() const { return out_.size(); }

 private:
  ControlFd socket_;
  ControlReader reader_;
  std::string out_;
};

}  // namespace espalier
