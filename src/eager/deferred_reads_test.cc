// Values of variables on a device that are read later, and whose they are.
#include "eager/deferred_reads.h"

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/run_context.h"
#include "ir/sink.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

class DeferredReadsThere : public testing::Test {
 protected:
  Variable variable(float value) { return Variable(Tensor::of({value, value + 1}), {.name = "v"}); }
  std::vector<float> seen(DeferredReads& reads, const Variable& variable) {
    const DeferredReads::View view(reads);
    return variable.read().to_vector<float>();
  }

  const std::shared_ptr<FakeDevice> device_ = FakeDevice::create();
  const RunContext context_{{.device = device_.get()}};
  const RunScope scope_{context_};
};

TEST_F(DeferredReadsThere, AreThoseThatWereTakenLast) {
  Variable a = variable(1);
  DeferredReads reads;
  reads.take({a});
  a.assign(Tensor::of({10.0f, 20.0f}));
  EXPECT_EQ(seen(reads, a), (std::vector<float>{1, 2}));
  EXPECT_EQ(a.read().to_vector<float>(), (std::vector<float>{10, 20})) << "outside of its view";
  reads.take({a});
  EXPECT_EQ(seen(reads, a), (std::vector<float>{10, 20}));
  reads.forget();
  a.assign(Tensor::of({3.0f, 4.0f}));
  EXPECT_EQ(seen(reads, a), (std::vector<float>{3, 4})) << "nothing was taken";
}

// As of a model that is compiled anew.
TEST_F(DeferredReadsThere, AreOfTheVariablesThatAreNamedNow) {
  Variable a = variable(1), b = variable(5);
  DeferredReads reads;
  reads.take({a});
  reads.take({b});
  b.assign(Tensor::of({0.0f, 0.0f}));
  EXPECT_EQ(seen(reads, b), (std::vector<float>{5, 6}));
  reads.take({a, b});
  a.assign(Tensor::of({0.0f, 0.0f}));
  EXPECT_EQ(seen(reads, a), (std::vector<float>{1, 2}));
  EXPECT_EQ(seen(reads, b), (std::vector<float>{0, 0}));
}

// Another has used them meanwhile, as an evaluation within a run.
TEST_F(DeferredReadsThere, ComeBackToWhoseTheyWere) {
  Variable a = variable(1), b = variable(5);
  DeferredReads reads;
  reads.take({a});
  DeferredReads::Taken taken = reads.take_away();
  EXPECT_FALSE(reads.taken());
  reads.take({a});
  a.assign(Tensor::of({7.0f, 8.0f}));
  reads.put_back(std::move(taken));
  EXPECT_EQ(seen(reads, a), (std::vector<float>{1, 2}));
  taken = reads.take_away();
  reads.take({b});
  reads.put_back(std::move(taken));
  EXPECT_FALSE(reads.taken()) << "of other variables nothing is left";
}

}  // namespace
}  // namespace espalier
