#include "launch/machine_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>

#include "base/format.h"
#include "base/thread_pool.h"
#include "base/version.h"
#include "comm/control_fd.h"
#include "comm/wire_module.h"

namespace espalier {
namespace {

std::string text_of_address(const sockaddr* address) {
  char out[NI_MAXHOST] = {};
  const socklen_t size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return ::getnameinfo(address, size, out, sizeof out, nullptr, 0, NI_NUMERICHOST) == 0 ? out : "";
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
std::unique_ptr<addrinfo, FreeAddresses> addresses_of(const std::string& host, int type) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = type;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return nullptr;
  return std::unique_ptr<addrinfo, FreeAddresses>(found);
}

std::string host_name() {
  char out[256] = {};
  return ::gethostname(out, sizeof out - 1) == 0 ? out : "";
}

std::vector<std::string> resolved_addresses(const std::string& host) {
  std::vector<std::string> out;
  const auto list = addresses_of(host, SOCK_STREAM);
  for (const addrinfo* at = list.get(); at; at = at->ai_next) out.push_back(text_of_address(at->ai_addr));
  return out;
}

std::vector<NetworkInterface> interfaces_here() {
  std::vector<NetworkInterface> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* at = all; at; at = at->ifa_next) {
    const bool is_ip =
        at->ifa_addr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
    if (is_ip && at->ifa_flags & IFF_UP)
      out.push_back({at->ifa_name, text_of_address(at->ifa_addr), (at->ifa_flags & IFF_LOOPBACK) != 0});
  }
  ::freeifaddrs(all);
  return out;
}

// The number in a file; 0 where there is none, as in "max".
int64_t number_in_file(const std::string& path) {
  std::ifstream file(path);
  int64_t out = 0;
  return file >> out && out > 0 ? out : 0;
}

int64_t memory_line(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == name && file >> kib) return kib * 1024;
  }
  return 0;
}

// The least limit on the way up from this process's cgroup.
int64_t memory_limit(int64_t all) {
  int64_t out = all;
  const auto take = [&](int64_t limit) {
    if (limit > 0) out = std::min(out, limit);
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool unified = line.starts_with("0::");
    const size_t memory = line.find(":memory:");
    if (!unified && memory == line.npos) continue;
    std::string path = line.substr(unified ? 3 : memory + 8);
    for (; path.starts_with('/'); path.resize(path.rfind('/')))
      take(number_in_file(unified ? cat("/sys/fs/cgroup", path, "/memory.max")
                                  : cat("/sys/fs/cgroup/memory", path, "/memory.limit_in_bytes")));
  }
  take(number_in_file("/sys/fs/cgroup/memory.max"));
  take(number_in_file("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  return out;
}

// The first line that a command writes; "" where it is not there, or says nothing in 5 s.
std::string first_line_of(const std::string& command) {
  const std::string quiet = cat("timeout 5 ", command, " 2>/dev/null </dev/null");
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(quiet.c_str(), "re"), ::pclose);
  char line[256] = {};
  if (!pipe || !std::fgets(line, sizeof line, pipe.get())) return "";
  line[std::strcspn(line, "\n")] = 0;
  return line;
}

std::map<std::string, std::string> versions_here() {
  std::map<std::string, std::string> out{{"espalier", kVersion},
                                         {"mpirun", first_line_of("mpirun --version")},
                                         {"srun", first_line_of("srun --version")}};
  for (const char* package : {"libgloo0", "libopenmpi3", "openmpi-bin"})
    out[package] = first_line_of(cat("dpkg-query -W -f '${Version}' ", package));
  return out;
}

}  // namespace

MachineFacts machine_facts(const std::string& program_folder) {
  MachineFacts out;
  out.host = host_name();
  out.addresses = resolved_addresses(out.host);
  out.processors = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t mask;
  out.affinity = ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : out.processors;
  out.allowed = default_threads();
  struct statvfs shm = {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    out.shm_size = static_cast<int64_t>(shm.f_blocks * shm.f_frsize);
    out.shm_free = static_cast<int64_t>(shm.f_bavail * shm.f_frsize);
  }
  const int64_t all = memory_line("MemTotal:");
  out.memory = memory_limit(all);
  out.memory_free = std::min(out.memory, memory_line("MemAvailable:"));
  out.root = ::geteuid() == 0;
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
    out.open_files = static_cast<int64_t>(
        std::min<rlim_t>(files.rlim_cur, static_cast<rlim_t>(std::numeric_limits<int64_t>::max())));
  out.interfaces = interfaces_here();
  out.versions = versions_here();
  for (const char* engine : {"gloo", "mpi"}) {
    std::string why;
    if (has_wire(engine, &why)) out.command_engines[engine] = wire_folder(engine);
    out.engines[engine] = program_folder.empty() ? why : why_no_wire(engine, program_folder);
  }
  return out;
}

namespace {

// -1 with errno where it cannot.
int listening_port(int port) {
  const ControlFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  const int on = 1;
  // As those who listen: a port whose last run has just ended is free.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), 1) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return -1;
  return ntohs(address.sin_port);
}

}  // namespace

std::string port_problem(int port) {
  return listening_port(port) >= 0 ? "" : std::error_code(errno, std::generic_category()).message();
}

int free_port() { return std::max(listening_port(0), 0); }

}  // namespace espalier
