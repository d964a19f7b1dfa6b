// Values of variables on a device that are read later, and whose they are.
#include "train/deferred_reads.h"

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/run_context.h"
#include "ir/sink.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

class LateValuesThere : public testing::Test {
 protected:
  Variable variable(float value) { return Variable(Tensor::of({value, value + 1}), {.name = "v"}); }
  std::vector<float> seen(LateValues& late, const Variable& variable) {
    const LateValues::Sight sight(late);
    return variable.read().to_vector<float>();
  }

  const std::shared_ptr<FakeDevice> device_ = FakeDevice::create();
  const RunContext context_{{.device = device_.get()}};
  const RunScope scope_{context_};
};

TEST_F(LateValuesThere, AreThoseThatWereTakenLast) {
  Variable a = variable(1);
  LateValues late;
  late.take({a});
  a.assign(Tensor::of({10.0f, 20.0f}));
  EXPECT_EQ(seen(late, a), (std::vector<float>{1, 2}));
  EXPECT_EQ(a.read().to_vector<float>(), (std::vector<float>{10, 20})) << "outside of its sight";
  late.take({a});
  EXPECT_EQ(seen(late, a), (std::vector<float>{10, 20}));
  late.forget();
  a.assign(Tensor::of({3.0f, 4.0f}));
  EXPECT_EQ(seen(late, a), (std::vector<float>{3, 4})) << "nothing was taken";
}

// As of a model that is compiled anew.
TEST_F(LateValuesThere, AreOfTheVariablesThatAreNamedNow) {
  Variable a = variable(1), b = variable(5);
  LateValues late;
  late.take({a});
  late.take({b});
  b.assign(Tensor::of({0.0f, 0.0f}));
  EXPECT_EQ(seen(late, b), (std::vector<float>{5, 6}));
  late.take({a, b});
  a.assign(Tensor::of({0.0f, 0.0f}));
  EXPECT_EQ(seen(late, a), (std::vector<float>{1, 2}));
  EXPECT_EQ(seen(late, b), (std::vector<float>{0, 0}));
}

// Another has used them meanwhile, as an evaluation within a run.
TEST_F(LateValuesThere, ComeBackToWhoseTheyWere) {
  Variable a = variable(1), b = variable(5);
  LateValues late;
  late.take({a});
  LateValues::Taken taken = late.take_away();
  EXPECT_FALSE(late.taken());
  late.take({a});
  a.assign(Tensor::of({7.0f, 8.0f}));
  late.put_back(std::move(taken));
  EXPECT_EQ(seen(late, a), (std::vector<float>{1, 2}));
  taken = late.take_away();
  late.take({b});
  late.put_back(std::move(taken));
  EXPECT_FALSE(late.taken()) << "of other variables nothing is left";
}

}  // namespace
}  // namespace espalier
