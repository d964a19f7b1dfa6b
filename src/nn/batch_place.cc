#include "nn/batch_place.h"

#include <utility>

#include "ir/sink.h"
#include "ops/collective.h"

namespace espalier {
namespace {

thread_local BatchPlaceScope* place_in_batch = nullptr;

}  // namespace

BatchPlaceScope::BatchPlaceScope(Tensor first, int64_t rows, int64_t whole, Others others)
    : first_(std::move(first)),
      rows_(rows),
      whole_(whole),
      others_(others),
      before_(std::exchange(place_in_batch, this)) {}
BatchPlaceScope::~BatchPlaceScope() { place_in_batch = before_; }

Shard shard_in_batch(const Shape& shape) {
  const BatchPlaceScope* const place = place_in_batch;
  if (!place || shape.empty() || place->rows_ == 0 || shape[0] % place->rows_ != 0) return {};
  const int64_t each = shape[0] / place->rows_;
  Shard out{shape, {}};
  out.global_shape[0] = place->whole_ * each;
  out.offsets.push_back(place->first_ * each);
  for (size_t i = 1; i < shape.size(); ++i) out.offsets.push_back(full({}, 0, DType::kI64));
  return out;
}

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
