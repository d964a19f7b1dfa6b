// Collectives among all ranks of a run, over its communicator.
#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "base/told.h"
#include "ir/attribute_reader.h"
#include "ir/dispatch.h"
#include "kernels/exchange.h"
#include "kernels/kernels.h"
#include "ops/collective.h"
#include "ops/movement.h"

namespace espalier {
namespace {

struct CollectiveParams {
  Collective what;
  std::string name, type;
  size_t ranks = 0;                    // that it was made for; 0: any number
  std::vector<size_t> offsets, bytes;  // of operands
  // Operand and result as [outer, axis, inner] bytes of each operand, where they are cut.
  std::vector<size_t> outer, row;
};

template <class T, Reducer kReducer>
void reduce_ranks(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  using A = Accumulator<kReducer, T>;
  auto* out = reinterpret_cast<T*>(to);
  const auto* const* in = reinterpret_cast<const T* const*>(from);
  if (ranks == 2) {
    // What two numbers add up to is rounded once in either type.
    const T *a = in[0], *b = in[1];
    for (size_t i = 0; i < count; ++i)
      out[i] =
          static_cast<T>(combine<kReducer>(static_cast<Compute<T>>(a[i]), static_cast<Compute<T>>(b[i])));
    return;
  }
  constexpr size_t kBlock = 512;
  A sums[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t n = std::min(kBlock, count - first);
    for (size_t i = 0; i < n; ++i) sums[i] = static_cast<A>(in[0][first + i]);
    for (int rank = 1; rank < ranks; ++rank) {
      const T* const x = in[rank] + first;
      for (size_t i = 0; i < n; ++i) sums[i] = combine<kReducer>(sums[i], static_cast<A>(x[i]));
    }
    for (size_t i = 0; i < n; ++i) out[first + i] = static_cast<T>(sums[i]);
  }
}

Collective::Reduce reduction(Reducer reducer, DType dtype) {
  Collective::Reduce out = nullptr;
  visit_reducer(reducer, [&](auto chosen) {
    visit_dtype(dtype, [&](auto tag) { out = reduce_ranks<typename decltype(tag)::type, chosen.value>; });
  });
  return out;
}

// Nothing for groups of a part of the ranks, for which there is no kernel. A group stands in the order of
// ranks, but that of a broadcast, whose first one is its root.
std::shared_ptr<CollectiveParams> all_ranks(const KernelSite& site, Collective::Kind kind) {
  auto out = std::make_shared<CollectiveParams>();
  const auto groups = split_groups(read_dims(site.attributes, "replica_groups"));
  if (groups.size() > 1) return nullptr;
  if (groups.size() == 1) {
    std::vector<int64_t> group = groups[0];
    if (kind == Collective::Kind::kBroadcast && !group.empty()) {
      out->what.root = static_cast<int>(group[0]);
      std::ranges::sort(group);
    }
    for (size_t i = 0; i < group.size(); ++i) {
      if (group[i] != static_cast<int64_t>(i)) return nullptr;
    }
    out->ranks = group.size();
  }
  const DType dtype = site.inputs[0]->dtype;
  out->what.kind = kind;
  out->what.element = size_of(dtype);
  out->name = site.name;
  out->type = cat(dtype);
  for (const TensorType* type : site.inputs) {
    out->bytes.push_back(type->bytes());
    out->offsets.push_back(
        out->offsets.empty() ? 0 : out->offsets.back() + exchange_room(out->bytes[out->bytes.size() - 2]));
  }
  return out;
}

void set_reducer(CollectiveParams& params, const KernelSite& site) {
  const auto reducer = static_cast<Reducer>(read_integer(site.attributes, "reducer"));
  const DType dtype = site.inputs[0]->dtype;
  params.type += cat(" ", kReducerWords[static_cast<int>(reducer)]);
  params.what.reduce = reduction(reducer, dtype);
}

// The operand that `axis` cuts as [outer, row] bytes: its part of one rank, or all of it.
void cut_along(CollectiveParams& params, const TensorType& part, int64_t axis) {
  size_t outer = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(part.shape[static_cast<size_t>(i)]);
  params.outer.push_back(outer);
  params.row.push_back(outer ? part.bytes() / outer : 0);
}

void finish(CollectiveParams& params) {
  params.what.name = params.name;
  params.what.type = params.type;
}

// Of more than one rank; null where this one is alone.
Communicator* peers(const KernelCall& call) {
  Communicator* const communicator = call.context->communicator;
  return communicator && communicator->world() > 1 ? communicator : nullptr;
}

// Whether there are as many ranks as it was made for; the failure says if not.
bool has_its_ranks(const KernelCall& call, const CollectiveParams& params) {
  const Communicator* const communicator = call.context->communicator;
  const size_t world = communicator ? static_cast<size_t>(communicator->world()) : 1;
  if (!params.ranks || params.ranks == world) return true;
  call.failure->set(
      cat("it is made for ", params.ranks, " ranks, and there ", world == 1 ? "is " : "are ", world));
  return false;
}

// Calls f; a failure is the run's.
template <class F>
bool try_to(const KernelCall& call, F f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    call.failure->set(error.message(), error.rule());
    return false;
  }
}

std::byte* bytes_of(const void* data) { return static_cast<std::byte*>(const_cast<void*>(data)); }

// Runs `what`.
bool meet_ranks(const KernelCall& call, const Collective& what, const void* data, void* out) {
  return try_to(call, [&] {
    BegunExchange begun;
    begin_exchange(*call.context, what, bytes_of(data), static_cast<std::byte*>(out), begun);
    end_exchange(*call.context, begun);
  });
}

void end_collective(const KernelCall& call) {
  try_to(call, [&] { end_exchange(*call.context, *call.begun); });
}

void begin_all_reduce(const KernelCall& call) {
  const auto& p = *static_cast<const CollectiveParams*>(call.params);
  if (!has_its_ranks(call, p)) return;
  for (size_t i = 0; i < p.bytes.size(); ++i) {
    std::byte* const place = call.workspace + p.offsets[i];
    if (p.bytes[i] && call.in[i] != place) std::memcpy(place, call.in[i], p.bytes[i]);
  }
  if (peers(call))
    try_to(call, [&] { begin_exchange(*call.context, p.what, call.workspace, nullptr, *call.begun); });
}

// Both parts of a kernel at once.
template <void (*kBegin)(const KernelCall&), void (*kEnd)(const KernelCall&)>
void run_at_once(KernelCall call) {
  BegunExchange begun;
  call.begun = &begun;
  kBegin(call);
  if (!call.failure->failed()) kEnd(call);
}

void run_all_reduce(const KernelCall& call) { run_at_once<begin_all_reduce, end_collective>(call); }

// Where ranks' operands come together: in the result, or in the workspace where they are cut up for it.
std::byte* gathered_at(const KernelCall& call, const CollectiveParams& p, size_t i) {
  return p.outer[i] == 1 ? static_cast<std::byte*>(call.out[i]) : call.workspace;
}

// Puts what came together in the workspace, each rank's operand behind the other, together along the axis.
void put_together(const KernelCall& call, const CollectiveParams& p, size_t i) {
  if (p.outer[i] == 1) return;
  auto* out = static_cast<std::byte*>(call.out[i]);
  for (size_t k = 0; k < p.outer[i]; ++k) {
    for (size_t rank = 0; rank < p.ranks; ++rank, out += p.row[i])
      std::memcpy(out, call.workspace + rank * p.bytes[i] + k * p.row[i], p.row[i]);
  }
}

Collective of_operand(const CollectiveParams& p, size_t i) {
  Collective what = p.what;
  what.count = p.bytes[i] / what.element;
  return what;
}

// Of one operand.
void begin_all_gather(const KernelCall& call) {
  const auto& p = *static_cast<const CollectiveParams*>(call.params);
  if (!has_its_ranks(call, p) || !p.bytes[0]) return;
  if (!peers(call)) return void(std::memcpy(call.out[0], call.in[0], p.bytes[0]));
  try_to(call, [&] {
    begin_exchange(*call.context, of_operand(p, 0), bytes_of(call.in[0]), gathered_at(call, p, 0),
                   *call.begun);
  });
}

void end_all_gather(const KernelCall& call) {
  const auto& p = *static_cast<const CollectiveParams*>(call.params);
  if (!p.bytes[0]) return;
  end_collective(call);
  if (!call.failure->failed() && peers(call)) put_together(call, p, 0);
}

void run_all_gather(const KernelCall& call) {
  const auto& p = *static_cast<const CollectiveParams*>(call.params);
  if (!has_its_ranks(call, p)) return;
  Communicator* const communicator = peers(call);
  for (size_t i = 0; i < p.bytes.size(); ++i) {
    if (!p.bytes[i]) continue;
    if (!communicator) {
      std::memcpy(call.out[i], call.in[i], p.bytes[i]);
      continue;
    }
    if (!meet_ranks(call, of_operand(p, i), call.in[i], gathered_at(call, p, i))) return;
    put_together(call, p, i);
  }
}

// The operand's parts, rank after rank, lie together before they are reduced.
void run_reduce_scatter(const KernelCall& call) {
  const auto& p = *static_cast<const CollectiveParams*>(call.params);
  if (!has_its_ranks(call, p)) return;
  Communicator* const communicator = peers(call);
  if (!communicator) return void(std::memcpy(call.out[0], call.in[0], p.bytes[0]));
  const auto* in = static_cast<const std::byte*>(call.in[0]);
  const size_t part = p.bytes[0] / p.ranks;
  for (size_t k = 0; k < p.outer[0]; ++k) {
    for (size_t rank = 0; rank < p.ranks; ++rank, in += p.row[0])
      std::memcpy(call.workspace + rank * part + k * p.row[0], in, p.row[0]);
  }
  meet_ranks(call, p.what, call.workspace, call.out[0]);
}

void run_collective_broadcast(const KernelCall& call) {
  const auto& p = *static_cast<const CollectiveParams*>(call.params);
  if (!has_its_ranks(call, p)) return;
  Communicator* const communicator = peers(call);
  for (size_t i = 0; i < p.bytes.size(); ++i) {
    if (!p.bytes[i]) continue;
    const bool root = !communicator || communicator->rank() == p.what.root;
    if (root) std::memcpy(call.out[i], call.in[i], p.bytes[i]);
    if (!communicator) continue;
    if (!meet_ranks(call, of_operand(p, i), call.in[i], root ? nullptr : call.out[i])) return;
  }
}

}  // namespace

