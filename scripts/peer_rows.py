"""PyTorch's index_select and index_add_ on the rows that bench_places gathers and adds: microseconds a call.

usage: peer_rows.py [--rounds N] [--threads N] ROW ...

A ROW is called as bench_places calls it: gather_256x32, scatter_add_4096x512. A JSON line each: the median of rounds of
a twentieth of a second, after one that warms up. Exit 1 when rows or sums are wrong.
"""
import argparse
import json
import os
import re
import statistics
import sys
import time

TABLE, ROUND = 100_000, 0.05
ROW = re.compile(r"(gather|scatter_add)_(\d+)x(\d+)")


def prepared(torch, kind, rows, width):
    """A call, after its result was checked."""
    table = torch.randint(0, 1000, (TABLE, width)).float()
    ids, updates = torch.randint(0, TABLE, (rows,)), torch.randint(0, 100, (rows, width)).float()
    if kind == "gather":
        found = torch.index_select(table, 0, ids)
        if any(not torch.equal(found[i], table[int(ids[i])]) for i in range(0, rows, 7)):
            sys.exit("peer_rows: index_select gives other rows")
        return lambda: torch.index_select(table, 0, ids)
    total = float(table.double().sum() + updates.double().sum())
    table.index_add_(0, ids, updates)
    if float(table.double().sum()) != total:
        sys.exit("peer_rows: a sum of index_add_ is wrong")
    return lambda: table.index_add_(0, ids, updates)


def timed(call, times):
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="+", metavar="ROW")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    unknown = [row for row in options.rows if not ROW.fullmatch(row)]
    if unknown or options.rounds < 1:
        parser.error(f"no row {unknown[0]}" if unknown else "--rounds must be positive")
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    for row in options.rows:
        kind, rows, width = ROW.fullmatch(row).groups()
        call = prepared(torch, kind, int(rows), int(width))
        once = min(timed(call, 1) for _ in range(3))
        times = max(1, int(ROUND / timed(call, max(1, int(ROUND / once)))))
        values = [timed(call, times) * 1e6 for _ in range(options.rounds)]
        print(json.dumps({"peer": f"torch {torch.__version__}", "row": row, "microseconds": round(statistics.median(values), 3)}),
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
