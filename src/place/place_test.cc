// What places say of their programs, and how many rows they want.
#include "place/place.h"

#include <gtest/gtest.h>

#include "comm/local.h"
#include "espalier/array.h"
#include "espalier/random.h"
#include "ir/builder.h"
#include "place/interpreter_place.h"
#include "place/place_of.h"
#include "place/pools_place.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Two products by w, which has a MiB, with the first of them between: 2 KiB a row.
GraphPtr products(const Tensor& w, int64_t rows) {
  GraphBuilder builder;
  const SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {rows, 512}});
  builder.result("y", matmul(matmul(x, w), w));
  return builder.finish();
}

class ProgramBytes : public testing::Test {
 protected:
  const Tensor w_ = random_normal({512, 512}, 1, 0);
  const PlacedGraph few_{products(w_, 1)}, many_{products(w_, 1024)};
};

TEST_F(ProgramBytes, OfThisCpuAreThoseOfConstantsAndOfWhatARunKeeps) {
  const HostPlace here(1);
  const size_t few = here.compile({&few_, 1})->bytes().value(),
               many = here.compile({&many_, 1})->bytes().value();
  EXPECT_GE(few, kMiB);
  EXPECT_LE(few, 2 * kMiB);
  EXPECT_GE(many, 3 * kMiB);
  EXPECT_LE(many, 4 * kMiB);
}

TEST_F(ProgramBytes, OfPoolsAreThoseOfAllReplicas) {
  const auto ranks = local_communicators(2);
  const RunContext first({.threads = 1, .communicator = ranks[0].get()}),
      second({.threads = 1, .communicator = ranks[1].get()});
  const PoolsPlace pools({&first, &second});
  const std::vector<PlacedGraph> both{many_, few_};
  const size_t bytes = pools.compile(both)->bytes().value();
  EXPECT_GE(bytes, 4 * kMiB);
  EXPECT_LE(bytes, 6 * kMiB);
}

// One that is large for its many steps.
TEST_F(ProgramBytes, GrowWithSteps) {
  const auto bytes_of = [](int products) {
    GraphBuilder builder;
    const SinkScope scope(builder);
    Tensor x = builder.argument("x", {DType::kF32, {2, 2}});
    for (int i = 0; i < products; ++i) x = matmul(x, x);
    builder.result("y", x);
    const PlacedGraph graph{builder.finish()};
    return HostPlace(1).compile({&graph, 1})->bytes().value();
  };
  EXPECT_GE(bytes_of(2000), bytes_of(2) + 2000 * 100);
}

TEST_F(ProgramBytes, OfADeviceNobodyKnows) {
  const FakeDevicePtr device = FakeDevice::create();
  const RunContext context({.device = device.get()});
  EXPECT_EQ(PlaceOf(context)->compile({&few_, 1})->bytes(), std::nullopt);
}

}  // namespace
}  // namespace espalier
