#include "espalier/tpu.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/format.h"
#include "base/shortened.h"
#include "base/split.h"
#include "launch/cluster.h"
#include "pjrt/open.h"
#include "strategy/replicas.h"
#include "strategy/worker.h"

namespace espalier {
namespace {

// The first of these that is set.
std::optional<int> number_of_worker(const Environment& environment) {
  for (const char* variable : {"TPU_WORKER_ID", "CLOUD_TPU_TASK_ID"}) {
    const std::optional<std::string> text = environment(variable);
    if (!text) continue;
    int number = -1;
    const char* const end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || rest != end || number < 0)
      throw ValueError("tpu.worker",
                       cat(variable, " is \"", shortened(*text), "\", which is no number of a worker"));
    return number;
  }
  return std::nullopt;
}

constexpr const char* kPort = "8471";

// Sizes of "4x4" or "2x2x4"; none where it is no topology.
std::vector<int> axes_of(const std::string& topology) {
  std::vector<int> out;
  const char *at = topology.data(), *const end = at + topology.size();
  while (true) {
    int size = 0;
    const auto [rest, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || size > 64 || out.size() == 3) return {};
    out.push_back(size);
    if (rest == end) return out;
    if (*rest != 'x') return {};
    at = rest + 1;
  }
}

// Of a slice of v5e or v6e, whose number of chips says it; "" of others.
std::string topology_of(const std::string& accelerator) {
  static constexpr std::pair<std::string_view, std::string_view> kSlices[] = {
      {"16", "4x4"}, {"32", "4x8"}, {"64", "8x8"}, {"128", "8x16"}, {"256", "16x16"}};
  for (const std::string_view kind : {"v5litepod-", "v6e-"}) {
    if (!accelerator.starts_with(kind)) continue;
    for (const auto& [chips, topology] : kSlices)
      if (accelerator.substr(kind.size()) == chips) return std::string(topology);
  }
  return "";
}

std::string bounds_text(std::vector<int> axes) {
  axes.resize(3, 1);
  return cat(axes[0], ",", axes[1], ",", axes[2]);
}

// Chips of a host along each axis: of 1, of 4 as a square, of 8 as 2x4. Nothing where that many hosts of one
// kind do not make up the topology.
std::optional<std::vector<int>> chips_of_host(const std::vector<int>& axes, int hosts) {
  for (const std::vector<int>& host : {std::vector<int>{1, 1, 1}, {2, 2, 1}, {2, 4, 1}}) {
    int count = 1;
    bool goes = true;
    for (size_t i = 0; i < host.size(); ++i) {
      const int axis = i < axes.size() ? axes[i] : 1;
      goes = goes && axis % host[i] == 0;
      count *= axis / host[i];
    }
    if (goes && count == hosts) return host;
  }
  return std::nullopt;
}

pjrt::DevicePtr first_chip(const TPUClusterResolver& resolver) {
  resolver.set_variables();
  return pjrt::open_device(resolver.device());
}

}  // namespace