void begin_exchange(const RunContext& context, const Collective& what, std::byte* data, std::byte* out,
                    BegunExchange& begun) {
  begun.told = {Activity::Kind::kExchange, what.name, what.count * what.element};
  Told told(context.events, begun.told);
  begun.ticket = context.communicator->start(what, data, out);
  told.goes_on();
}

void end_exchange(const RunContext& context, const BegunExchange& begun) {
  if (begun.ticket == BegunExchange::kNoTicket) return;
  const Told told = Told::resumed(context.events, begun.told);
  context.communicator->done(begun.ticket, context.pool);
}

PreparedKernel prepare_all_reduce(const KernelSite& site) {
  const auto params = all_ranks(site, Collective::Kind::kAllReduce);
  if (!params) return {};
  set_reducer(*params, site);
  const size_t bytes = params->offsets.back() + exchange_room(params->bytes.back());
  // Without the room behind the last, which is as much for one of another size.
  params->what.count = (params->offsets.back() + params->bytes.back()) / params->what.element;
  finish(*params);
  return {.run = run_all_reduce,
          .params = params,
          .workspace = bytes,
          .exchange = true,
          .begin = begin_all_reduce,
          .end = end_collective};
}

PreparedKernel prepare_all_gather(const KernelSite& site) {
  const auto params = all_ranks(site, Collective::Kind::kAllGather);
  if (!params) return {};
  const int64_t axis = read_integer(site.attributes, "all_gather_dim");
  size_t workspace = 0;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const TensorType &in = *site.inputs[i], &out = *site.outputs[i];
    if (in.bytes()) params->ranks = out.bytes() / in.bytes();
    cut_along(*params, in, axis);
    if (params->outer.back() > 1) workspace = std::max(workspace, out.bytes());
  }
  finish(*params);
  PreparedKernel out{.run = run_all_gather, .params = params, .workspace = workspace};
  if (site.inputs.size() == 1) {
    out.begin = begin_all_gather;
    out.end = end_all_gather;
  }
  return out;
}

PreparedKernel prepare_reduce_scatter(const KernelSite& site) {
  const auto params = all_ranks(site, Collective::Kind::kReduceScatter);
  if (!params) return {};
  set_reducer(*params, site);
  params->ranks = site.inputs[0]->bytes() / site.outputs[0]->bytes();
  params->what.count = params->bytes[0] / params->what.element;
  cut_along(*params, *site.outputs[0], read_integer(site.attributes, "scatter_dimension"));
  finish(*params);
  return {.run = run_reduce_scatter,
          .params = params,
          .workspace = exchange_room(params->bytes[0]),
          .exchange = true};
}

PreparedKernel prepare_collective_broadcast(const KernelSite& site) {
  const bool others = read_integer(site.attributes, "has_dynamic_root") != 0 ||
                      read_integer(site.attributes, "channel_handle.handle") > 0;
  const auto params = others ? nullptr : all_ranks(site, Collective::Kind::kBroadcast);
  if (!params) return {};
  finish(*params);
  return {.run = run_collective_broadcast, .params = params};
}

}  // namespace espalier
