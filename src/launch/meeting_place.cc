#include "launch/meeting_place.h"

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "launch/host_address.h"
#include "launch/host_port.h"

namespace espalier {

std::string loopback_problem(const ClusterPlace& place) {
  const auto meet = parse_host_port(place.coordinator);
  if (!meet || is_loopback(meet->host)) return "";
  const std::string numbers = numbers_of_host(meet->host);
  if (!is_loopback(numbers)) return "";
  return cat("rank 0 listens at the loopback address ", numbers, ", which ", shortened(meet->host),
             " is on this host (/etc/hosts): ranks of other hosts cannot reach it");
}

std::string loopback_cure(const ClusterPlace& place) {
  const std::string address = address_for_others();
  const int port = parse_host_port(place.coordinator).value_or(HostPort{.host = "", .port = 29500}).port;
  return cat(
      "set ESPALIER_COORDINATOR=", address.empty() ? cat("ADDRESS:", port) : to_string({address, port}),
      " on all ranks, or give the name that address in /etc/hosts");
}

std::string check_meeting_place(const ClusterPlace& place) {
  const std::string problem = loopback_problem(place);
  // All of one host meet there as well as anywhere.
  if (problem.empty() || place.local_world == place.world) return "";
  if (spans_hosts(place)) throw ValueError("strategy.coordinator", problem, loopback_cure(place));
  return problem;
}

}  // namespace espalier
