// MPI's own all-reduce: what bench/wire_all_reduce.cc stands beside.
//
// usage: mpirun -n 2 bench_direct_mpi [BYTES...]
#define MPICH_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "timed_sums.h"

namespace {

class Mpi : public SumRanks {
 public:
  std::string name() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<size_t>(length));
    return all.substr(0, all.find_first_of(",\n"));
  }
  int rank() const override {
    int out = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &out);
    return out;
  }
  int world() const override {
    int out = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &out);
    return out;
  }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void sum(float* data, size_t count) override {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  std::vector<double> gather(const std::vector<double>& mine) override {
    std::vector<double> all(mine.size() * static_cast<size_t>(world()));
    const int count = static_cast<int>(mine.size());
    MPI_Allgather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Mpi ranks;
  const auto heap = [](size_t bytes) { return std::make_unique<float[]>(bytes / 4); };
  const bool good = time_sums(ranks, sizes_of(argc, argv, 1), heap);
  MPI_Finalize();
  return good ? 0 : 1;
}
