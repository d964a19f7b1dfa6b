// The compilers of devices that are not there, which tests hold programs against: `make nightly` fetches
// their plugins and names them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/env.h"
#include "pjrt/compiler.h"

namespace espalier::pjrt {

struct TestCompiler {
  const char *name, *variable, *fetch;  // "H100", what names the plugin's file, and its name for fetch-plugin
  const char* topology;
  const char* described;  // GPUs by tests/golden/h100.txtpb: so many; "" for others

  // "" where it is not to be tried.
  std::string file() const {
    const char* const given = std::getenv(variable);
    return given ? given : "";
  }
  // REQUIRES: file() is not "". One process at a time may have the TPU's.
  Compiler open() const {
    no_tpu_here();
    Compiler::Options options;
    if (*described)
      options = {{"topology", described},
                 {"target_config", posix_env().read_file("tests/golden/h100.txtpb")}};
    return {Plugin::load(file()), topology, options};
  }
};

inline constexpr TestCompiler kH100{"H100", "ESPALIER_COMPILER_CUDA", "cuda", "", "1x1x1"},
    kFourH100s{"4 H100", "ESPALIER_COMPILER_CUDA", "cuda", "", "1x1x4"},
    kTpuV5e{"TPU v5e", "ESPALIER_COMPILER_TPU", "tpu", "v5e:1x1", ""},
    kFourTpus[] = {{"TPU v5e 2x2", "ESPALIER_COMPILER_TPU", "tpu", "v5e:2x2", ""},
                   {"TPU v4 2x2x1", "ESPALIER_COMPILER_TPU", "tpu", "v4:2x2x1", ""},
                   {"TPU v6e 2x2", "ESPALIER_COMPILER_TPU", "tpu", "v6e:2x2", ""}};

// f(i) for each i below `count`, as many at a time as there are cores.
template <class F>
void on_all_cores(size_t count, const F& f) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (size_t at = next++; at < count; at = next++) f(at);
    });
  for (std::thread& thread : threads) thread.join();
}

#define ESPALIER_NEEDS_COMPILER(compiler)                                                                \
  if ((compiler).file().empty())                                                                         \
  GTEST_SKIP() << "no compiler of " << (compiler).name << ": `scripts/fetch-plugin " << (compiler).fetch \
               << "` fetches one, " << (compiler).variable << " names it"

}  // namespace espalier::pjrt
