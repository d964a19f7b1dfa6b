#include "launch/host_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/format.h"
#include "base/shortened.h"
#include "comm/control_fd.h"
#include "espalier/error.h"

namespace espalier {
namespace {

// "" where it is not of the internet.
std::string numbers_of(const sockaddr* address) {
  if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return {};
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  char text[NI_MAXHOST] = {};
  return ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all_interfaces() {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) found = nullptr;
  return {found, ::freeifaddrs};
}

}  // namespace

std::string address_of_interface(const std::string& name) {
  std::string six, known;
  const auto interfaces = all_interfaces();
  for (const ifaddrs* at = interfaces.get(); at; at = at->ifa_next) {
    const std::string address = numbers_of(at->ifa_addr);
    if (address.empty()) continue;
    known += cat(known.empty() ? "" : ", ", at->ifa_name, " (", address, ")");
    if (address == name) return address;
    if (at->ifa_name != name) continue;
    if (at->ifa_addr->sa_family == AF_INET) return address;
    if (six.empty()) six = address;
  }
  if (!six.empty()) return six;
  throw ValueError("launch.interface", cat("--interface ", shortened(name),
                                           " is no interface with an address here, and no address "
                                           "of one; there ",
                                           known.empty() ? "is none" : cat("are ", known)));
}

std::string network_of_interface(const std::string& name) {
  const std::string address = address_of_interface(name);
  if (has_interface(name)) return name;
  const auto interfaces = all_interfaces();
  for (const ifaddrs* at = interfaces.get(); at; at = at->ifa_next) {
    if (numbers_of(at->ifa_addr) != address) continue;
    if (at->ifa_addr->sa_family != AF_INET || !at->ifa_netmask) return at->ifa_name;
    const auto* mask = reinterpret_cast<const sockaddr_in*>(at->ifa_netmask);
    return cat(address, "/", std::popcount(mask->sin_addr.s_addr));
  }
  return name;
}

bool has_interface(const std::string& name) { return ::if_nametoindex(name.c_str()) != 0; }

std::string address_towards(const std::string& host, std::string* why) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  // A port is needed, and nothing is sent to it.
  if (const int code = ::getaddrinfo(host.c_str(), "9", &wanted, &found); code != 0) {
    if (why) *why = ::gai_strerror(code);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  for (const addrinfo* at = found; at; at = at->ai_next) {
    const ControlFd socket(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket && ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0)
      return local_address(socket.get());
    if (why) *why = std::strerror(errno);
  }
  return {};
}

std::string numbers_of_host(const std::string& host) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  return numbers_of(found->ai_addr);
}

std::string address_for_others() {
  std::string six;
  const auto interfaces = all_interfaces();
  for (const ifaddrs* at = interfaces.get(); at; at = at->ifa_next) {
    if (at->ifa_flags & IFF_LOOPBACK) continue;
    const std::string address = numbers_of(at->ifa_addr);
    if (address.empty()) continue;
    if (at->ifa_addr->sa_family == AF_INET) return address;
    if (six.empty() && !address.starts_with("fe80:")) six = address;
  }
  return six;
}

std::string local_address(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return numbers_of(reinterpret_cast<const sockaddr*>(&address));
}

std::string control_address(const std::string& address) {
  return address.find(':') == address.npos ? cat("tcp:", address, ":0") : cat("tcp:[", address, "]:0");
}

}  // namespace espalier
