#include "step/batches.h"

#include <algorithm>
#include <cstring>

#include "eager/trace.h"
#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {

Batches::Batches(std::vector<Tensor> arrays, std::span<const int64_t> order, int64_t size, ThreadPool& pool)
    : pool_(pool), arrays_(std::move(arrays)), left_(order), size_(static_cast<size_t>(size)) {
  // Enough for a helper, and not so much that a job would wait for it.
  constexpr size_t kChunkBytes = size_t{1} << 13;
  size_t bytes = 0;
  for (const Tensor& array : arrays_) {
    from_.push_back(static_cast<const std::byte*>(array.bytes()));
    row_bytes_.push_back(array.size(0) ? array.type().bytes() / static_cast<size_t>(array.size(0)) : 0);
    bytes += row_bytes_.back();
  }
  chunk_rows_ = std::max<size_t>(kChunkBytes / std::max<size_t>(bytes, 1), 1);
  for (Side& side : sides_) {
    side.rows.resize(arrays_.size() + 1);
    side.to.resize(arrays_.size());
  }
  begin(sides_[1 - now_]);
}

void Batches::begin(Side& side) {
  side.numbers = left_.first(std::min(left_.size(), size_));
  left_ = left_.subspan(side.numbers.size());
  if (side.numbers.empty()) return;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    TensorType type = arrays_[i].type();
    type.shape[0] = static_cast<int64_t>(side.numbers.size());
    Tensor& kept = side.rows[i];
    if (!kept.defined() || kept.type() != type || !sole_owner(kept))
      kept = make_concrete(Literal(type, allocate_buffer(type.bytes())));
    side.to[i] = kept.node()->literal().buffer().get();
  }
  copying_.start(pool_, static_cast<int64_t>((side.numbers.size() + chunk_rows_ - 1) / chunk_rows_), copy_);
}

void Batches::copy(int64_t chunk) const {
  const Side& side = sides_[1 - now_];
  const size_t first = static_cast<size_t>(chunk) * chunk_rows_;
  const size_t last = std::min(first + chunk_rows_, side.numbers.size());
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const size_t bytes = row_bytes_[i];
    for (size_t row = first; row < last; ++row)
      std::memcpy(side.to[i] + row * bytes, from_[i] + static_cast<size_t>(side.numbers[row]) * bytes, bytes);
  }
}

bool Batches::next() {
  copying_.finish();
  if (sides_[1 - now_].numbers.empty()) return false;
  now_ = 1 - now_;
  begin(sides_[1 - now_]);
  return true;
}

const Tensor& Batches::ones() {
  const auto count = static_cast<int64_t>(sides_[now_].numbers.size());
  if (!ones_.defined() || ones_.size(0) != count) ones_ = full({count}, 1);
  return ones_;
}

std::span<const Tensor> Batches::rows_and_ones() {
  sides_[now_].rows.back() = ones();
  return sides_[now_].rows;
}

}  // namespace espalier
