#include "grad/grad.h"

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "interp/interpreter.h"

namespace espalier {
namespace {

TEST(Grad, ProductRuleOnAGraph) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {2}});
  const Tensor y = builder.argument("y", {DType::kF32, {2}});
  builder.result("loss", reduce_sum(x * y + exponential(x), {0}));
  const auto graph = builder.finish();
  const size_t sources[] = {0, 1};
  const auto with_gradients = add_gradients(*graph, 0, sources);
  with_gradients->verify();
  const auto out =
      interpret(*with_gradients, std::vector<Literal>{Literal::of({0.0f, 1.0f}), Literal::of({3.0f, 5.0f})},
                RunContext::current());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_FLOAT_EQ(out[0].view().as<float>()[0], 1 + 5 + std::exp(1.0f));
  EXPECT_FLOAT_EQ(out[1].expanded().view().as<float>()[0], 3 + 1);
  EXPECT_FLOAT_EQ(out[1].expanded().view().as<float>()[1], 5 + std::exp(1.0f));
  EXPECT_FLOAT_EQ(out[2].expanded().view().as<float>()[1], 1);
}

}  // namespace
}  // namespace espalier
