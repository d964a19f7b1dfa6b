// All-reduce between hosts, by the engine that its launcher chooses: microseconds, a JSON line a size. Beside
// it stand direct_gloo.cc and direct_mpi.cc. Exit 1 where a sum is wrong, 2 where nobody launched it.
//
// usage: espalier launch --hosts a:1,b:1 ... | mpirun -n 2  bench_wire_all_reduce [BYTES...]
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "comm/wire_communicator.h"
#include "strategy/worker.h"
#include "timed_sums.h"

using namespace espalier;

namespace {

void sum(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  auto* out = reinterpret_cast<float*>(to);
  const auto* first = reinterpret_cast<const float*>(from[0]);
  const auto* second = reinterpret_cast<const float*>(from[1]);
  for (size_t i = 0; i < count; ++i) out[i] = first[i] + second[i];
  for (int rank = 2; rank < ranks; ++rank) {
    const auto* next = reinterpret_cast<const float*>(from[rank]);
    for (size_t i = 0; i < count; ++i) out[i] += next[i];
  }
}

class Ours : public SumRanks {
 public:
  explicit Ours(Communicator& ranks) : ranks_(ranks), pool_(1) {}
  std::string name() const override {
    const auto* wire = dynamic_cast<const WireCommunicator*>(&ranks_);
    return "espalier, " + (wire ? wire->wire_name() : std::string("shm"));
  }
  int rank() const override { return ranks_.rank(); }
  int world() const override { return ranks_.world(); }
  void barrier() override {
    run_collective(ranks_, {Collective::Kind::kBarrier, "begin", ""}, nullptr, nullptr, pool_);
  }
  void sum(float* data, size_t count) override {
    run_collective(ranks_, {Collective::Kind::kAllReduce, "bench", "f32 sum", 4, count, ::sum},
                   reinterpret_cast<std::byte*>(data), nullptr, pool_);
  }
  std::vector<double> gather(const std::vector<double>& mine) override {
    std::vector<double> own = mine, all(mine.size() * static_cast<size_t>(world()));
    run_collective(ranks_, {Collective::Kind::kAllGather, "times", "f64", 8, own.size()},
                   reinterpret_cast<std::byte*>(own.data()), reinterpret_cast<std::byte*>(all.data()), pool_);
    return all;
  }

 private:
  Communicator& ranks_;
  ThreadPool pool_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::shared_ptr<Worker> worker = Worker::from_environment();
  if (!worker || worker->communicator().world() < 2) {
    std::fprintf(stderr, "bench_wire_all_reduce: start it by espalier launch --hosts, or by mpirun\n");
    return 2;
  }
  Ours ranks(worker->communicator());
  return time_sums(ranks, sizes_of(argc, argv, 1),
                   [&](size_t n) { return worker->communicator().allocate(n); })
             ? 0
             : 1;
}
