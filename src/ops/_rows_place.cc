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

// By the shapes for two numbers of rows.
RowsOfDraw rows_of_draw(const DrawnArray& a, int64_t rows, const DrawnArray& b, int64_t other_rows) {
  if (a.shape == b.shape) return {};
  if (a.shape.size() == b.shape.size()) {
    const auto [own, other] = std::ranges::mismatch(a.shape, b.shape);
    // One of them has a row.
    const int64_t each = rows ? *own / rows : *other / other_rows;
    if (*own == each * rows && *other == each * other_rows &&
        std::equal(own + 1, a.shape.end(), other + 1, b.shape.end()))
      return {static_cast<size_t>(own - a.shape.begin()), each};
  }
  refuse(a,
         cat("numbers of shape ", a.shape, " are drawn for ", rows, " rows of a batch, and of shape ",
             b.shape, " for ", other_rows,
             ": replicas and logical shards have parts of a batch, whose place is known "
             "where one axis alone has equally many elements for each row"),
         "draw an array with the batch as one of its axes, and make the other one of it");
}

}  // namespace

RowsPlaceScope::RowsPlaceScope(Tensor first, Tensor batch, int64_t rows, int64_t most, RowsOfDraws known)
    : first_(std::move(first)),
      batch_(std::move(batch)),
      rows_(rows),
      most_(most),
      known_(std::move(known)),
      before_(std::exchange(rows_place, this)) {}
RowsPlaceScope::~RowsPlaceScope() { rows_place = before_; }

RowsOfDraw RowsPlaceScope::rows_of_next(const Shape& shape) const {
  if (taken_.size() < known_.size()) return known_[taken_.size()];
  if (shape.empty() || rows_ == 0 || shape[0] % rows_ != 0) return {};
  return {0, shape[0] / rows_};
}

DrawnPart drawn_part(const Shape& shape, bool permutes) {
  RowsPlaceScope* const place = rows_place;
  if (!place || &Sink::current() == &eager_sink()) return {};
  const auto [axis, each] = place->taken_.emplace_back(place->rows_of_next(shape));
  place->draws_.push_back({shape, permutes, CallScope::current()});
  if (each == 0) return {};
  DrawnPart out{{shape}};
  out.global_shape[axis] = place->most_ * each;
  for (size_t i = 0; i < shape.size(); ++i) {
    out.offsets.push_back(i == axis ? place->first_ * each : full({}, 0, DType::kI64));
    out.sizes.push_back(i == axis ? place->batch_ * each
                                  : full({}, static_cast<double>(shape[i]), DType::kI64));
  }
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
    out.push_back(rows_of_draw(draws[i], rows, others[i], other_rows));
    if (out.back().each && draws[i].permutes)
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
