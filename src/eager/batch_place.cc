#include "eager/batch_place.h"

#include <utility>

#include "ir/sink.h"
#include "ops/collective.h"

namespace espalier {
namespace {

thread_local BatchPlaceScope* place_in_batch = nullptr;

Tensor number_in(const Tensor& place, int64_t i) { return reshape(slice(place, {i}, {i + 1}), {}); }

}  // namespace

BatchPlaceScope::BatchPlaceScope(const Tensor& place, int64_t rows, int64_t most, Others others,
                                 RowsOfDraws known)
    : place_(number_in(place, 0), number_in(place, 1), rows, most, std::move(known)),
      others_(others),
      before_(std::exchange(place_in_batch, this)) {}
BatchPlaceScope::~BatchPlaceScope() { place_in_batch = before_; }

bool is_part_of_batch() { return place_in_batch != nullptr; }

void note_rows_interact(const std::string& layer, bool of_one) {
  if (place_in_batch) (of_one ? place_in_batch->met_.of_one : place_in_batch->met_.layers).insert(layer);
}

bool has_other_replicas() {
  if (!place_in_batch) return false;
  if (place_in_batch->others_ == BatchPlaceScope::Others::kShards)
    throw ValueError("strategy.synchronized",
                     "statistics of all rows are not known while the logical shards of a batch run one after "
                     "another",
                     "leave out synchronized, or train without logical shards");
  return true;
}

Tensor sum_over_replicas(const Tensor& own, const char* name) {
  const NameScope scope(name);
  return all_reduce({own})[0];
}

}  // namespace espalier
