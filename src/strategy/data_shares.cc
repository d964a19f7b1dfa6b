#include "strategy/data_shares.h"

#include <numeric>
#include <span>
#include <string>

#include "espalier/source.h"

namespace espalier {

std::pair<int64_t, int64_t> DataShares::rows_of(int64_t count, int replica) const {
  return {count * replica / world_, count * (replica + 1) / world_};
}

std::pair<int64_t, int64_t> DataShares::own_rows(int64_t count) const {
  return {rows_of(count, first_).first, rows_of(count, first_ + count_ - 1).second};
}

int64_t DataShares::rows_before(std::span<const int64_t> of_shards) const {
  const std::vector<int64_t> own = shards_of(std::ssize(of_shards), first_);
  const auto before = of_shards.first(own.empty() ? 0 : static_cast<size_t>(own.front()));
  return std::accumulate(before.begin(), before.end(), int64_t{0});
}

std::vector<int64_t> DataShares::shards_of(int64_t shards, int replica) const {
  return owned_shards(shards, replica, world_);
}

Readers DataShares::readers() const {
  if (hosts_.world() == 1) return {};
  return {hosts_.rank(), hosts_.world(), [hosts = hosts_](std::string_view name, std::string_view mine) {
            const std::vector<char> all = hosts.all_gather(name, std::span<const char>(mine));
            return std::string(all.begin(), all.end());
          }};
}

}  // namespace espalier
