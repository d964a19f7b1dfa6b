#include "strategy/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/sink.h"

namespace espalier {
namespace {

Tensor part_of(const Tensor& rows, int64_t first, int64_t last) {
  TensorType type = rows.type();
  const int64_t count = type.shape[0];
  if (first == 0 && last == count) return rows;
  const Literal& all = rows.node()->dense();
  type.shape[0] = last - first;
  const size_t row = count ? rows.type().bytes() / static_cast<size_t>(count) : 0;
  std::byte* const begin = all.buffer().get() + static_cast<size_t>(first) * row;
  return make_concrete(Literal(std::move(type), Buffer(all.buffer(), begin)));
}

}  // namespace

int64_t BatchRows::most_weight() const {
  const int64_t count = this->count();
  if (!of_shards.empty()) return count;
  double sum = 0;
  for (const float weight : rows.back().data<float>()) sum += static_cast<double>(weight);
  // Not so for NaN.
  return sum > static_cast<double>(count) ? static_cast<int64_t>(std::ceil(std::min(sum, 0x1p53))) : count;
}

std::vector<Tensor> rows_between(std::span<const Tensor> rows, int64_t first, int64_t last) {
  std::vector<Tensor> out;
  for (const Tensor& each : rows) out.push_back(part_of(each, first, last));
  return out;
}

std::vector<Tensor> with_row_repeated(std::span<const Tensor> rows, int64_t row, int64_t count) {
  std::vector<Tensor> out;
  for (const Tensor& array : rows) {
    TensorType type = array.type();
    const auto had = static_cast<size_t>(type.shape[0]);
    const size_t bytes = had ? type.bytes() / had : 0;
    type.shape[0] = count;
    const Buffer buffer = allocate_buffer(type.bytes());
    const auto* const from = static_cast<const std::byte*>(array.bytes());
    if (bytes) std::memcpy(buffer.get(), from, had * bytes);
    for (size_t i = had; bytes && i < static_cast<size_t>(count); ++i)
      std::memcpy(buffer.get() + i * bytes, from + static_cast<size_t>(row) * bytes, bytes);
    out.push_back(make_concrete(Literal(type, buffer)));
  }
  return out;
}

std::vector<Tensor> with_rows_of_no_weight(std::span<const Tensor> rows, int64_t count) {
  const auto had = static_cast<size_t>(rows.back().size(0));
  std::vector<Tensor> out = with_row_repeated(rows, rows.back().size(0) - 1, count);
  auto* const weights = reinterpret_cast<float*>(out.back().node()->literal().buffer().get());
  std::fill(weights + had, weights + count, 0.0f);
  return out;
}

}  // namespace espalier
