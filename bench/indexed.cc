// Rows of tables: written by dynamic_update_slice, read by gather, added to by scatter, trained. Prints a
// JSON line a case, the least of several times; exit 1 when a result is wrong. usage: bench_indexed [NAME]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "espalier/espalier.h"
#include "ir/builder.h"
#include "runtime/executable.h"

using namespace espalier;

namespace {

std::string_view wanted;
bool good = true;

// Microseconds a call: the least of ten means over some ten milliseconds.
template <class F>
double least_time(const F& call) {
  using Clock = std::chrono::steady_clock;
  const auto time = [&](int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  const int calls = std::max(1, static_cast<int>(1e4 / std::max(time(3) / 3, 0.1)));
  double best = time(calls);
  for (int i = 0; i < 9; ++i) best = std::min(best, time(calls));
  return best / calls;
}

void report(const std::string& name, bool right, double us, double bytes) {
  std::printf("{\"bench\": \"indexed\", \"case\": \"%s\", \"us\": %.3f, \"gb_s\": %.2f, \"right\": %s}\n",
              name.c_str(), us, bytes / us * 1e-3, right ? "true" : "false");
  good = good && right;
}

void time_copy() {
  constexpr size_t kBytes = size_t{64} << 20, kChunk = size_t{1} << 20;
  std::vector<std::byte> from(kBytes, std::byte{1}), to(kBytes);
  const double us = least_time([&] {
    thread_pool().parallel_for(kBytes / kChunk, [&](int64_t i) {
      const size_t at = static_cast<size_t>(i) * kChunk;
      std::memcpy(to.data() + at, from.data() + at, kChunk);
    });
  });
  report("copy", from == to, us, 2.0 * kBytes);
}

// One row of a variable.
void time_row(int64_t mebibytes) {
  const std::string name = cat("write_row_", mebibytes, "_mib");
  if (!wanted.empty() && wanted != name) return;
  const int64_t rows = mebibytes * 1024;
  Variable cache(zeros({rows, 256}), {.name = "cache"});
  const auto write = function([&](const Tensor& row, const Tensor& place) {
    cache.assign(dynamic_update_slice(cache, row, {place, Tensor::scalar(0)}));
  });
  const Tensor row = Generator(1).uniform({1, 256});
  std::vector<Tensor> places;
  for (int64_t i = 0; i < 64; ++i) places.push_back(Tensor::scalar(static_cast<int32_t>(i * 37 % rows)));
  for (const Tensor& place : places) write(row, place);
  size_t next = 0;
  const double us = least_time([&] { write(row, places[next++ % places.size()]); });
  bool right = true;
  const std::vector<float> all = cache.read().to_vector<float>(), one = row.to_vector<float>();
  for (int64_t i = 0; i < rows; ++i) {
    const bool written = std::ranges::any_of(places, [&](const Tensor& p) { return p.item<int32_t>() == i; });
    for (size_t k = 0; k < 256; ++k)
      right = right && all[static_cast<size_t>(i) * 256 + k] == (written ? one[k] : 0);
  }
  report(name, right, us, 2.0 * 1024);
}

// `count` rows of a table, read or added to where it lies.
void time_rows(bool adds, int64_t rows, int64_t width, int64_t count) {
  const std::string name = cat(adds ? "scatter_add_" : "gather_", count, "_of_", rows, "x", width);
  if (!wanted.empty() && wanted != name) return;
  const TensorType type{DType::kF32, {rows, width}}, part{DType::kF32, {count, width}};
  const IndexAxes axes{.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1};
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor table = builder.input(InputKind::kVariable, "table", type),
                 ids = builder.argument("ids", {DType::kI32, {count, 1}});
    if (adds) {
      builder.output(OutputKind::kUpdate, "table",
                     scatter_add(table, ids, builder.argument("update", part), axes));
    } else {
      builder.result("rows", gather(table, ids, axes, {1, width}));
    }
  }
  const GraphPtr graph = builder.finish();
  const auto plan = compile(graph, {.donations = updates_in_place(*graph)});
  std::vector<float> table(static_cast<size_t>(rows * width)), wide(static_cast<size_t>(count * width), 1.0f);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % 1001);
  // Others in each call, so that their rows are not in the first cache.
  constexpr int64_t kTurns = 64;
  std::vector<int32_t> ids;
  uint32_t random = 1;
  for (int64_t i = 0; i < count * kTurns; ++i) {
    random = random * 1664525u + 1013904223u;
    ids.push_back(static_cast<int32_t>((random >> 8) % static_cast<uint32_t>(rows)));
  }
  const TensorType of_ids{DType::kI32, {count, 1}};
  std::vector<ArrayView> in{{&type, table.data()}, {&of_ids, ids.data()}};
  if (adds) in.push_back({&part, wide.data()});
  const std::vector<MutableArrayView> out{adds ? MutableArrayView{&type, table.data()}
                                               : MutableArrayView{&part, wide.data()}};
  std::vector<float> expected = table;
  run(*plan, in, out, RunContext::current());
  bool right = true;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < width; ++k) {
      const auto at = static_cast<size_t>(ids[static_cast<size_t>(i)] * width + k);
      if (adds) {
        expected[at] += 1;
      } else {
        right = right && wide[static_cast<size_t>(i * width + k)] == table[at];
      }
    }
  }
  right = right && expected == table;
  int64_t turn = 0;
  const double us = least_time([&] {
    in[1].data = ids.data() + turn++ % kTurns * count;
    run(*plan, in, out, RunContext::current());
  });
  report(name, right, us, (adds ? 3.0 : 2.0) * 4 * static_cast<double>(count * width));
}

// A step of SGD on a table of which 256 rows were taken; its gradient has all rows.
void time_step(int64_t rows) {
  const std::string name = cat("embedding_step_", rows);
  if (!wanted.empty() && wanted != name) return;
  constexpr int64_t kWidth = 32;
  Variable table(ones({rows, kWidth}), {.name = "table"});
  const auto step = function([&](const Tensor& ids) {
    GradientTape tape;
    const Tensor loss = sum(square(take(table, ids, 0)));
    table.assign_sub(tape.gradient(loss, std::vector<Variable>{table})[0] * 0.25);
    return loss;
  });
  std::vector<int32_t> ids;
  std::vector<float> expected(static_cast<size_t>(rows), 1.0f);
  for (int64_t i = 0; i < 256; ++i) {
    ids.push_back(static_cast<int32_t>(i * 389 % rows));
    expected[static_cast<size_t>(ids.back())] -= 0.5f;  // a step moves them by half of what they are
  }
  const Tensor at = Tensor::of(ids, {64, 4});
  step(at);
  const std::vector<float> all = table.read().to_vector<float>();
  bool right = true;
  for (size_t i = 0; i < all.size(); ++i) right = right && all[i] == expected[i / kWidth];
  const double us = least_time([&] { step(at); });
  report(name, right, us, 4.0 * 4 * static_cast<double>(rows * kWidth));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) wanted = argv[1];
  time_copy();
  for (const int64_t mebibytes : {8, 64}) time_row(mebibytes);
  for (const bool adds : {false, true}) {
    time_rows(adds, 100000, 32, 256);
    time_rows(adds, 32768, 512, 4096);
  }
  for (const int64_t rows : {1000, 100000, 1000000}) time_step(rows);
  return good ? 0 : 1;
}