TPUClusterResolver::TPUClusterResolver(TPUResolverOptions options, Location at)
    : device_(std::move(options.device)) {
  const CallScope scope(at);
  const std::string& tpu = options.tpu;
  if (tpu.find("://") != tpu.npos)
    throw ValueError("tpu.address",
                     cat("\"", shortened(tpu),
                         "\" is the address of a server beside a TPU, an architecture that has "
                         "gone: programs run on the TPU's own host now"),
                     "run the program there, and leave the address out");
  // A variable that is empty is none.
  options.environment = [given = options.environment](const std::string& name) {
    std::optional<std::string> value = given(name);
    return value && value->empty() ? std::nullopt : value;
  };
  const std::vector<std::string> hosts =
      names_at(options.environment("TPU_WORKER_HOSTNAMES").value_or(""), ',');
  accelerator_ = options.environment("TPU_ACCELERATOR_TYPE").value_or("");
  std::optional<int> number = number_of_worker(options.environment);
  const bool named = !tpu.empty() && tpu != "local";
  if (!named && take_launched(options, hosts, number)) return;
  if (!named && hosts.size() > 1 && !number)
    throw ValueError("tpu.worker", cat("TPU_WORKER_HOSTNAMES names ", counted(hosts.size(), "host"),
                                       ", and TPU_WORKER_ID, which says which of them this is, is not set"));
  if (hosts.empty() && number.value_or(0) > 0)
    throw ValueError("tpu.worker", cat("this is worker ", *number,
                                       " of a TPU of several hosts, and "
                                       "TPU_WORKER_HOSTNAMES, which names them, is not set"));
  if (tpu == "local") tell(options, "TPU_SKIP_MDS_QUERY", "1");
  if (named) {
    const auto it = std::ranges::find(hosts, tpu);
    if (it == hosts.end())
      throw ValueError("tpu.worker",
                       cat("\"", shortened(tpu), "\" is none of ",
                           hosts.empty() ? std::string("the hosts: TPU_WORKER_HOSTNAMES is not set")
                                         : cat("TPU_WORKER_HOSTNAMES, ", counted(hosts.size(), "host"))));
    const int place = static_cast<int>(it - hosts.begin());
    if (number.value_or(place) != place)
      throw ValueError("tpu.worker", cat("\"", shortened(tpu), "\" is worker ", place,
                                         " of TPU_WORKER_HOSTNAMES, and TPU_WORKER_ID says ", *number));
    number = place;
    tell(options, "TPU_WORKER_ID", cat(*number));
    tell(options, "CLOUD_TPU_TASK_ID", cat(*number));
  }
  num_workers_ = std::max<int>(1, static_cast<int>(hosts.size()));
  rank_ = task_id_ = number.value_or(0);
  if (rank_ >= num_workers_ && !hosts.empty())
    throw ValueError("tpu.worker", cat("this is worker ", rank_, ", and TPU_WORKER_HOSTNAMES names ",
                                       counted(hosts.size(), "host")));
  if (!hosts.empty()) {
    spec_["worker"] = hosts;
    master_ = hosts[0];
  }
}

// One process a host, which a launcher has started; false where none has started several.
bool TPUClusterResolver::take_launched(const TPUResolverOptions& options, std::vector<std::string> hosts,
                                       std::optional<int> number) {
  const ClusterPlace place = resolve(options.environment).place;
  if (place.world < 2) return false;
  const bool told = !hosts.empty();
  if (!told) hosts = place.hosts;
  if (std::cmp_not_equal(hosts.size(), place.world))
    throw ValueError("tpu.hosts",
                     cat(place.source, " has started ", place.world, " processes, and ",
                         hosts.empty() ? std::string("does not say on which hosts")
                         : told        ? cat("TPU_WORKER_HOSTNAMES names ", counted(hosts.size(), "host"))
                                       : cat("names ", counted(hosts.size(), "host")),
                         ": a TPU has one process on each of its hosts"),
                     "espalier launch --hosts a:1,b:1 -- PROGRAM");
  if (number.value_or(place.rank) != place.rank)
    throw ValueError("tpu.worker",
                     cat("this is process ", place.rank, " of ", place.source, ", and worker ", *number,
                         " by TPU_WORKER_ID or CLOUD_TPU_TASK_ID"),
                     "name hosts in the TPU's order, or unset these variables");
  const std::string port = options.environment("TPU_PROCESS_PORT").value_or(kPort);
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) addresses.push_back(cat(host, ":", port));
  if (options.tpu == "local") tell(options, "TPU_SKIP_MDS_QUERY", "1");
  tell(options, "TPU_WORKER_HOSTNAMES", joined(hosts, ','));
  tell(options, "TPU_WORKER_ID", cat(place.rank));
  tell(options, "CLOUD_TPU_TASK_ID", cat(place.rank));
  tell(options, "TPU_PROCESS_ADDRESSES", joined(addresses, ','));
  tell(options, "TPU_PROCESS_PORT", port);
  const std::string topology = options.topology.empty()
                                   ? options.environment("TPU_TOPOLOGY").value_or(topology_of(accelerator_))
                                   : options.topology;
  if (!topology.empty()) {
    std::vector<int> axes = axes_of(topology);
    const auto host = chips_of_host(axes, place.world);
    if (axes.empty() || !host)
      throw ValueError("tpu.topology",
                       cat("\"", shortened(topology), "\" is no topology of ", place.world,
                           " hosts of 1, 4 or 8 chips each"),
                       "\"4x4\" is one of four hosts with four chips");
    axes.resize(host->size(), 1);
    for (size_t i = 0; i < axes.size(); ++i) axes[i] /= (*host)[i];
    tell(options, "TPU_CHIPS_PER_PROCESS_BOUNDS", bounds_text(*host));
    tell(options, "TPU_PROCESS_BOUNDS", bounds_text(axes));
  }
  num_workers_ = place.world;
  rank_ = task_id_ = place.rank;
  spec_["worker"] = hosts;
  master_ = place.coordinator.empty() ? hosts[0] : place.coordinator;
  return true;
}

