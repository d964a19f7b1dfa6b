// An op that fails when a test says so.
#pragma once

#include <cstring>

#include "ir/builder.h"
#include "ir/op.h"

namespace espalier {

// Where a call of `trip` stands.
struct TripAttributes final : Attributes {
  int64_t place = 0;
  void fields(FieldVisitor& visitor) override { visitor.field("place", place); }
};

// Which calls fail: those of one place, after some runs. Of one thread at a time.
struct Trips {
  static constexpr int64_t kNowhere = -1;
  static inline int64_t armed = kNowhere, runs_left = 0;
  static inline const RunContext* context = nullptr;  // of the last run
  static void arm(int64_t place, int64_t runs = 0) {
    armed = place;
    runs_left = runs;
  }
  static void disarm() { arm(kNowhere); }
};

Tensor trip(const Tensor& x, int64_t place);

inline void infer_trip(InferContext& c) {
  c.require_inputs(1);
  c.result(c.in(0));
}
inline void eval_trip(EvalContext& c) {
  if (const size_t bytes = c.out(0).type->bytes()) std::memcpy(c.out(0).data, c.in(0).data, bytes);
  Trips::context = c.context;
  if (c.attributes<TripAttributes>().place == Trips::armed && Trips::runs_left-- == 0)
    c.failure->set("a test wants it so");
}
// The cotangent passes a call of the next place.
inline void gradient_trip(GradientContext& c) {
  c.set(0, trip(c.cotangent(), c.attributes<TripAttributes>().place + 1));
}
inline const OpDef op_trip = {
    .name = "trip",
    .doc = "Its operand; fails where Trips says.",
    .attributes = make_attributes<TripAttributes>,
    .infer = infer_trip,
    .eval = eval_trip,
    .gradient = gradient_trip,
    .fallible = true,
};

inline Tensor trip(const Tensor& x, int64_t place) {
  auto attributes = std::make_shared<TripAttributes>();
  attributes->place = place;
  return emit(op_trip, attributes, {&x, 1});
}

// The graph with such a call behind a value, between it and all that reads it.
inline std::shared_ptr<Graph> with_trip(const Graph& graph, ValueId behind, int64_t place) {
  Rewriter rewriter(graph);
  const SinkScope scope(rewriter.builder());
  for (const Node& node : graph.nodes()) {
    rewriter.copy(node);
    for (uint32_t i = 0; i < node.result_count; ++i) {
      const ValueId value = node.first_result + i;
      if (value == behind) rewriter.replace(value, trip(rewriter.mapped(value), place));
    }
  }
  return rewriter.finish();
}

}  // namespace espalier
