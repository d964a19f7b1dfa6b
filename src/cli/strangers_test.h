// Strangers who connect to the ports of a run.
#pragma once

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/beside_test.h"
#include "comm/control_fd.h"

namespace espalier::cli {

// A TCP port at which a process listens.
struct ListeningPort {
  std::string inode;
  bool is_six = false;
  std::string address;  // as /proc/net/tcp has it: hexadecimal words of the machine's order
  uint16_t number = 0;
  std::string program;

  auto operator<=>(const ListeningPort& other) const { return inode <=> other.inode; }
  bool operator==(const ListeningPort& other) const { return inode == other.inode; }
};

// Of all processes below `root`.
inline std::set<ListeningPort> listening_ports(pid_t root) {
  std::map<std::string, ListeningPort> all;
  for (const bool is_six : {false, true}) {
    std::ifstream in(is_six ? "/proc/net/tcp6" : "/proc/net/tcp");
    std::string line;
    for (std::getline(in, line); std::getline(in, line);) {
      std::istringstream words(line);
      std::string word[10];
      for (std::string& one : word) words >> one;
      if (word[3] != "0A") continue;  // LISTEN
      const size_t colon = word[1].find(':');
      all[word[9]] = {.inode = word[9],
                      .is_six = is_six,
                      .address = word[1].substr(0, colon),
                      .number = static_cast<uint16_t>(std::stoul(word[1].substr(colon + 1), nullptr, 16)),
                      .program = {}};
    }
  }
  std::set<ListeningPort> out;
  for (const pid_t process : processes_below(root)) {
    const std::filesystem::path folder = "/proc/" + std::to_string(process);
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder / "fd", error), end; !error && at != end;
         at.increment(error)) {
      const std::string what = std::filesystem::read_symlink(at->path(), error).string();
      if (error || !what.starts_with("socket:[")) continue;
      const auto found = all.find(what.substr(8, what.size() - 9));
      if (found == all.end()) continue;
      ListeningPort port = found->second;
      std::getline(std::ifstream(folder / "comm"), port.program);
      out.insert(port);
    }
  }
  return out;
}

enum class Visit { kBytes, kRequest, kHalfOpen };
inline const char* to_string(Visit visit) {
  return visit == Visit::kBytes     ? "64 random bytes"
         : visit == Visit::kRequest ? "an HTTP request"
                                    : "200 connections that say nothing";
}

// Their connections stay open while it lives.
class Callers {
 public:
  Callers() {
    rlimit most = {};
    ::getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &most);
  }
  // How many of them were connected.
  int visit(const ListeningPort& port, Visit visit) {
    const int callers = visit == Visit::kHalfOpen ? 200 : 1;
    for (int i = 0; i < callers; ++i) {
      ControlFd socket = connected(port);
      if (!socket) return i;
      std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
      if (visit == Visit::kBytes) {
        text.resize(64);
        for (char& byte : text) byte = static_cast<char>(random_());
      }
      if (visit != Visit::kHalfOpen) ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
      connections_.push_back(std::move(socket));
    }
    return callers;
  }

 private:
  static ControlFd connected(const ListeningPort& port) {
    ControlFd out(::socket(port.is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval most{1, 0};
    ::setsockopt(out.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    // At any address: at this machine's own.
    sockaddr_in6 six = {};
    sockaddr_in four = {};
    const auto word = [&](size_t i) {
      return static_cast<uint32_t>(std::stoul(port.address.substr(8 * i, 8), nullptr, 16));
    };
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    six.sin6_port = four.sin_port = htons(port.number);
    for (size_t i = 0; port.is_six && i < 4; ++i) six.sin6_addr.s6_addr32[i] = word(i);
    if (!port.is_six) four.sin_addr.s_addr = word(0);
    const int done = port.is_six
                         ? ::connect(out.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six)
                         : ::connect(out.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four);
    return done == 0 ? std::move(out) : ControlFd();
  }

  std::mt19937 random_{7};
  std::vector<ControlFd> connections_;
};

}  // namespace espalier::cli
