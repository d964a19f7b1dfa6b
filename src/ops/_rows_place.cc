#include <algorithm>
#include <utility>

#include "base/format.h"
#include "ir/sink.h"
#include "ops/drawn_again.h"
#include "ops/registry.h"
#include "ops/rows_place.h"

namespace espalier {
namespace {

thread_local RowsPlaceScope* rows_place = nullptr;

[[noreturn]] void refuse(const DrawnArray& draw, const std::string& what, const std::string& fix) {
  const CallScope scope(draw.at);
  throw ValueError("random.rows", what, fix);
}

// How many elements of the first axis belong to a row, by the shapes for two numbers of rows.
int64_t elements_of_row(const DrawnArray& a, int64_t rows, const DrawnArray& b, int64_t other_rows) {
  if (a.shape == b.shape) return 0;
  if (!a.shape.empty() && a.shape.size() == b.shape.size()) {
    // One of them has a row.
    const int64_t each = rows ? a.shape[0] / rows : b.shape[0] / other_rows;
    if (a.shape[0] == each * rows && b.shape[0] == each * other_rows &&
        std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1))
      return each;
  }
  refuse(a,
         cat("numbers of shape ", a.shape, " are drawn for ", rows, " rows of a batch, and of shape ",
             b.shape, " for ", other_rows,
             ": replicas and logical shards have parts of a batch, whose place is known "
             "where the first axis has equally many elements for each row"),
         "draw with the batch as the first axis, and transpose");
}

}  // namespace

RowsPlaceScope::RowsPlaceScope(Tensor first, int64_t rows, int64_t whole, RowsOfDraws known)
    : first_(std::move(first)),
      rows_(rows),
      whole_(whole),
      known_(std::move(known)),
      before_(std::exchange(rows_place, this)) {}
RowsPlaceScope::~RowsPlaceScope() { rows_place = before_; }

int64_t RowsPlaceScope::rows_of_next(const Shape& shape) const {
  if (taken_.size() < known_.size()) return known_[taken_.size()];
  return shape.empty() || rows_ == 0 || shape[0] % rows_ != 0 ? 0 : shape[0] / rows_;
}

Shard drawn_part(const Shape& shape, bool permutes) {
  RowsPlaceScope* const place = rows_place;
  if (!place || &Sink::current() == &eager_sink()) return {};
  const int64_t each = place->rows_of_next(shape);
  place->draws_.push_back({shape, permutes, CallScope::current()});
  place->taken_.push_back(each);
  if (each == 0) return {};
  Shard out{shape, {}};
  out.global_shape[0] = place->whole_ * each;
  out.offsets.push_back(place->first_ * each);
  for (size_t i = 1; i < shape.size(); ++i) out.offsets.push_back(full({}, 0, DType::kI64));
  return out;
}

RowsOfDraws rows_of_draws(const std::vector<DrawnArray>& draws, int64_t rows,
                          const std::vector<DrawnArray>& others, int64_t other_rows) {
  if (draws.size() != others.size())
    refuse(
        draws.empty() ? others.front() : draws.front(),
        cat("numbers are drawn ", counted(draws.size(), "time"), " for ", rows, " rows of a batch, and ",
            counted(others.size(), "time"), " for ", other_rows, ": their places in the batch are not known"),
        "draw as often for any number of rows");
  RowsOfDraws out;
  for (size_t i = 0; i < draws.size(); ++i) {
    out.push_back(elements_of_row(draws[i], rows, others[i], other_rows));
    if (out.back() && draws[i].permutes)
      refuse(draws[i],
             cat("an order of the ", rows,
                 " rows of a batch is drawn where replicas or logical shards have a "
                 "part of them"),
             "shuffle the dataset");
  }
  return out;
}

std::optional<Tensor> drawn_again(const Node& node, std::span<const Tensor> inputs) {
  std::optional<Tensor> out = random_bits_again(node, inputs);
  return out ? out : dropout_again(node, inputs);
}

bool draws(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return node.op == &op_random_bits || node.op == &op_dropout ||
           std::ranges::any_of(graph.regions(node), [](const GraphPtr& region) { return draws(*region); });
  });
}

}  // namespace espalier
