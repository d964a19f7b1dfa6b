// Interfaces, names, ports.
#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "launch/doctor_findings.h"
#include "launch/host_port.h"
#include "launch/join_secret.h"

namespace espalier {
namespace {

std::string listed_interfaces(const MachineFacts& machine) {
  std::string out;
  for (const NetworkInterface& one : machine.interfaces)
    out += cat(out.empty() ? "" : ", ", one.name, " ", one.address, one.loopback ? " (this host alone)" : "");
  return out.empty() ? "none" : out;
}

const NetworkInterface* interface_named(const MachineFacts& machine, const std::string& name) {
  const auto found = std::ranges::find_if(machine.interfaces, [&](const NetworkInterface& one) {
    return one.name == name || one.address == name;
  });
  return found == machine.interfaces.end() ? nullptr : &*found;
}

// The first that others can reach; no link-local address of IPv6, which says no network.
const NetworkInterface* first_reachable(const MachineFacts& machine) {
  const auto found = std::ranges::find_if(machine.interfaces, [](const NetworkInterface& one) {
    return !one.loopback && !one.address.starts_with("fe80:");
  });
  return found == machine.interfaces.end() ? nullptr : &*found;
}

std::string cure_by_interface(const MachineFacts& machine) {
  const NetworkInterface* const other = first_reachable(machine);
  return other ? cat("--interface ", other->name) : std::string("a network between the hosts");
}

// "root@b" is b.
std::string address_that_leads_to(const std::string& host, const DoctorCase& of) {
  return of.asks.address_towards(host.substr(host.find('@') + 1));
}

// espalier launch asks which of its addresses lead to them; agents may know more names.
bool knows_no_host(const DoctorCase& of) {
  return of.spans_hosts && !of.plan.hosts.empty() && of.plan.interface.empty() && of.engine != "mpi" &&
         std::ranges::all_of(of.plan.hosts, [&](const RunHost& host) {
           return address_that_leads_to(host.name, of).empty();
         });
}

void examine_interface(DoctorCase& of) {
  const MachineFacts& machine = of.machine;
  if (!of.plan.interface.empty() && !interface_named(machine, of.plan.interface)) {
    std::set<std::string> names;
    for (const NetworkInterface& one : machine.interfaces) names.insert(one.name);
    const std::vector<std::string> near = nearest(of.plan.interface, {names.begin(), names.end()});
    of.add(DoctorGrade::kWrong, "interface",
           cat("no interface or address of this host is ", shortened(of.plan.interface), ": there are ",
               listed_interfaces(machine)),
           "ranks could not listen there",
           near.empty() ? cure_by_interface(machine) : cat("--interface ", near[0]));
    return;
  }
  const NetworkInterface by = chosen_interface(of);
  if (of.spans_hosts && by.address.empty())
    of.add(DoctorGrade::kWrong, "interface",
           cat("no interface leads to other hosts: there are ", listed_interfaces(machine)),
           "ranks of other hosts cannot reach this one", "a network between the hosts");
  else if (of.spans_hosts && (by.loopback || is_loopback(by.address)))
    of.add(DoctorGrade::kWrong, "interface",
           cat("ranks here would be reached at ", by.address, ", ", by.name, ", which is this host alone"),
           "ranks of other hosts would reach themselves", cure_by_interface(machine));
  else if (knows_no_host(of))
    of.add(DoctorGrade::kWrong, "interface", cat("no address is known here of ", to_string(of.plan.hosts)),
           "espalier launch cannot tell at which of its own ranks find it", cure_by_interface(machine));
  else
    of.ok("interface",
          cat(listed_interfaces(machine),
              by.address.empty() ? std::string() : cat("; others reach this host at ", by.address)));
}

void examine_host_name(DoctorCase& of) {
  const MachineFacts& machine = of.machine;
  const bool loops =
      std::ranges::any_of(machine.addresses, [](const std::string& one) { return is_loopback(one); });
  const DoctorGrade grade = of.spans_hosts ? DoctorGrade::kWarn : DoctorGrade::kOk;
  const std::string why = of.spans_hosts ? "programs that look for this host by its name miss it" : "";
  std::string all;
  for (const std::string& one : machine.addresses) all += cat(all.empty() ? "" : ", ", one);
  if (machine.addresses.empty())
    of.add(grade, "name", cat("the host name ", shortened(machine.host), " is not resolved"), why,
           of.spans_hosts ? cat("its address in /etc/hosts, or ", cure_by_interface(machine)) : "");
  else if (loops)
    of.add(grade, "name", cat(shortened(machine.host), " is ", all, ", this host alone"), why,
           of.spans_hosts ? cat("another address in /etc/hosts, or ", cure_by_interface(machine)) : "");
  else
    of.ok("name", cat(shortened(machine.host), " is ", all));
}

}  // namespace

bool is_this_host(const std::string& host, const MachineFacts& machine) {
  return is_loopback(host) || host == machine.host || machine.host.starts_with(host + ".") ||
         host.starts_with(machine.host + ".") || interface_named(machine, host) != nullptr;
}

NetworkInterface chosen_interface(const DoctorCase& of) {
  const MachineFacts& machine = of.machine;
  if (!of.plan.interface.empty()) {
    const NetworkInterface* const asked = interface_named(machine, of.plan.interface);
    return asked ? *asked : NetworkInterface{of.plan.interface, ""};
  }
  std::string towards;
  for (const RunHost& host : of.plan.hosts) {
    if (towards.empty() && !is_this_host(host.name, machine)) towards = host.name;
  }
  if (const auto meet = parse_host_port(of.place.coordinator);
      towards.empty() && meet && of.plan.hosts.empty())
    towards = meet->host;
  if (!towards.empty()) {
    const std::string address = address_that_leads_to(towards, of);
    if (const NetworkInterface* const by = interface_named(machine, address); by && !address.empty()) {
      // Towards a name of this host all roads are loopback.
      if (!by->loopback || !is_this_host(towards, machine) || is_loopback(towards)) return *by;
    }
  }
  const NetworkInterface* const first = first_reachable(machine);
  return first ? *first : machine.interfaces.empty() ? NetworkInterface() : machine.interfaces[0];
}

void examine_network(DoctorCase& of) {
  examine_interface(of);
  examine_host_name(of);
  const auto meet = parse_host_port(of.place.coordinator);
  if (!meet || !of.spans_hosts || !of.plan.hosts.empty()) return;
  const std::string cure = "the address of rank 0's host that others reach";
  if (is_loopback(meet->host))
    of.add(DoctorGrade::kWrong, "coordinator",
           cat("ranks of several hosts meet at ", of.place.coordinator, ", loopback"),
           "each host would look for rank 0 in itself", cure);
  else if (const std::string towards = of.asks.address_towards(meet->host); is_loopback(towards))
    of.add(DoctorGrade::kWrong, "coordinator",
           cat("ranks of several hosts meet at ", of.place.coordinator,
               ", which is loopback here, by /etc/hosts"),
           of.place.rank == 0 ? "rank 0 would listen where this host alone reaches it"
                              : "this host would look for rank 0 in itself",
           cure);
}

void examine_secret(DoctorCase& of) {
  if (!of.joins_by_address() || of.place.coordinator.empty()) return;
  if (!of.variable("ESPALIER_SECRET").empty())
    of.ok("secret", "ESPALIER_SECRET is set");
  else if (meets_beyond_host(of.place))
    of.add(DoctorGrade::kWarn, "secret",
           cat("ranks meet at ", of.place.coordinator, ", and ESPALIER_SECRET is not set"), kGuessable,
           kSecretCure);
  else
    of.ok("secret", "ranks meet on this host alone");
}

void examine_port(DoctorCase& of) {
  const auto meet = parse_host_port(of.place.coordinator);
  const bool listens = meet && of.place.rank == 0;
  const int port = of.plan.port > 0 ? of.plan.port : listens ? meet->port : 0;
  if (port == 0)
    return of.ok("port", meet && !of.by_flags ? cat("rank 0 listens at ", of.place.coordinator)
                                              : "espalier launch takes ports that are free");
  if (const std::string problem = of.asks.port_problem(port); problem.empty())
    of.ok("port", cat(port, " is free"));
  else
    of.add(DoctorGrade::kWrong, "port", cat(port, ": ", problem), "rank 0 could not listen there",
           cat("another one, as ", of.asks.free_port()));
}

}  // namespace espalier
