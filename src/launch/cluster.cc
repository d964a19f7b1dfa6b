#include "launch/cluster.h"

#include <charconv>
#include <cstdlib>
#include <iterator>
#include <set>

#include "base/format.h"
#include "base/shortened.h"
#include "base/split.h"
#include "espalier/error.h"
#include "launch/host_port.h"
#include "launch/node_list.h"
#include "launch/tf_config.h"

namespace espalier {
namespace {

constexpr int64_t kMostRanks = 65536;
// Slurm's and Open MPI's jobs meet at ports from here on; JAX's do so, too.
constexpr int64_t kFirstJobPort = 61440, kJobPorts = 4096;

// The variables of one launcher.
class Source {
 public:
  Source(std::string name, const Environment& environment) : environment_(environment) {
    place.source = std::move(name);
  }

  std::optional<std::string> text(const std::string& name) const {
    std::optional<std::string> out = environment_(name);
    return out && out->empty() ? std::nullopt : out;
  }
  bool has(const std::string& name) const { return text(name).has_value(); }

  // A whole number in a range; nothing where it is not set.
  std::optional<int64_t> number(const std::string& name, int64_t low, int64_t high) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    int64_t out = 0;
    const char* const end = value->data() + value->size();
    const auto [at, error] = std::from_chars(value->data(), end, out);
    if (error != std::errc() || at != end || out < low || out > high)
      refuse(cat(name, " is \"", shortened(*value), "\", which is no whole number from ", low, " to ", high));
    return out;
  }

  // Whether it says a rank and a number of ranks, which are then in `place`.
  bool ranks(const std::string& rank, const std::string& world) {
    const auto i = number(rank, 0, kMostRanks - 1), n = number(world, 1, kMostRanks);
    if (!i && !n) return false;
    const std::string& there = i ? rank : world;
    const std::string& missing = i ? world : rank;
    if (!i || !n)
      refuse(cat(there, " is ", i ? *i : *n, ", and ", missing, " is not set: ", place.source, " sets both"),
             cat("set ", missing, ", or unset ", there));
    if (*i >= *n) refuse(cat(rank, " is ", *i, " and ", world, " is ", *n, ": ranks are from 0 to ", *n - 1));
    place.rank = static_cast<int>(*i);
    place.world = static_cast<int>(*n);
    place.said = cat(rank, "=", *i, " ", world, "=", *n);
    return true;
  }

  void local(const std::string& rank, const std::string& world) {
    const auto i = number(rank, 0, place.world - 1), n = number(world, 1, place.world);
    if (i && n && *i >= *n) refuse(cat(rank, " is ", *i, " and ", world, " is ", *n));
    if (i) place.local_rank = static_cast<int>(*i);
    if (n) place.local_world = static_cast<int>(*n);
  }

  [[noreturn]] void refuse(const std::string& why, const std::string& fix = {}) const {
    throw ValueError("cluster.environment", why, fix);
  }

  ClusterPlace place;

