#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/functional.h"
#include "espalier/merging.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"

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

// A saved model keeps the state of the generator that its layers drew from.
TEST(Summary, OfALoadedModelCountsWhatItsModelDid) {
  set_seed(0);
  const std::string folder = fresh_folder("summary_loaded") + "/model";
  Sequential model{Dense({.units = 3}), Dropout(0.5), Dense({.units = 2})};
  model.compile({});
  const Tensor x = full({4, 2}, 1);
  model.fit(x, full({4}, 1, DType::kI32));
  model.save(folder);
  const auto counts = [](const std::string& text) { return text.substr(text.find("trainable")); };
  const std::string before = counts(model.summary()), after = counts(load_model(folder).summary());
  EXPECT_EQ(before.substr(0, before.find(';')), "trainable parameters: 17, others: 0");
  EXPECT_EQ(after.substr(0, after.find(';')), "trainable parameters: 17, others: 0");
}

}  // namespace
}  // namespace espalier
