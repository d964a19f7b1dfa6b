#include <algorithm>

#include "base/format.h"
#include "espalier/array.h"
#include "espalier/layers.h"
#include "nn/ids_observer.h"

namespace espalier {
namespace {

// Of ids that have values: in a row along the first axis, if there is one.
void require_ids(const Tensor& ids, int64_t count, const std::string& path) {
  // Of u64, the largest become negative: none has a row either way.
  const Tensor wide = convert(ids, DType::kI64);
  const std::span<const int64_t> values = wide.data<int64_t>();
  const auto beyond = std::ranges::find_if(values, [&](int64_t id) { return id < 0 || id >= count; });
  if (beyond == values.end()) return;
  const int64_t place = beyond - values.begin();
  const std::string row = ids.rank() ? cat(" of row ", place / (wide.type().elements() / ids.size(0))) : "";
  throw ValueError("embedding.ids", cat("id ", *beyond, row, " is none: layer \"", path, "\" has ", count,
                                        ", numbered from 0"));
}

}  // namespace

Embedding::Embedding(EmbeddingOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (options_.input_dim < 1 || options_.output_dim < 1) {
    throw ValueError("embedding.size", cat("input_dim and output_dim must be positive, got ",
                                           options_.input_dim, " and ", options_.output_dim));
  }
}

void Embedding::build(const TensorType& input) {
  if (!is_integer(input.dtype)) throw DTypeError("embedding.dtype", cat("ids must be integers, got ", input));
  add_weight("embeddings", {options_.input_dim, options_.output_dim}, options_.embeddings_initializer, true,
             false);
  regularize("embeddings", options_.embeddings_regularizer);
}

Tensor Embedding::call(const Tensor& ids) {
  const int64_t count = options_.input_dim;
  bool known = ids.concrete();
  if (known) {
    require_ids(ids, count, path());
  } else {
    IdsObserver::each([&](IdsObserver& observer) { known = observer.on_ids(ids, count, path()) || known; });
  }
  const Tensor rows = take(weight("embeddings"), ids, 0);
  if (known) return convert(rows, compute_dtype());
  // As losses do of labels: what is no id gives no numbers.
  const Tensor wide = convert(ids, DType::kI64), none = logical_or(wide < 0, wide >= count);
  const Tensor nan = full_like(rows, std::numeric_limits<double>::quiet_NaN());
  return convert(where(broadcast_in_dim(none, rows.shape(), Dims::range(ids.rank())), nan, rows),
                 compute_dtype());
}

}  // namespace espalier