 private:
  const Environment& environment_;
};

int job_port(int64_t job) { return static_cast<int>(kFirstJobPort + job % kJobPorts); }

// The first address of "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911;tcp6://[fe80::1]:43370".
std::string first_address(std::string_view uri) {
  for (const std::string_view scheme : {";tcp://", ";tcp6://["}) {
    const size_t at = uri.find(scheme);
    if (at == uri.npos) continue;
    const std::string_view rest = uri.substr(at + scheme.size());
    return std::string(rest.substr(0, rest.find_first_of(scheme.ends_with('[') ? ",]" : ",:")));
  }
  return "";
}

// In the order in which they are asked.
constexpr std::optional<ClusterPlace> (*kSources[])(const Environment&) = {
    place_of_espalier, place_of_torchrun,  place_of_open_mpi,  place_of_pmi,
    place_of_slurm,    place_of_tf_config, place_of_kubernetes};
constexpr const char* kSourceNames[] = {"espalier", "torchrun",  "Open MPI",  "PMI",
                                        "Slurm",    "TF_CONFIG", "Kubernetes"};
static_assert(std::size(kSources) == std::size(kSourceNames));

// Whether `outer` started the launcher of `inner`: once, or once for each host.
bool nested(const ClusterPlace& outer, const ClusterPlace& inner) {
  if (outer.world == 1) return true;
  return outer.local_world == 1 && inner.local_world > 1 && inner.world == outer.world * inner.local_world;
}

void take_what_is_open(ClusterPlace& place, const ClusterPlace& from) {
  if (place.local_rank < 0) place.local_rank = from.local_rank;
  if (place.local_world < 0) place.local_world = from.local_world;
  if (place.hosts.empty()) place.hosts = from.hosts;
  if (place.coordinator.empty()) place.coordinator = from.coordinator;
  if (place.job.empty()) place.job = from.job;
}

std::string sentence_of(const ClusterPlace& place) {
  return cat(place.source, " says rank ", place.rank, " of ", place.world, " (", place.said, ")");
}

std::optional<std::string> coordinator_by_hand(const Environment& environment) {
  const Source source("espalier", environment);
  const auto at = source.text("ESPALIER_COORDINATOR");
  if (at && !parse_host_port(*at))
    source.refuse(cat("ESPALIER_COORDINATOR is \"", shortened(*at), "\", which is no \"host:port\""));
  return at;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

bool spans_hosts(const ClusterPlace& place) {
  return place.hosts.size() > 1 || (place.local_world > 0 && place.world > place.local_world);
}

std::optional<ClusterPlace> place_of_espalier(const Environment& environment) {
  Source source("espalier", environment);
  if (!source.ranks("ESPALIER_RANK", "ESPALIER_WORLD")) return std::nullopt;
  source.local("ESPALIER_LOCAL_RANK", "ESPALIER_LOCAL_WORLD");
  source.place.coordinator = coordinator_by_hand(environment).value_or("");
  source.place.job = source.text("ESPALIER_JOB").value_or("");
  source.place.hosts = names_at(source.text("ESPALIER_HOSTS").value_or(""), ',');
  return source.place;
}

std::optional<ClusterPlace> place_of_torchrun(const Environment& environment) {
  Source source("torchrun", environment);
  if (!source.ranks("RANK", "WORLD_SIZE")) return std::nullopt;
  source.local("LOCAL_RANK", "LOCAL_WORLD_SIZE");
  const auto host = source.text("MASTER_ADDR");
  const bool own_store = source.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const auto port = source.number("MASTER_PORT", 1, own_store ? 65534 : 65535);
  if (host.has_value() != port.has_value())
    source.refuse(cat(host ? "MASTER_ADDR" : "MASTER_PORT", " is \"",
                      shortened(host ? *host : *source.text("MASTER_PORT")), "\", and ",
                      host ? "MASTER_PORT" : "MASTER_ADDR", " is not set: torchrun sets both"));
  if (host) {
    const std::string at = to_string(HostPort{*host, static_cast<int>(*port) + own_store});
    if (!parse_host_port(at))
      source.refuse(cat("MASTER_ADDR is \"", shortened(*host), "\", which is no host"));
    source.place.coordinator = at;
  }
  source.place.job = source.text("TORCHELASTIC_RUN_ID").value_or("");
  return source.place;
}

std::optional<ClusterPlace> place_of_open_mpi(const Environment& environment) {
  Source source("Open MPI", environment);
  if (!source.ranks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return std::nullopt;
  source.local("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
  const auto job = source.number("OMPI_MCA_ess_base_jobid", 0, INT64_MAX);
  const std::string host = first_address(source.text("OMPI_MCA_orte_hnp_uri").value_or(""));
  if (job) source.place.job = cat(*job);
  // Jobs are numbered in steps of 4096.
  if (job && !host.empty()) {
    const std::string at = to_string(HostPort{host, job_port(*job / kJobPorts)});
    if (parse_host_port(at)) source.place.coordinator = at;
  }
  return source.place;
}

std::optional<ClusterPlace> place_of_pmi(const Environment& environment) {
  Source source("PMI", environment);
  if (!source.ranks("PMI_RANK", "PMI_SIZE")) {
    const auto rank = source.number("PMIX_RANK", 0, kMostRanks - 1);
    if (rank && !source.has("OMPI_COMM_WORLD_SIZE") && !source.has("SLURM_PROCID"))
      source.refuse(cat("PMIX_RANK is ", *rank, ", and PMIx has no variable for the number of ranks"),
                    "start by mpirun or srun --mpi=pmix, or set RANK and WORLD_SIZE");
    return std::nullopt;
  }
  source.local("MPI_LOCALRANKID", "MPI_LOCALNRANKS");
  source.place.job = source.text("PMI_JOBID").value_or("");
  return source.place;
}

std::optional<ClusterPlace> place_of_slurm(const Environment& environment) {
  Source source("Slurm", environment);
  if (!source.has("SLURM_STEP_ID")) return std::nullopt;
  const char* tasks = source.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  if (!source.ranks("SLURM_PROCID", tasks))
    source.refuse("SLURM_STEP_ID is set, and SLURM_PROCID and SLURM_NTASKS are not: srun sets all of them");
  source.place.local_rank =
      static_cast<int>(source.number("SLURM_LOCALID", 0, source.place.world - 1).value_or(-1));
  if (const auto nodes = source.text("SLURM_STEP_NODELIST")) source.place.hosts = expand_node_list(*nodes);
  const auto counts = source.text("SLURM_STEP_TASKS_PER_NODE");
  const auto node = source.number("SLURM_NODEID", 0, kMostRanks - 1);
  if (counts && node) {
    const std::vector<int> tasks_of = expand_task_counts(*counts);
    if (static_cast<size_t>(*node) >= tasks_of.size())
      source.refuse(cat("SLURM_NODEID is ", *node, ", and SLURM_STEP_TASKS_PER_NODE, ", shortened(*counts),
                        ", is of ", counted(tasks_of.size(), "host")));
    const int here = tasks_of[static_cast<size_t>(*node)];
    if (here > source.place.world || here <= source.place.local_rank)
      source.refuse(cat("SLURM_STEP_TASKS_PER_NODE says ", counted(here, "task"), " on this host, ", tasks,
                        " is ", source.place.world, " and SLURM_LOCALID ", source.place.local_rank));
    source.place.local_world = here;
  }
  if (const auto job = source.number("SLURM_JOB_ID", 0, INT64_MAX)) {
    source.place.job = cat(*job);
    if (!source.place.hosts.empty())
      source.place.coordinator = to_string(HostPort{source.place.hosts[0], job_port(*job)});
  }
  return source.place;
}

std::optional<ClusterPlace> place_of_tf_config(const Environment& environment) {
  Source source("TF_CONFIG", environment);
  const auto text = source.text("TF_CONFIG");
  if (!text) return std::nullopt;
  const std::optional<TfConfig> config = parse_tf_config(*text);
  if (!config) return std::nullopt;
  const std::vector<std::string> training = config->training();
  ClusterPlace& place = source.place;
  place.rank = config->rank();
  place.world = static_cast<int>(training.size());
  place.coordinator = training[0];
  place.said = cat("task ", config->type, " ", config->index, " of ", training.size());
  // Two tasks of one host have two addresses of it.
  const std::string here = parse_host_port(training[static_cast<size_t>(place.rank)])->host;
  place.local_rank = place.local_world = 0;
  std::set<std::string> seen;
  for (size_t i = 0; i < training.size(); ++i) {
    const std::string host = parse_host_port(training[i])->host;
    place.local_rank += host == here && i < static_cast<size_t>(place.rank);
    place.local_world += host == here;
    if (seen.insert(host).second) place.hosts.push_back(host);
  }
  return place;
}

std::optional<ClusterPlace> place_of_kubernetes(const Environment& environment) {
  Source source("Kubernetes", environment);
  if (!source.has("ESPALIER_PODS")) {
    if (const auto service = source.text("ESPALIER_SERVICE"))
      source.refuse(cat("ESPALIER_SERVICE is \"", shortened(*service),
                        "\", and ESPALIER_PODS is not set: manifests set both"));
    return std::nullopt;
  }
  source.ranks("JOB_COMPLETION_INDEX", "ESPALIER_PODS");
  ClusterPlace& place = source.place;
  place.local_rank = 0;
  place.local_world = 1;
  const auto port = source.number("ESPALIER_PORT", 1, 65535).value_or(29600);
  const auto service = source.text("ESPALIER_SERVICE");
  if (!service) return place;
  constexpr std::string_view kIndex = "{index}";
  const size_t mark = service->find(kIndex);
  for (int pod = 0; pod < place.world; ++pod) {
    std::string host = *service;
    if (mark != host.npos) host.replace(mark, kIndex.size(), cat(pod));
    if (mark == host.npos || !parse_host_port(cat(host, ":", port)))
      source.refuse(cat("ESPALIER_SERVICE is \"", shortened(*service),
                        "\", which is no host name with {index} for the number of a pod"),
                    "train-workers-0-{index}.train");
    place.hosts.push_back(std::move(host));
  }
  place.coordinator = to_string(HostPort{place.hosts[0], static_cast<int>(port)});
  return place;
}

std::string ResolvedPlace::warning() const {
  if (others.empty()) return "";
  std::string out = cat(sentence_of(place), ", which is believed");
  for (const OtherPlace& other : others)
    out += cat("; ", other.place ? sentence_of(*other.place) : cat(other.source, ": ", other.problem));
  return out;
}

ResolvedPlace resolve(const Environment& environment) {
  ResolvedPlace out;
  for (size_t i = 0; i < std::size(kSources); ++i) {
    const bool won = !out.place.source.empty();
    try {
      const std::optional<ClusterPlace> place = kSources[i](environment);
      if (!place) continue;
      if (!won)
        out.place = *place;
      else if (place->rank == out.place.rank && place->world == out.place.world)
        take_what_is_open(out.place, *place);
      else if (!nested(*place, out.place))
        out.others.push_back({kSourceNames[i], *place, {}});
    } catch (const ValueError& error) {
      if (!won) throw;
      out.others.push_back({kSourceNames[i], std::nullopt, error.message()});
    }
  }
  if (const auto at = coordinator_by_hand(environment); at && !out.place.source.empty())
    out.place.coordinator = *at;
  return out;
}

}  // namespace espalier
