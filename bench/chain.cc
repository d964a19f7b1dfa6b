// A chain of 1,000,000 nodes through every stage: build, differentiate, plan, run, print, parse. Prints a
// JSON line a stage; exit 1 when the whole takes more than 20 s or 2 GiB. usage: bench_chain [NODES]
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "espalier/ops.h"
#include "grad/grad.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "text/text.h"

using namespace espalier;

namespace {

double total = 0;

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <class F>
auto stage(const char* name, F f) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = f();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  total += seconds;
  std::printf("{\"bench\": \"chain\", \"stage\": \"%s\", \"seconds\": %.3f, \"peak_mib\": %.0f}\n", name,
              seconds, peak_mib());
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 1000000;
  const auto graph = stage("build", [&] {
    GraphBuilder builder("chain");
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {4}});
    Tensor y = x;
    for (int i = 0; i + 1 < nodes; ++i) y = i % 2 ? y * x : y + x;
    builder.result("y", reduce_sum(y, {0}));
    return builder.finish();
  });
  const auto with_gradient = stage("differentiate", [&] {
    const size_t source = 0;
    return add_gradients(*graph, 0, {&source, 1});
  });
  const auto optimized = stage("passes", [&] { return optimize(with_gradient); });
  const auto plan = stage("plan", [&] { return compile(optimized); });
  const float input[] = {0.5f, -0.25f, 0.125f, 0.9f};
  const auto out = stage("run", [&] {
    return run(*plan, std::vector<Literal>{Literal::copy({DType::kF32, {4}}, input)}, RunContext::current());
  });
  const std::string text = stage("print", [&] { return print_program(*graph); });
  const auto parsed = stage("parse", [&] { return parse_program(text); });
  const bool equal = *parsed == *graph, sane = out.size() == 2;
  std::printf(
      "{\"bench\": \"chain\", \"nodes\": %zu, \"with_gradient\": %zu, \"seconds\": %.2f, \"peak_mib\": %.0f, "
      "\"equal\": %s}\n",
      graph->nodes().size(), with_gradient->nodes().size(), total, peak_mib(), equal ? "true" : "false");
  return equal && sane && total <= 20 && peak_mib() <= 2048 ? 0 : 1;
}
