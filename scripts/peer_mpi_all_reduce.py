"""Open MPI's MPI_IN_PLACE sum of f32, timed as bench/comm_all_reduce.cc times ours: a JSON line a size.

usage: mpirun -n 2 python peer_mpi_all_reduce.py [BYTES ...]
"""
import json
import statistics
import sys

import numpy
from mpi4py import MPI

SIZES = (8, 1 << 20, 25 << 20, 128 << 20)


def runs_of(size):
    return 5000 if size <= 64 << 10 else 300 if size <= 1 << 20 else 15


def measure(ranks, size):
    """Microseconds of the rank that takes longest, the median of runs that begin together."""
    world, rank = ranks.size, ranks.rank
    buffer = numpy.empty(size // 4, numpy.float32)
    pattern = (numpy.arange(buffer.size) % 1000).astype(numpy.float32)
    times = []
    for _ in range(runs_of(size)):
        numpy.add(pattern, numpy.float32(rank), out=buffer)
        ranks.Barrier()
        begin = MPI.Wtime()
        ranks.Allreduce(MPI.IN_PLACE, buffer, op=MPI.SUM)
        times.append(MPI.Wtime() - begin)
    if not numpy.array_equal(buffer, pattern * world + world * (world - 1) // 2):
        raise SystemExit(f"peer_mpi_all_reduce: rank {rank} has a wrong sum of {size} bytes")
    slowest = ranks.allgather(times)
    return statistics.median(max(each) for each in zip(*slowest)) * 1e6


def main():
    ranks = MPI.COMM_WORLD
    version = ".".join(map(str, MPI.get_vendor()[1]))
    for size in map(int, sys.argv[1:] or SIZES):
        value = measure(ranks, size)
        if ranks.rank == 0:
            print(json.dumps({"peer": f"open-mpi {version}", "workload": "all_reduce", "ranks": ranks.size, "bytes": size,
                              "value": round(value, 3), "unit": "us"}), flush=True)


if __name__ == "__main__":
    main()
