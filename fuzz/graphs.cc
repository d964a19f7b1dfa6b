// Random graphs through the interpreter, the executor under several options and thread counts, the passes,
// and text there and back: every output bit must agree. usage: fuzz_graphs [--runs N] [--seconds S] [--seed
// K] [--nodes N]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/thread_pool.h"
#include "interp/interpreter.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "tests/random_graph.h"
#include "text/text.h"

namespace espalier {
namespace {

std::string check(uint64_t seed, int nodes) {
  const RandomGraph random(seed, nodes);
  random.graph->verify();
  const std::vector<Literal> wanted = interpret(*random.graph, random.inputs, RunContext::current());
  for (int variant = 0; variant < 5; ++variant) {
    const SmallestChunks chunks(variant == 4);
    thread_pool().set_threads(variant == 4 ? 3 : 1 + variant % 3);
    const auto plan = compile(
        random.graph,
        {.fuse = variant != 1, .reuse_memory = variant != 2, .fast_kernels = variant != 3, .check = true});
    const std::vector<Literal> got = run(*plan, random.inputs, RunContext::current());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::string found = difference(wanted[i], got[i]);
      if (!found.empty()) return cat("variant ", variant, ", output ", i, ": ", found);
    }
  }
  const std::string text = print_program(*random.graph);
  if (!(*parse_program(text) == *random.graph)) return cat("parses back to another graph:\n", text);
  const std::vector<Literal> rewritten =
      interpret(*optimize(random.graph, {.verify = true}), random.inputs, RunContext::current());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string found = difference(wanted[i], rewritten[i]);
    if (!found.empty()) return cat("passes, output ", i, ": ", found);
  }
  return "";
}

int main(int argc, char** argv) {
  long runs = 20000, seconds = 0, seed = 1, nodes = 24;
  for (int i = 1; i + 1 < argc; i += 2) {
    const struct {
      const char* name;
      long* value;
    } options[] = {{"--runs", &runs}, {"--seconds", &seconds}, {"--seed", &seed}, {"--nodes", &nodes}};
    for (const auto& option : options) {
      if (std::strcmp(argv[i], option.name) == 0) *option.value = std::atol(argv[i + 1]);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  long done = 0;
  for (; done < runs; ++done) {
    if (seconds && std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds)) break;
    std::string found;
    try {
      found = check(static_cast<uint64_t>(seed + done), static_cast<int>(nodes));
    } catch (const std::exception& error) {
      found = error.what();
    }
    if (!found.empty()) {
      std::printf("seed %ld (--seed %ld --runs 1 --nodes %ld): %s\n", seed + done, seed + done, nodes,
                  found.c_str());
      return 1;
    }
  }
  std::printf("%ld random graphs agree\n", done);
  return 0;
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) { return espalier::main(argc, argv); }
