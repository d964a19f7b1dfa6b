// What goes over a TCP connection, recorded on its way.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/sha256.h"
#include "comm/control_fd.h"
#include "espalier/error.h"
#include "launch/control_socket.h"

namespace espalier {

// Passes on to `target` what comes to its own address, and back; a thread of its own does. Whoever comes
// before the target is there waits for it.
class WireRecorder {
 public:
  explicit WireRecorder(std::string target) : target_(std::move(target)), listener_(listen_at(address_)) {
    thread_ = std::thread([this] { run(); });
  }
  ~WireRecorder() {
    over_ = true;
    thread_.join();
  }

  const std::string& address() const { return address_; }
  struct Recorded {
    std::string there, back;
  };
  // Of each connection, in order.
  std::vector<Recorded> recorded() const {
    const std::lock_guard lock(mutex_);
    std::vector<Recorded> out;
    for (const Connection& one : connections_) out.push_back(one.bytes);
    return out;
  }
  // All of it.
  std::string bytes() const {
    std::string out;
    for (const Recorded& one : recorded()) out += one.there + one.back;
    return out;
  }

 private:
  struct Connection {
    ControlFd from, to;
    Recorded bytes = {};
  };

  void run() {
    while (!over_) {
      std::vector<pollfd> ready{{listener_.get(), POLLIN, 0}};
      for (const Connection& one : connections_) {
        ready.push_back({one.from.get(), POLLIN, 0});
        ready.push_back({one.to.get(), POLLIN, 0});
      }
      ::poll(ready.data(), ready.size(), 20);
      const std::lock_guard lock(mutex_);
      for (Connection& one : connections_) {
        if (one.from && !one.to) connect(one);
        pass(one, one.from, one.to, one.bytes.there);
        pass(one, one.to, one.from, one.bytes.back);
      }
      ControlFd from(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (from) connections_.push_back({std::move(from), ControlFd()});
    }
  }
  void connect(Connection& one) const {
    try {
      one.to = connect_to(target_);
    } catch (const IoError&) {
      // Not yet.
    }
  }
  // Ends both sides where one has ended.
  static void pass(Connection& one, ControlFd& from, ControlFd& to, std::string& record) {
    char bytes[1 << 14];
    while (from && to) {
      const ssize_t got = ::recv(from.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return;
      for (ssize_t at = 0; at < got;) {
        const ssize_t done =
            ::send(to.get(), bytes + at, static_cast<size_t>(got - at), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno != EAGAIN) break;
        at += done < 0 ? 0 : done;
      }
      if (got <= 0) {
        one.from.close();
        one.to.close();
        return;
      }
      record.append(bytes, static_cast<size_t>(got));
    }
  }

  const std::string target_;
  std::string address_ = "tcp:127.0.0.1:0";
  ControlFd listener_;
  std::atomic<bool> over_{false};
  mutable std::mutex mutex_;
  std::list<Connection> connections_;  // the thread's; others look under mutex_
  std::thread thread_;
};

// The forms in which a secret could be found among bytes: itself, in hexadecimal digits, its digests.
inline std::vector<std::string> forms_of_secret(const std::string& secret) {
  const auto hex = [](const std::string& bytes, const char* digits) {
    std::string out;
    for (const char byte : bytes)
      for (const int digit : {static_cast<uint8_t>(byte) >> 4, byte & 15}) out += digits[digit];
    return out;
  };
  std::vector<std::string> out;
  for (const std::string& bytes : {secret, hmac_sha256(secret, ""), hmac_sha256("", secret)}) {
    out.push_back(bytes);
    out.push_back(hex(bytes, "0123456789abcdef"));
    out.push_back(hex(bytes, "0123456789ABCDEF"));
  }
  out.push_back(sha256_of(secret));
  out.emplace_back(secret.rbegin(), secret.rend());
  // Half of it would be half of the work.
  out.push_back(secret.substr(0, secret.size() / 2));
  out.push_back(secret.substr(secret.size() / 2));
  return out;
}

}  // namespace espalier
