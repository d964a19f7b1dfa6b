// Nothing recurses over depth: a chain of 1,000,000 nodes through every stage under the usual stack of 8 MiB.
// bench/chain.cc holds the time; here the memory counts.
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "grad/grad.h"
#include "interp/interpreter.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "text/text.h"

namespace espalier {
namespace {

TEST(ChainSlow, AMillionNodesThroughEveryStage) {
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  EXPECT_LE(stack.rlim_cur, rlim_t{8} << 20) << "run with the usual stack limit";
  GraphBuilder builder("chain");
  std::shared_ptr<const Graph> graph;
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {2}});
    Tensor y = x;
    for (int i = 0; i < 1000000; ++i) y = y + x;
    builder.result("y", reduce_sum(y, {0}));
    graph = builder.finish();
  }
  const size_t source = 0;
  const auto with_gradient = add_gradients(*graph, 0, {&source, 1});
  const std::vector<Literal> inputs{Literal::of({1.0f, 0.5f})};
  // d/dx sum(1,000,001 x) is 1,000,001 everywhere.
  const auto expect_values = [](const std::vector<Literal>& out) {
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].view().as<float>()[0], 1.5f * 1000001);
    for (const int i : {0, 1}) EXPECT_EQ(out[1].expanded().view().as<float>()[i], 1000001.0f);
  };
  expect_values(run(*compile(optimize(with_gradient)), inputs, RunContext::current()));
  expect_values(interpret(*with_gradient, inputs, RunContext::current()));
  EXPECT_TRUE(*parse_program(print_program(*with_gradient)) == *with_gradient);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  // Sanitizers keep a multiple of what is allocated.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LE(usage.ru_maxrss, 2l << 20) << "KiB at the peak";
#endif
}

}  // namespace
}  // namespace espalier
