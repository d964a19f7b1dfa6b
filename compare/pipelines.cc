// A drawn pipeline of datasets, whole, or up to the element at which the process kills itself. Prints what
// the pipeline is, then a line an element. scripts/compare-pipelines puts the pieces together.
//
// usage: compare_pipelines DRAW [--resume FILE] [--save FILE N] [--kill N] [--lose]
//   DRAW            which pipeline; the same number draws the same one in every process
//   --resume FILE   goes on at the place that FILE holds
//   --save FILE N   writes the place to FILE before element N, counted from 0 over all processes
//   --kill N        ends by SIGKILL before element N
//   --lose          a planted fault: passes over one element behind --resume
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/env.h"
#include "base/format.h"
#include "data/dataset_pipelines_test.h"
#include "espalier/layers.h"
#include "format/checkpoint.h"
#include "train/dataset_cursor.h"

namespace espalier {
namespace {

constexpr int64_t kMostRows = 40, kMostElements = 400;

struct PipelineRun {
  uint64_t draw = 0;
  std::string resume = {}, save = {};
  int64_t save_at = -1, kill_at = -1;
  bool lose = false;
};

std::string line_of(const PlainElement& element) {
  std::string out;
  for (const Plain& tensor : element) {
    out += out.empty() ? "[" : " [";
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) out += cat(axis ? "," : "", tensor.shape[axis]);
    out += "]";
    for (const int32_t value : tensor.values) out += cat(" ", value);
  }
  return out;
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

int run(const PipelineRun& run) {
  RandomPipelines random(run.draw, true, kMostRows);
  const Dataset dataset = random.next().dataset;
  // Orders that follow from the seed of the process are the saved one's.
  set_seed(run.resume.empty() ? run.draw : run.draw + 1);
  DatasetIterator iterator(dataset, run.resume.empty() ? run.draw % 3 : 77);
  int64_t element = 0;
  if (!run.resume.empty()) {
    const DatasetState state = state_of(parse_checkpoint(posix_env().read_file(run.resume)).cursor);
    iterator.restore(state);
    element = state.elements;
    if (run.lose) iterator.next();
  }
  say(to_string(dataset));
  for (;; ++element) {
    if (element == run.save_at) write_checkpoint(run.save, {.cursor = cursor_of(iterator.save())});
    if (element == run.kill_at) ::kill(::getpid(), SIGKILL);
    if (element == kMostElements) return 0;
    try {
      const std::optional<Tensors> next = iterator.next();
      if (!next) return 0;
      say(line_of(plain(*next)));
    } catch (const Error& error) {  // a shuffle brought unlike elements into a batch
      say(cat("raises ", error.kind(), "[", error.rule(), "]"));
      return 0;
    }
  }
}

}  // namespace
}  // namespace espalier

int main(int count, char** arguments) {
  espalier::PipelineRun run;
  const auto number = [&](int& i) { return i + 1 < count ? std::strtoll(arguments[++i], nullptr, 10) : -1; };
  if (count < 2) {
    std::fputs("usage: compare_pipelines DRAW [--resume FILE] [--save FILE N] [--kill N] [--lose]\n", stderr);
    return 2;
  }
  run.draw = std::strtoull(arguments[1], nullptr, 10);
  for (int i = 2; i < count; ++i) {
    const std::string flag = arguments[i];
    if (flag == "--resume" && i + 1 < count) {
      run.resume = arguments[++i];
    } else if (flag == "--save" && i + 2 < count) {
      run.save = arguments[++i];
      run.save_at = number(i);
    } else if (flag == "--kill") {
      run.kill_at = number(i);
    } else if (flag == "--lose") {
      run.lose = true;
    } else {
      std::fprintf(stderr, "compare_pipelines: unknown argument %s\n", flag.c_str());
      return 2;
    }
  }
  try {
    return espalier::run(run);
  } catch (const espalier::Error& error) {
    std::fprintf(stderr, "compare_pipelines: %s\n", error.what());
    return 1;
  }
}
