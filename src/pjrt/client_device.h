// One device of a client, or several that run one program as its replicas: arrays on it, and programs
// compiled for it.
#pragma once

#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pjrt/client.h"

namespace espalier::pjrt {

// What a device has done since its client was created.
struct Counters {
  int64_t compiles = 0, loads = 0;  // programs that were compiled, and that were found compiled on disk
  int64_t executes = 0, uploads = 0, downloads = 0;
  int64_t uploaded_bytes = 0, downloaded_bytes = 0;
};
Counters operator-(const Counters& a, const Counters& b);

// Safe from several threads.
class ClientDevice final : public Device {
 public:
  ClientDevice(Client& client, AbiDevice* device, std::string name);
  // REQUIRES: two single devices of the client or more, and none twice.
  ClientDevice(Client& client, std::vector<ClientDevice*> members);
  // Those here of several processes, which have `ids` in the order of replicas, the first one here at
  // `first`.
  ClientDevice(Client& client, std::vector<ClientDevice*> members, std::vector<int> ids, size_t first);
  ClientDevice(const ClientDevice&) = delete;
  ClientDevice& operator=(const ClientDevice&) = delete;

  Client& client() const { return client_; }
  // Those that it is made of, one a replica: of a single one itself.
  const std::vector<ClientDevice*>& members() const { return members_; }
  // "NVIDIA H100 80GB HBM3", as the plugin calls it.
  const std::string& kind() const { return kind_; }
  // What several did together counts for each of them, too.
  Counters counters() const;

  // Until no more runs than so many are under way.
  void wait_for_runs(size_t left = 0);

  const std::string& name() const override { return name_; }
  size_t replicas() const override { return members_.size(); }
  size_t world() const override { return world_ids_.empty() ? replicas() : world_ids_.size(); }
  size_t first_replica() const override { return first_; }
  // The client's number of a single one.
  int id() const { return id_; }
  const std::string& replica_name(size_t replica) const override { return members_[replica]->name_; }
  // The plugin's figures, or else bytes of arrays as this process has counted them; of several those of the
  // first.
  DeviceMemory memory() const override;
  // Raises DeviceError[device.call], or [device.unsupported], too.
  std::shared_ptr<const DeviceProgram> compile(const Graph& graph,
                                               const ProgramOptions& options = {}) override;

 private:
  friend class ClientArray;
  friend class ClientProgram;
  // Raises DeviceError[device.call], [device.memory].
  RemoteArrayPtr keep(std::span<const Literal> values) override;
  void count(int64_t Counters::*what, int64_t by = 1);
  void count_of(size_t replica, int64_t Counters::*what, int64_t by = 1);
  void count_bytes(int64_t by);
  std::vector<int> ids() const;
  void note_estimate(AbiLoadedExecutable* loaded);
  AbiLoadedExecutable* compiled(const Graph& graph, const std::string& text, const std::string& options,
                                double& seconds);
  // Null where it cannot be loaded.
  AbiLoadedExecutable* loaded(const std::string& bytes) const;
  // "" where it cannot be told.
  std::string serialized(AbiLoadedExecutable* loaded) const;
  // One run, which an event of each replica ends.
  void in_flight(std::vector<AbiEvent*> done);

  Client& client_;
  AbiDevice* const device_ = nullptr;  // of a single one
  const std::vector<ClientDevice*> members_;
  const std::vector<int> world_ids_ = {};
  const size_t first_ = 0;
  const std::string name_;
  std::string kind_;
  int id_ = 0;
  mutable std::mutex mutex_;
  Counters counters_;
  DeviceMemory counted_;
  std::mutex runs_mutex_;
  std::deque<std::vector<AbiEvent*>> runs_;
};

}  // namespace espalier::pjrt
