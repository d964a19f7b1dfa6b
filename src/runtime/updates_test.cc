// What scatter and dynamic_update_slice write: in place where nobody else may read, and nothing sooner.
#include <optional>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/trip_test.h"
#include "runtime/donated_arrays_test.h"
#include "runtime/executable.h"
#include "runtime/plan.h"

namespace espalier {
namespace {

const TensorType kCache{DType::kF32, {64, 100}}, kRows{DType::kF32, {3, 100}}, kPlace{DType::kI32, {}},
    kPlaces{DType::kI32, {3, 1}};
constexpr size_t kCacheBytes = 64 * 100 * 4;

class Updates : public testing::Test {
 protected:
  ~Updates() override { Trips::disarm(); }
  Tensor cache(const char* name = "cache") { return builder_.input(InputKind::kVariable, name, kCache); }
  Tensor rows() { return builder_.argument("rows", kRows); }
  Tensor place() { return builder_.argument("place", kPlace); }
  static Tensor write(const Tensor& x, const Tensor& rows, const Tensor& at) {
    return dynamic_update_slice(x, rows, {at, constant_like(kPlace, 0)});
  }
  static Tensor add(const Tensor& x, const Tensor& rows, const Tensor& places) {
    return scatter_add(x, places, rows,
                       {.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1});
  }
  // The plan; its run with all variables donated gives the reference bodies' bits.
  std::shared_ptr<const Executable> planned() {
    scope_.reset();
    const GraphPtr graph = graph_ = builder_.finish();
    const auto plan = compile_donating(graph, {.check = true});
    const std::vector<Literal> values = values_for(*graph),
                               wanted = interpret(*graph, values, RunContext::current());
    EXPECT_EQ(run(*plan, values, RunContext::current()), wanted) << "apart";
    DonatedArrays arrays(*graph, values);
    run(*plan, arrays.in, arrays.out, RunContext::current());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(Literal::copy(wanted[i].type(), arrays.out[i].data), wanted[i]) << "donated, output " << i;
    return plan;
  }
  void update(const Tensor& value, const char* name = "cache") {
    builder_.output(OutputKind::kUpdate, name, value);
  }

