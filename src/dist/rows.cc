#include "dist/rows.h"

#include "eager/trace.h"
#include "espalier/ops.h"
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

std::vector<Tensor> rows_between(std::span<const Tensor> rows, int64_t first, int64_t last) {
  std::vector<Tensor> out;
  for (const Tensor& each : rows) out.push_back(part_of(each, first, last));
  return out;
}

std::vector<Tensor> with_empty_rows(std::span<const Tensor> rows, int64_t more) {
  const EagerScope eager;
  const int64_t count = rows.back().size(0);
  std::vector<Tensor> out;
  for (const Tensor& each : rows.first(rows.size() - 1)) {
    std::vector<Tensor> parts{each};
    for (int64_t i = 0; i < more; ++i) parts.push_back(part_of(each, count - 1, count));
    out.push_back(concatenate(parts, 0));
  }
  out.push_back(concatenate({rows.back(), full({more}, 0)}, 0));
  return out;
}

}  // namespace espalier
