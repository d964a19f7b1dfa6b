#include "strategy/host_collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "ir/dispatch.h"
#include "ir/sink.h"
#include "ops/reducer.h"

namespace espalier {
namespace {

template <class T>
void sum_of_ranks(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  using Sum = Accumulator<Reducer::kSum, T>;
  auto* const out = reinterpret_cast<T*>(to);
  const auto* const* const in = reinterpret_cast<const T* const*>(from);
  for (size_t i = 0; i < count; ++i) {
    auto sum = static_cast<Sum>(in[0][i]);
    for (int rank = 1; rank < ranks; ++rank) sum = combine<Reducer::kSum>(sum, static_cast<Sum>(in[rank][i]));
    out[i] = static_cast<T>(sum);
  }
}

}  // namespace

void HostCollectives::all_gather(std::string_view name, std::span<const std::byte> mine,
                                 std::byte* out) const {
  if (!communicator_) {
    std::ranges::copy(mine, out);
    return;
  }
  const Collective what{
      .kind = Collective::Kind::kAllGather, .name = name, .type = "bytes", .count = mine.size()};
  run_collective(*communicator_, what, const_cast<std::byte*>(mine.data()), out, *pool_);
}

std::vector<std::string> HostCollectives::texts(std::string_view name, std::string mine) const {
  const std::vector<uint64_t> sizes = of_each(name, uint64_t{mine.size()});
  // In rooms of the size of the largest.
  const size_t room = std::ranges::max(sizes);
  mine.resize(room);
  const std::vector<char> all = all_gather(name, std::span<const char>(mine));
  std::vector<std::string> out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * room);
    out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(sizes[i]));
  }
  return out;
}

std::vector<Tensor> HostCollectives::tensors(const std::vector<Tensor>& own) const {
  if (world() == 1) return own;
  if (own.size() > 1) {
    std::vector<Tensor> out(own.size() * static_cast<size_t>(world()));
    for (size_t i = 0; i < own.size(); ++i) {
      const std::vector<Tensor> of_workers = tensors({own[i]});
      for (size_t k = 0; k < of_workers.size(); ++k) out[k * own.size() + i] = of_workers[k];
    }
    return out;
  }
  const Literal& mine = own.at(0).node()->dense();
  std::string type(1, static_cast<char>(mine.type().dtype));
  for (const int64_t size : mine.type().shape) type.append(reinterpret_cast<const char*>(&size), sizeof size);
  const std::vector<std::string> types = texts("types", type);
  const std::vector<std::string> values =
      texts("values", std::string(reinterpret_cast<const char*>(mine.raw()), mine.raw_bytes()));
  std::vector<Tensor> out;
  for (size_t i = 0; i < types.size(); ++i) {
    TensorType of{static_cast<DType>(types[i][0]), {}};
    for (size_t k = 1; k < types[i].size(); k += sizeof(int64_t)) {
      int64_t size = 0;
      std::memcpy(&size, types[i].data() + k, sizeof size);
      of.shape.push_back(size);
    }
    out.push_back(make_concrete(Literal::copy(of, values[i].data())));
  }
  return out;
}

Tensor HostCollectives::sum(const Tensor& own) const {
  if (!communicator_) return own;
  const TensorType& type = own.type();
  const std::string text = cat(type, " sum");
  Collective what{.kind = Collective::Kind::kAllReduce,
                  .name = "sum",
                  .type = text,
                  .element = size_of(type.dtype),
                  .count = static_cast<size_t>(type.elements())};
  visit_dtype(type.dtype, [&](auto tag) { what.reduce = sum_of_ranks<typename decltype(tag)::type>; });
  const std::shared_ptr<std::byte[]> place = communicator_->allocate(type.bytes());
  if (type.bytes()) std::memcpy(place.get(), own.bytes(), type.bytes());
  run_collective(*communicator_, what, place.get(), nullptr, *pool_);
  return make_concrete(Literal::copy(type, place.get()));
}

void HostCollectives::broadcast(std::span<const Variable> variables) const {
  if (world() == 1) return;
  for (const Variable& variable : variables) {
    const Tensor mine = variable.state()->value;
    const size_t bytes = mine.type().bytes();
    const std::string type = to_string(mine.type());
    const Collective what{.kind = Collective::Kind::kBroadcast,
                          .name = variable.path(),
                          .type = type,
                          .element = 1,
                          .count = bytes};
    Buffer buffer = rank() == 0 ? Buffer() : allocate_buffer(bytes);
    auto* const data = static_cast<std::byte*>(const_cast<void*>(mine.bytes()));
    run_collective(*communicator_, what, data, buffer.get(), *pool_);
    if (buffer) Variable(variable).assign(make_concrete(Literal(mine.type(), std::move(buffer))));
  }
}

}  // namespace espalier