  GraphBuilder builder_;
  std::optional<SinkScope> scope_{builder_};
  GraphPtr graph_;
};

TEST_F(Updates, OfAVariableAreOneStepInItsPlace) {
  update(write(cache(), rows(), place()));
  const auto plan = planned();
  EXPECT_EQ(plan->step_count(), 1u);
  EXPECT_EQ(plan->arena_bytes(), 0u);
  // What the update does not reach is not touched: not even read.
  DonatedArrays arrays(*graph_, values_for(*graph_));
  const auto kept = Literal::copy(kCache, arrays.out[0].data);
  auto* const elements = static_cast<float*>(arrays.out[0].data);
  const float before = elements[63 * 100];
  elements[63 * 100] = -1;
  run(*plan, arrays.in, arrays.out, RunContext::current());
  EXPECT_EQ(elements[63 * 100], -1);
  elements[63 * 100] = before;
  run(*plan, arrays.in, arrays.out, RunContext::current());
  EXPECT_NE(Literal::copy(kCache, arrays.out[0].data), kept);
}

TEST_F(Updates, ByScatterAreInTheVariablesPlace) {
  update(add(cache(), rows(), builder_.argument("places", kPlaces)));
  const auto plan = planned();
  EXPECT_EQ(plan->step_count(), 1u);
  EXPECT_EQ(plan->arena_bytes(), 0u);
}

TEST_F(Updates, OfADeadOperandAreInItsPlace) {
  builder_.result("y", reduce_max(write(exponential(cache()), rows(), place()), {0}));
  EXPECT_LT(planned()->arena_bytes(), 2 * kCacheBytes);
}

TEST_F(Updates, OfALiveOperandAreApart) {
  const Tensor x = exponential(cache());
  builder_.result("y", reduce_max(write(x, rows(), place()), {0}));
  builder_.result("x", reduce_max(x, {0}));
  EXPECT_GE(planned()->arena_bytes(), 2 * kCacheBytes);
}

// One behind the other, of what was computed before, too.
TEST_F(Updates, InARowAreAllInPlace) {
  const Tensor at = place(), places = builder_.argument("places", kPlaces), r = rows();
  update(add(write(write(cache(), r, at), r, at + 7), r, places));
  const Tensor b = builder_.input(InputKind::kVariable, "b", kCache);
  update(write(b * 2, r, at), "b");
  builder_.result("y", write(add(constant_like(kCache, 3), r, places), r, at));
  const auto plan = planned();
  EXPECT_LT(plan->arena_bytes(), kCacheBytes) << "a copy";
}

TEST_F(Updates, OfWhatIsReadLaterAreApart) {
  const Tensor at = place(), r = rows(), next = write(cache(), r, at);
  update(write(next, r, at + 7));
  builder_.result("y", reduce_max(next, {1}));
  planned();
}

TEST_F(Updates, OfZerosNeedNoZerosInMemory) {
  const Tensor places = builder_.argument("places", kPlaces), r = rows();
  const Tensor gradient = add(constant_like(kCache, 0), r, places);
  update(cache() - gradient * 0.5);
  const auto plan = planned();
  EXPECT_EQ(plan->arena_bytes(), (kCacheBytes + 63) / 64 * 64) << "the gradient alone";
  EXPECT_LT(plan->plan().constant_bytes, kCacheBytes);
}

// Rows of itself; places that it holds; its old value read afterwards.
TEST_F(Updates, OfItsOwnElements) {
  const Tensor x = cache(), at = place();
  update(write(x, slice(x, {5, 0}, {8, 100}), at));
  EXPECT_EQ(planned()->step_count(), 2u);
}
TEST_F(Updates, AtPlacesThatItHolds) {
  const Tensor x = builder_.input(InputKind::kVariable, "n", {DType::kI32, {1}});
  update(dynamic_update_slice(x, builder_.argument("u", {DType::kI32, {1}}), {reshape(x, {})}), "n");
  const Tensor y = builder_.input(InputKind::kVariable, "m", {DType::kI32, {5, 1}});
  const IndexAxes axes{.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1};
  update(scatter_add(y, y, y, axes), "m");
  planned();
}
TEST_F(Updates, BeforeTheOldValueIsReadAreApart) {
  const Tensor x = cache(), next = write(x, rows(), place());
  update(next);
  builder_.result("both", reduce_max(next, {0}) + reduce_max(exponential(x), {0}));
  builder_.result("old", x);
  planned();
}
TEST_F(Updates, OfTwoVariablesThatChangePlaces) {
  const Tensor a = cache("a"), b = cache("b"), r = rows(), at = place();
  update(write(b, r, at), "a");
  update(write(a, r, at), "b");
  planned();
}
TEST_F(Updates, ThatAreTwoOutputs) {
  const Tensor at = place(), r = rows(), next = write(write(cache(), r, at), r, at + 2);
  update(next);
  builder_.result("y", next);
  planned();
}

// Until the last step that may fail has passed, the variable is what it was; and behind it nothing is copied.
TEST_F(Updates, WaitForTheLastFence) {
  const Tensor x = cache(), r = rows();
  update(write(write(x, r, place()), r, constant_like(kPlace, 9)));
  builder_.result("y", trip(reduce_max(x, {0}), 0) * 2);
  const auto plan = planned();
  EXPECT_EQ(plan->step_count(), 5u) << "no copies";
  DonatedArrays arrays(*graph_, values_for(*graph_));
  const std::string before = arrays.bytes();
  Trips::arm(0);
  EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed");
  EXPECT_EQ(arrays.bytes(), before);
}
TEST_F(Updates, ThatAFenceReadsAreWrittenBehindIt) {
  const Tensor r = rows(), at = place();
  const Tensor next = write(cache(), r, at), checked = trip(reduce_max(next, {0}), 0);
  update(write(next, r, constant_like(kPlace, 9)));
  builder_.result("y", checked);
  const auto plan = planned();
  DonatedArrays arrays(*graph_, values_for(*graph_));
  const std::string before = arrays.bytes();
  Trips::arm(0);
  EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed");
  EXPECT_EQ(arrays.bytes(), before);
  Trips::disarm();
  run(*plan, arrays.in, arrays.out, RunContext::current());
  EXPECT_NE(arrays.bytes(), before);
}

}  // namespace
}  // namespace espalier
