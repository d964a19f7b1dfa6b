// Gloo's own all-reduce between two processes over loopback TCP: what bench/wire_all_reduce.cc stands beside.
//
// usage: bench_direct_gloo ring|bcube [BYTES...]
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "timed_sums.h"

namespace {

using Algorithm = gloo::AllreduceOptions::Algorithm;

class Gloo : public SumRanks {
 public:
  Gloo(int rank, int world, const std::string& folder, bool ring) : ring_(ring) {
    gloo::transport::tcp::attr place;
    place.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(place);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, world);
    gloo::rendezvous::FileStore store(folder);
    context->connectFullMesh(store, device);
    context_ = context;
  }
  std::string name() const override {
    return "gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
           (ring_ ? " ring" : " bcube");
  }
  int rank() const override { return context_->rank; }
  int world() const override { return context_->size; }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void sum(float* data, size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data, count);
    options.setAlgorithm(ring_ ? Algorithm::RING : Algorithm::BCUBE);
    using Sum = void (*)(void*, const void*, const void*, size_t);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    gloo::allreduce(options);
  }
  std::vector<double> gather(const std::vector<double>& mine) override {
    std::vector<double> own = mine, all(mine.size() * static_cast<size_t>(world()));
    gloo::AllgatherOptions options(context_);
    options.setInput(own.data(), own.size());
    options.setOutput(all.data(), all.size());
    gloo::allgather(options);
    return all;
  }

 private:
  const bool ring_;
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool ring = argc < 2 || std::string_view(argv[1]) != "bcube";
  constexpr int kWorld = 2;
  std::string folder = (std::filesystem::temp_directory_path() / "direct_gloo.XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 1;
  for (int rank = 0; rank < kWorld; ++rank) {
    if (::fork() != 0) continue;
    Gloo ranks(rank, kWorld, folder, ring);
    const auto heap = [](size_t bytes) { return std::make_unique<float[]>(bytes / 4); };
    const bool good = time_sums(ranks, sizes_of(argc, argv, 2), heap);
    ranks.barrier();
    return good ? 0 : 1;
  }
  bool good = true;
  for (int rank = 0; rank < kWorld; ++rank) {
    int status = 1;
    ::wait(&status);
    good = good && status == 0;
  }
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
