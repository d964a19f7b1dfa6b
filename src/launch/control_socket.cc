#include "launch/control_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr int kConnectMilliseconds = 10000;
// What is sent is taken by the system on the other side within this time, or the other side is gone: a cable
// that is cut says nothing. Whoever has nothing to send asks every few seconds whether anybody is there.
constexpr int kDeadMilliseconds = 8000, kAskSeconds = 2;

struct Place {
  sockaddr_storage address = {};
  socklen_t size = 0;
};

[[noreturn]] void no_address(std::string_view address, std::string_view why) {
  throw ValueError("control.address", cat("\"", shortened(address), "\" is no address of a run: ", why));
}

Place place_of(const std::string& address) {
  Place out;
  if (address.starts_with("unix:@")) {
    const std::string name = address.substr(6);
    auto* local = reinterpret_cast<sockaddr_un*>(&out.address);
    if (name.empty() || name.size() + 1 > sizeof local->sun_path)
      no_address(address, "its name has 1 to 107 bytes");
    local->sun_family = AF_UNIX;
    name.copy(local->sun_path + 1, name.size());
    out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return out;
  }
  if (!address.starts_with("tcp:")) no_address(address, "it begins with unix:@ or tcp:");
  const size_t colon = address.rfind(':');
  if (colon == 3) no_address(address, "it has no port");
  std::string host = address.substr(4, colon - 4);
  const std::string port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos ||
      std::stoi(port) > 65535)
    no_address(address, "its port is no number from 0 to 65535");
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  if (code != 0)
    throw IoError("control.connect", cat("the host ", shortened(host), ": ", ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::memcpy(&out.address, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  return out;
}

// " (10.0.0.5)" behind an address whose host is a name.
std::string numbers_behind(const std::string& address, const Place& place) {
  char host[NI_MAXHOST] = {};
  if (place.address.ss_family == AF_UNIX ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&place.address), place.size, host, sizeof host, nullptr,
                    0, NI_NUMERICHOST) != 0 ||
      address.find(host) != address.npos)
    return "";
  const std::string_view numbers = host;
  return cat(" (", numbers, numbers.starts_with("127.") || numbers == "::1" ? ", this host itself)" : ")");
}

ControlFd socket_for(const Place& place) {
  ControlFd out(::socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out) throw IoError("control.connect", cat("cannot make a socket: ", std::strerror(errno)));
  return out;
}

// Accepted sockets have what the listening one has.
void find_dead_peers(int socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kAskSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kAskSeconds);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kDeadMilliseconds);
}

}  // namespace

ControlFd listen_at(std::string& address) {
  const Place place = place_of(address);
  ControlFd out = socket_for(place);
  // Where a run has just ended, the ends of its connections are kept for a minute, and nobody listens.
  const int on = 1;
  if (place.address.ss_family != AF_UNIX) ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(out.get(), reinterpret_cast<const sockaddr*>(&place.address), place.size) != 0 ||
      ::listen(out.get(), SOMAXCONN) != 0)
    throw IoError("control.listen", cat("cannot listen at ", shortened(address), ": ", std::strerror(errno)));
  if (place.address.ss_family == AF_UNIX) return out;
  find_dead_peers(out.get());
  sockaddr_storage got = {};
  socklen_t size = sizeof got;
  ::getsockname(out.get(), reinterpret_cast<sockaddr*>(&got), &size);
  const in_port_t port = got.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&got)->sin6_port
                                                   : reinterpret_cast<sockaddr_in*>(&got)->sin_port;
  address = cat(address.substr(0, address.rfind(':') + 1), ntohs(port));
  return out;
}

ControlFd connect_to(const std::string& address, std::string_view whom) {
  const Place place = place_of(address);
  ControlFd out = socket_for(place);
  const auto connect = [&] {
    const auto* address_of = reinterpret_cast<const sockaddr*>(&place.address);
    return ::connect(out.get(), address_of, place.size) == 0 ? 0 : errno;
  };
  int error = connect();
  // The queue of a Unix socket is full.
  for (int waited = 0; error == EAGAIN && waited < kConnectMilliseconds; waited += 10, error = connect())
    ::poll(nullptr, 0, 10);
  if (error == EINPROGRESS || error == EINTR) {
    pollfd ready{out.get(), POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&ready, 1, kConnectMilliseconds) <= 0)
      error = ETIMEDOUT;
    else
      ::getsockopt(out.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0)
    throw IoError("control.connect", cat("cannot reach ", whom, " at ", shortened(address),
                                         numbers_behind(address, place), ": ", std::strerror(error)));
  if (place.address.ss_family != AF_UNIX) find_dead_peers(out.get());
  return out;
}

}  // namespace espalier