void TPUClusterResolver::tell(const TPUResolverOptions& options, const char* variable,
                              const std::string& value) {
  if (!options.environment(variable)) variables_[variable] = value;
}

void TPUClusterResolver::set_variables() const {
  for (const auto& [name, value] : variables_) {
    const char* const set = std::getenv(name.c_str());
    if (!set || !*set) ::setenv(name.c_str(), value.c_str(), 1);
  }
}

void connect_to_cluster(const TPUClusterResolver&) {}

TPUSystem initialize_tpu_system(const TPUClusterResolver& resolver, Location at) {
  const CallScope scope(at);
  const pjrt::DevicePtr first = first_chip(resolver);
  first->client().wait_for_runs();
  first->client().invalidate_arrays();
  TPUSystem out{.devices = {}, .kind = first->kind()};
  for (const pjrt::ClientDevice* const device : pjrt::several_from(*first, 0)->members())
    out.devices.push_back(device->name());
  return out;
}

strategy::TPU::TPU(const TPUClusterResolver& resolver, TPUOptions options, Location at) : Strategy(nullptr) {
  const CallScope scope(at);
  const pjrt::DevicePtr first = first_chip(resolver);
  pjrt::Client& client = first->client();
  const CombineOptions combine{.first_bucket = options.first_bucket, .bucket = options.bucket};
  const int hosts = std::max(client.processes(), resolver.num_workers());
  if (hosts == 1) {
    replicas_ = std::make_shared<Replicas>(pjrt::several_from(*first, 0), combine, options.audit_steps);
    return;
  }
  std::vector<Replicas::Seat> place(1);
  place[0].worker = Worker::from_environment();
  const std::shared_ptr<Worker>& worker = place[0].worker;
  const int rank = worker ? worker->communicator().rank() : 0,
            world = worker ? worker->communicator().world() : 1;
  if (world != hosts || client.processes() != hosts || rank != client.process())
    throw StateError(
        "tpu.pod",
        cat("the TPU has ", counted(static_cast<size_t>(hosts), "host"), ", of which libtpu knows ",
            client.processes(), ", and this is host ", client.process(), ", and the run has ", world,
            world == 1 ? " process" : " processes", ", of which this is number ", rank,
            ": each host has a process, in their order"),
        "espalier launch --hosts a:1,b:1 -- PROGRAM");
  place[0].communicator = std::shared_ptr<Communicator>(worker, &worker->communicator());
  place[0].device = client.everywhere();
  replicas_ = std::make_shared<Replicas>(std::move(place), true, combine, options.audit_steps);
}

}  // namespace espalier
