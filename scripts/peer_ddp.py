"""A workload in PyTorch's DistributedDataParallel over Gloo: processes of one thread, the batch cut among them.

usage: peer_ddp.py [--peers DIR] [--processes N] [--seconds S] mlp|cnn|char_gpt

DIR holds peer_torch.py and workloads.py, whose models, optimizers and batches these are. A JSON line: examples, or
tokens, a second, the median of five rounds after two that warm up. Exit 1 when the loss did not fall.
"""
import argparse
import json
import math
import os
import pathlib
import socket
import statistics
import sys
import time

ROUNDS, WARM = 5, 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def train(rank, options, port):
    sys.path.insert(0, str(options.peers))
    import peer_torch
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=options.processes)
    model, optimizer, batch, units = peer_torch.build(options.workload)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    # Slices keep the layout of the memory, such as channels_last.
    batch = [torch.tensor_split(whole, options.processes)[rank].clone() for whole in batch]

    def step():
        loss = parallel(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    def timed(steps):
        torch.distributed.barrier()
        begin = time.perf_counter()
        for _ in range(steps):
            loss = step()
        return time.perf_counter() - begin, loss.item()

    first = step().item()
    step()
    once, _ = timed(3)
    # All make as many steps: the first process says how many.
    steps = torch.tensor([max(1, int(3 * options.seconds / ROUNDS / once))])
    torch.distributed.broadcast(steps, 0)
    rates = []
    for _ in range(WARM + ROUNDS):
        seconds, last = timed(int(steps))
        rates.append(int(steps) * units / seconds)
    torch.distributed.destroy_process_group()
    if rank == 0:
        print(json.dumps({"peer": "torch-ddp", "workload": options.workload, "strategy": "multiworker", "dtype": "f32",
                          "value": round(statistics.median(rates[WARM:]), 1),
                          "unit": "tok/s" if options.workload == "char_gpt" else "ex/s", "first_loss": first,
                          "last_loss": last, "workers": options.processes}), flush=True)
    if not (math.isfinite(last) and last < first):
        sys.exit(f"peer_ddp: the loss of process {rank} went from {first} to {last}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=("mlp", "cnn", "char_gpt"))
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--peers", type=pathlib.Path, default=root.parent / "shared" / "peers")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    port, children = free_port(), []
    for rank in range(options.processes):
        child = os.fork()
        if child == 0:
            train(rank, options, port)
            sys.exit(0)
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)


if __name__ == "__main__":
    sys.exit(main())
