// What of a graph XLA would compute otherwise than StableHLO says is refused before it is compiled.
#include "pjrt/program_text.h"

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "ops/reduce_window.h"

namespace espalier::pjrt {
namespace {

std::string refusal_of_window(double initial, int64_t low, int64_t high) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {4}});
    Window window;
    window.sizes = {2};
    window.low = {low};
    window.high = {high};
    builder.result("y", reduce_window(x, full({}, initial), window, Reducer::kSum));
  }
  return rule_of([&] { program_text(*builder.finish()); });
}

// XLA counts the initial value once a window, StableHLO once a padded element, too.
TEST(ProgramText, APaddedWindowBeginsWithTheIdentity) {
  for (const auto& [low, high] : {std::pair{1, 0}, {0, 1}, {1, 1}}) {
    EXPECT_EQ(refusal_of_window(3, low, high), "device.program") << low << " and " << high;
    EXPECT_EQ(refusal_of_window(0, low, high), "nothing") << low << " and " << high;
  }
  EXPECT_EQ(refusal_of_window(3, 0, 0), "nothing");
}

}  // namespace
}  // namespace espalier::pjrt
