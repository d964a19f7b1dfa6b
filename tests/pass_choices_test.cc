// Every choice of rewrites and of what the planner may do gives the interpreter's bits.
#include <set>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "interp/interpreter.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "tests/random_graph.h"

namespace espalier {
namespace {

// One switch a bit: the passes of optimize(), then the planner's.
struct Choice {
  uint32_t off = 0;
  std::string text;
};

std::vector<std::string> switches() {
  std::vector<std::string> out;
  for (const Pass* pass : all_passes()) out.emplace_back(pass->name);
  for (const char* name : {"fuse", "memory planning", "fast kernels"}) out.emplace_back(name);
  return out;
}

// All on, all off, each alone off, each alone on, and 20 seeded subsets.
std::vector<Choice> choices() {
  const auto names = switches();
  const uint32_t all = (1u << names.size()) - 1;
  std::vector<Choice> out{{0, "all on"}, {all, "all off"}};
  for (size_t i = 0; i < names.size(); ++i) {
    out.push_back({1u << i, cat(names[i], " off")});
    out.push_back({all & ~(1u << i), cat("only ", names[i])});
  }
  Philox random(11);
  for (int i = 0; i < 20; ++i) out.push_back({static_cast<uint32_t>(random.next()) & all, cat("subset ", i)});
  return out;
}

TEST(PassChoices, RandomGraphsHoldEveryKindOfOp) {
  std::set<std::string> missing{"add",       "select",
                                "convert",   "broadcast_in_dim",
                                "transpose", "reduce",
                                "slice",     "dot_general",
                                "pad",       "concatenate",
                                "reverse",   "take",
                                "clamp",     "dynamic_slice",
                                "if",        "case",
                                "while",     "scan",
                                "softplus",  "call",
                                "argmax",    "sort",
                                "cumsum",    "relu",
                                "scatter",   "dynamic_update_slice"};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomGraph random(1000 + seed);
    for (const Node& node : random.graph->nodes()) missing.erase(node.op->name);
  }
  EXPECT_EQ(missing, std::set<std::string>{});
}

TEST(PassChoices, RandomGraphsGiveTheInterpretersBitsInTheExecutor) {
  const size_t passes = all_passes().size();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomGraph random(1000 + seed);
    const std::vector<Literal> wanted = interpret(*random.graph, random.inputs, RunContext::current());
    for (const Choice& choice : choices()) {
      PassOptions options{.verify = true};
      for (size_t i = 0; i < passes; ++i) {
        if (choice.off >> i & 1) options.off.emplace_back(all_passes()[i]->name);
      }
      const auto on = [&](size_t i) { return !(choice.off >> (passes + i) & 1); };
      const auto plan = compile(optimize(random.graph, options),
                                {.fuse = on(0), .reuse_memory = on(1), .fast_kernels = on(2), .check = true});
      const std::vector<Literal> got = run(*plan, random.inputs, RunContext::current());
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(difference(wanted[i], got[i]), "")
            << "seed " << seed << ", " << choice.text << ", output " << i;
    }
  }
}

}  // namespace
}  // namespace espalier
