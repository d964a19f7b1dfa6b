// "host:port", "[::1]:8000".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

struct HostPort {
  std::string host;
  int port = 0;
};
// Nothing where it is none: a host without blanks, of at most 255 bytes, and a port from 1 to 65535. An
// address with colons stands in brackets, which `host` is without.
std::optional<HostPort> parse_host_port(std::string_view text);
std::string to_string(const HostPort& place);
// 127.0.0.1, ::1, localhost: what no other host can reach.
bool is_loopback(std::string_view host);

}  // namespace espalier
