// What a collective over hosts does within one of them, before and behind its messages.
#include <cstring>

#include "base/thread_pool.h"
#include "comm/calls.h"
#include "comm/wire_communicator.h"

namespace espalier {

// What the ranks of this host give comes together. Of no elements, too: who calls something else hears it
// here.
void WireCommunicator::begin_on_host(Call& call) {
  WireJob& job = call.job;
  const Collective& what = job.what;
  const size_t bytes = what.count * what.element;
  Communicator* const inner = place_.inner.get();
  const int first = place_.hosts.first(host_);
  ThreadPool pool(1);
  Collective on_host = what;
  switch (job.kind) {
    case CallKind::kAny:
      if (inner) job.bits = inner->any(job.bits);
      return;
    case CallKind::kBarrier:
      if (inner) run_collective(*inner, on_host, nullptr, nullptr, pool);
      return;
    case CallKind::kAllReduce:
    case CallKind::kReduceScatter:
      on_host.kind = Collective::Kind::kAllReduce;
      if (inner) run_collective(*inner, on_host, job.data, nullptr, pool);
      return;
    case CallKind::kAllGather:
      if (inner)
        run_collective(*inner, on_host, job.data, job.out + static_cast<size_t>(first) * bytes, pool);
      else if (bytes > 0)
        std::memmove(job.out + static_cast<size_t>(place_.rank) * bytes, job.data, bytes);
      return;
    case CallKind::kBroadcast:
      if (place_.hosts.host_of(what.root) != host_) return;
      on_host.root = what.root - first;
      if (inner)
        run_collective(*inner, on_host, job.data, job.out, pool);
      else if (job.out && bytes > 0)
        std::memmove(job.out, job.data, bytes);
      if (place_.rank != what.root) job.data = job.out;
      return;
  }
}

// What has come goes to all ranks of this host.
void WireCommunicator::end_on_host(Call& call) {
  WireJob& job = call.job;
  const Collective& what = job.what;
  Communicator* const inner = place_.inner.get();
  const bool speaks = place_.rank == place_.hosts.first(host_);
  ThreadPool pool(1);
  const auto spread = [&](std::byte* data, size_t count) {
    if (!inner) return;
    const Collective all{.kind = Collective::Kind::kBroadcast,
                         .name = what.name,
                         .type = what.type,
                         .element = what.element,
                         .count = count};
    run_collective(*inner, all, data, speaks ? nullptr : data, pool);
  };
  const size_t part = what.count / static_cast<size_t>(world());
  const auto place = [&](int rank) { return static_cast<size_t>(rank) * part * what.element; };
  switch (job.kind) {
    case CallKind::kAny:
      if (inner) job.bits = inner->any(job.bits);
      return;
    case CallKind::kBarrier:
      if (inner) run_collective(*inner, what, nullptr, nullptr, pool);
      return;
    case CallKind::kAllReduce:
      return spread(job.data, what.count);
    case CallKind::kReduceScatter:
      spread(job.data + place(place_.hosts.first(host_)),
             part * static_cast<size_t>(place_.hosts.sizes[static_cast<size_t>(host_)]));
      if (part > 0) std::memcpy(call.out, job.data + place(place_.rank), part * what.element);
      return;
    case CallKind::kAllGather:
      return spread(job.out, what.count * static_cast<size_t>(world()));
    case CallKind::kBroadcast:
      if (place_.hosts.host_of(what.root) != host_) spread(job.out, what.count);
      return;
  }
}

}  // namespace espalier
