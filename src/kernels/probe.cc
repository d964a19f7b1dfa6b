#include "kernels/probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "ir/literal.h"
#include "kernels/bf16_gemm.h"

namespace espalier {
namespace {

std::atomic<float> sink;

// Work of one thread, and the least time in which all threads did it.
struct Round {
  int threads;
  std::function<void(int64_t thread)> work;
  double seconds = std::numeric_limits<double>::infinity();

  void run() {
    const auto begin = std::chrono::steady_clock::now();
    thread_pool().parallel_for(threads, [&](int64_t thread) { work(thread); });
    seconds =
        std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
};

// `count` arrays of `elements` for each thread, as large tensors lie in memory.
class Arrays {
 public:
  Arrays(int threads, int count, int64_t elements) : count_(count) {
    for (int i = 0; i < threads * count; ++i) {
      all_.push_back(allocate_buffer(static_cast<size_t>(elements) * sizeof(float)));
      std::fill_n(reinterpret_cast<float*>(all_.back().get()), elements, static_cast<float>(i));
    }
  }
  float* of(int64_t thread, int i) const {
    return reinterpret_cast<float*>(all_[static_cast<size_t>(thread * count_ + i)].get());
  }

 private:
  int count_;
  std::vector<Buffer> all_;
};

// Blocks of bf16 products; numbers between -1 and 1.
constexpr int64_t kProbedTerms = 256;
struct ProbedBlocks {
  alignas(64) uint16_t strip[kBf16Block * kBf16Pitch] = {}, panel[kBf16Block * kProbedTerms] = {};
  alignas(64) float block[kBf16Block * kBf16Block] = {};

  ProbedBlocks() {
    std::minstd_rand random(1);
    for (uint16_t* array : {strip, panel}) {
      for (size_t i = 0; i < std::size(panel); ++i)
        array[i] = static_cast<uint16_t>((random() & 0x807f) | (0x7e - random() % 8) << 7);
    }
  }
};
void multiply_blocks(int64_t blocks) {
  thread_local const std::unique_ptr<ProbedBlocks> memory = std::make_unique<ProbedBlocks>();
  auto& [strip, panel, block] = *memory;
  Bf16Step steps[kProbedTerms / kBf16Terms];
  for (int64_t i = 0; i < kProbedTerms / kBf16Terms; ++i)
    steps[i] = {i * kBf16Terms, kBf16Terms, i * kBf16Terms};
  const Bf16Strip rows{strip, strip + kBf16TileRows * kBf16Pitch, kBf16Pitch};
  bf16_tiles_amx.begin();
  for (int64_t i = 0; i < blocks; ++i)
    bf16_tiles_amx.multiply(rows, steps, std::size(steps), panel, block, false, nullptr);
  bf16_tiles_amx.end();
  sink = block[0];
}

void multiply_in_a_chain(int64_t products) {
  uint64_t value = 3;
  for (int64_t i = 0; i < products; ++i) {
    value *= value;
    asm volatile("" : "+r"(value));
  }
  sink = static_cast<float>(value);
}

}  // namespace

const Probe& probe(Isa isa) { return ESPALIER_BY_ISA(probe, isa); }

Limits probe_limits(int64_t bytes_in_memory) {
  constexpr int kRounds = 16, kBatches = 4, kEach = 4;  // of the rounds in memory
  constexpr int64_t kBlocks = 2000, kBlockFlops = 2 * kBf16Block * kBf16Block * kProbedTerms;
  constexpr int64_t kFmaRounds = 200000, kProducts = 2000000, kInCache = int64_t{1} << 16, kRepeats = 100;
  constexpr double kProductCycles = 3;  // of 64-bit integers, on every x86 of the last ten years
  const Probe& probe = espalier::probe(current_isa());
  const int threads = thread_pool().threads();
  const int64_t large = bytes_in_memory / 4 / static_cast<int64_t>(sizeof(float)) / threads / 16 * 16;
  const Arrays in_memory(threads, 4, large), in_cache(threads, 3, kInCache);
  Round fma{threads, [&](int64_t) { sink = probe.run(kFmaRounds); }};
  const bool tiles = current_isa() >= Isa::kAmx;
  Round bf16{threads, [&](int64_t) {
               if (tiles) multiply_blocks(kBlocks);
             }};
  Round clock{1, [&](int64_t) { multiply_in_a_chain(kProducts); }};
  Round triad{threads, [&](int64_t t) {
                probe.triad(in_memory.of(t, 0), in_memory.of(t, 1), in_memory.of(t, 2), large);
              }};
  Round stream{threads, [&](int64_t t) {
                 probe.stream_4r3w(in_memory.of(t, 0), in_memory.of(t, 1), in_memory.of(t, 2),
                                   in_memory.of(t, 3), large);
               }};
  Round cache{threads, [&](int64_t t) {
                for (int64_t i = 0; i < kRepeats; ++i)
                  probe.triad(in_cache.of(t, 0), in_cache.of(t, 1), in_cache.of(t, 2), kInCache);
              }};
  const auto giga = [](int64_t amount, const Round& round) {
    return static_cast<double>(amount) * round.threads / round.seconds * 1e-9;
  };
  Limits limits;
  for (int batch = 0; batch < kBatches && limits.fma_of_cycles(threads) < Limits::kDisturbed; ++batch) {
    for (int i = 0; i < kRounds; ++i) {
      for (Round* round : {&fma, &bf16, &clock, &cache}) round->run();
      if (i % kEach == 0) {
        triad.run();
        stream.run();
      }
    }
    limits = {.fma_gflops = giga(probe.flops_per_round * kFmaRounds, fma),
              .bf16_gflops = tiles ? giga(kBlockFlops * kBlocks, bf16) : 0,
              .flops_per_cycle = probe.flops_per_cycle,
              .clock_ghz = kProductCycles * giga(kProducts, clock),
              .triad_gbs = giga(12 * large, triad),
              .stream_4r3w_gbs = giga(28 * large, stream),
              .cache_gbs = giga(12 * kInCache * kRepeats, cache)};
  }
  return limits;
}

}  // namespace espalier
