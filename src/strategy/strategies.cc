#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/format.h"
#include "base/thread_pool.h"
#include "comm/local.h"
#include "espalier/strategy.h"
#include "espalier/threads.h"
#include "pjrt/open.h"
#include "strategy/replicas.h"

namespace espalier::strategy {
namespace {

// Null: this CPU.
std::shared_ptr<Device> devices_of_plugin(const MirroredOptions& options) {
  if (!options.device_names.empty()) {
    if (options.devices != 0 && std::cmp_not_equal(options.devices, options.device_names.size()))
      throw ValueError("strategy.devices", cat(counted(options.device_names.size(), "device"), " named, and ",
                                               options.devices, " wanted"));
    return pjrt::open_several(options.device_names);
  }
  auto* const first = dynamic_cast<pjrt::ClientDevice*>(RunContext::current().device);
  return first ? pjrt::several_from(*first, static_cast<size_t>(options.devices)) : nullptr;
}

}  // namespace

OneDevice::OneDevice(OneDeviceOptions options, Location at) : Strategy(nullptr) {
  const CallScope scope(at);
  replicas_ = std::make_shared<Replicas>(std::vector<Replicas::Seat>(1), false, CombineOptions{}, 0,
                                         options.logical_shards);
}

Mirrored::Mirrored(MirroredOptions options, Location at) : Strategy(nullptr) {
  const CallScope scope(at);
  constexpr int kMost = 256;
  if (options.devices < 0 || options.devices > kMost)
    throw ValueError("strategy.devices",
                     cat("there are 1 to ", kMost, " devices, or 0 for the cores, got ", options.devices));
  const CombineOptions combine{.first_bucket = options.first_bucket, .bucket = options.bucket};
  if (const std::shared_ptr<Device> several = devices_of_plugin(options)) {
    replicas_ = std::make_shared<Replicas>(several, combine, options.audit_steps, options.logical_shards);
    return;
  }
  const int devices = options.devices ? options.devices : threads();
  std::vector<Replicas::Seat> places(static_cast<size_t>(devices));
  const auto ranks = local_communicators(devices);
  for (size_t i = 0; i < places.size(); ++i)
    places[i] = {devices > 1 ? ranks[i] : nullptr, std::max(threads() / devices, 1)};
  replicas_ = std::make_shared<Replicas>(std::move(places), false, combine, 0, options.logical_shards);
}

MultiWorkerMirrored::MultiWorkerMirrored(MultiWorkerOptions options, Location at) : Strategy(nullptr) {
  const CallScope scope(at);
  if (options.compress != "none" && options.compress != "bf16")
    throw ValueError("strategy.compress",
                     cat("gradients travel as none or bf16 says, got \"", options.compress, "\""));
  const CombineOptions combine{.first_bucket = options.first_bucket,
                               .bucket = options.bucket,
                               .travel = options.compress == "bf16" ? DType::kBF16 : DType::kF32};
  const RunContext& current = RunContext::current();
  std::vector<Replicas::Seat> places(1);
  if (current.communicator) {
    places[0].communicator = std::shared_ptr<Communicator>(current.communicator, [](Communicator*) {});
    places[0].threads = current.pool.threads();
  } else {
    places[0].worker = Worker::from_environment();
  }
  if (const auto& worker = places[0].worker) {
    places[0].communicator = std::shared_ptr<Communicator>(worker, &worker->communicator());
    // Unless somebody said how many.
    const bool said = std::getenv("ESPALIER_THREADS") || threads() != default_threads();
    places[0].threads = said ? threads() : worker->default_threads();
  }
  replicas_ = std::make_shared<Replicas>(std::move(places), true, combine, options.audit_steps,
                                         options.logical_shards);
}

}  // namespace espalier::strategy
