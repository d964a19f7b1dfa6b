#include "espalier/tpu.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/format.h"
#include "base/shortened.h"
#include "base/split.h"
#include "dist/replicas.h"
#include "pjrt/open.h"

namespace espalier {
namespace {

std::vector<std::string> names_at_commas(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view name : split_at(text, ','))
    if (!name.empty()) out.emplace_back(name);
  return out;
}

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

pjrt::DevicePtr first_chip(const TPUClusterResolver& resolver) {
  for (const auto& [name, value] : resolver.variables()) ::setenv(name.c_str(), value.c_str(), 0);
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
  const std::vector<std::string> hosts =
      names_at_commas(options.environment("TPU_WORKER_HOSTNAMES").value_or(""));
  accelerator_ = options.environment("TPU_ACCELERATOR_TYPE").value_or("");
  std::optional<int> number = number_of_worker(options.environment);
  if (hosts.empty() && number.value_or(0) > 0)
    throw ValueError("tpu.worker", cat("this is worker ", *number,
                                       " of a TPU of several hosts, and "
                                       "TPU_WORKER_HOSTNAMES, which names them, is not set"));
  const auto tell = [&](const char* variable, const std::string& value) {
    if (!options.environment(variable)) variables_[variable] = value;
  };
  if (tpu == "local") tell("TPU_SKIP_MDS_QUERY", "1");
  if (!tpu.empty() && tpu != "local") {
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
    tell("TPU_WORKER_ID", cat(*number));
    tell("CLOUD_TPU_TASK_ID", cat(*number));
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
  if (resolver.num_workers() > 1)
    throw UnsupportedError("tpu.pod",
                           cat("a TPU of ", resolver.num_workers(),
                               " hosts needs a process on each, which run one program together: that is "
                               "not done yet"),
                           "a TPU whose chips are all on one host");
  const pjrt::DevicePtr first = first_chip(resolver);
  replicas_ = std::make_shared<Replicas>(
      pjrt::several_from(*first, 0),
      CombineOptions{.first_bucket = options.first_bucket, .bucket = options.bucket}, options.audit_steps);
}

}  // namespace espalier
