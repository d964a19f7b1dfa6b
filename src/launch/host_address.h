// Addresses of this host.
#pragma once

#include <string>

namespace espalier {

// Of an interface ("eth0") or one of its addresses, as numbers; IPv4 before IPv6. Raises
// ValueError[launch.interface] with those that there are.
std::string address_of_interface(const std::string& name);
// The same for libraries that ask for an interface by its name or its network: "eth0" as it is, "10.0.0.1" as
// "10.0.0.1/24", an IPv6 address as the name of its interface. Raises what address_of_interface() does.
std::string network_of_interface(const std::string& name);
bool has_interface(const std::string& name);
// From which this host talks to that one; "" where that has no address, with the reason in `why`, or none
// leads there.
std::string address_towards(const std::string& host, std::string* why = nullptr);
// The first address that the name of a host is here, as numbers; "" where it has none.
std::string numbers_of_host(const std::string& host);
// The first of this host that is no loopback, IPv4 before IPv6; "" where there is none.
std::string address_for_others();
// This side of a connection of the internet; "" of another.
std::string local_address(int socket);
// For control_socket.h: the port is the system's.
std::string control_address(const std::string& address);

}  // namespace espalier
