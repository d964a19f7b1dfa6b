#include "launch/worker_engine.h"

#include "base/format.h"

namespace espalier {

EngineChoice chosen_engine(const Environment& environment, const ClusterPlace& place,
                           const std::function<bool()>& has_mpi, const std::string& apart) {
  const std::string told = environment("ESPALIER_ENGINE").value_or("");
  if (!told.empty() && told != "auto") return {told, "ESPALIER_ENGINE says so"};
  if (place.local_world == place.world && apart.empty()) return {"shm", "all ranks are on one host"};
  const bool mpi_started = environment("PMIX_RANK") || environment("PMI_RANK"), there = has_mpi();
  const bool by_mpi = mpi_started && there;
  const std::string why = by_mpi  ? "an MPI launcher started them"
                          : there ? "no MPI launcher started them"
                                  : "the module mpi is not there";
  return {by_mpi ? "mpi" : "gloo", apart.empty() ? why : cat(why, "; not shm, since ", apart)};
}

std::string launched_engine(size_t hosts) { return hosts > 1 ? "gloo" : "shm"; }

}  // namespace espalier
