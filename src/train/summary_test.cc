#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/functional.h"
#include "espalier/merging.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

TEST(Summary, CountsEachLayerForItself) {
  set_seed(0);
  Sequential model{Flatten(), Dense({.units = 3, .activation = "relu"}), Dense({.units = 2, .name = "head"})};
  EXPECT_EQ(rule_of([&] { model.summary(); }), "summary.built");
  model(full({5, 2, 2}, 1));
  // A product of [m, k] and [k, n] takes 2 m k n, adding the bias m n, relu m n.
  EXPECT_EQ(model.summary(),
            "layer               output    parameters  bytes  FLOPs\n"
            "------------------  --------  ----------  -----  -----\n"
            "sequential          f32[5,2]           0      0      0\n"
            "sequential/flatten  f32[5,4]           0      0      0\n"
            "sequential/dense    f32[5,3]          15     60    150\n"
            "sequential/head     f32[5,2]           8     32     70\n"
            "total                                 23     92    220\n"
            "trainable parameters: 23, others: 0; activations: 180 bytes\n");
  EXPECT_EQ(model.variables().size(), 4u);
}

TEST(Summary, SharedVariablesCountOnceAndFrozenOnesAreOthers) {
  set_seed(0);
  const Placeholder a = Input({2}), b = Input({2});
  Dense tower({.units = 2, .use_bias = false});
  Functional model({a, b}, {connect(Add(), {connect(tower, a), connect(tower, b)})});
  tower.set_trainable(false);
  const Tensor x = full({3, 2}, 1);
  model({x, x});
  const std::string text = model.summary();
  EXPECT_NE(text.find("functional/dense  f32[3,2]           4     16     48\n"), std::string::npos) << text;
  EXPECT_NE(text.find("trainable parameters: 0, others: 4; activations: 72 bytes"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace espalier
