#include "launch/host_port.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace espalier {

std::optional<HostPort> parse_host_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || text.size() > 300) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  HostPort out;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc() || end != digits.data() + digits.size() || out.port < 1 || out.port > 65535)
    return std::nullopt;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto strange = [&](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '[' || c == ']' || c == '/' ||
           c == ',' || (c == ':' && !bracketed);
  };
  if (host.empty() || host.size() > 255 || std::ranges::any_of(host, strange)) return std::nullopt;
  out.host = host;
  return out;
}

std::string to_string(const HostPort& place) {
  const bool bracketed = place.host.find(':') != place.host.npos;
  return bracketed ? cat("[", place.host, "]:", place.port) : cat(place.host, ":", place.port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "0:0:0:0:0:0:0:1" || host.starts_with("127.") ||
         host.starts_with("::ffff:127.");
}

}  // namespace espalier
