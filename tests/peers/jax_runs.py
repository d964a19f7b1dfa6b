"""Runs StableHLO programs that we export in JAX's runtime and compares with the values beside them.

usage: jax_runs.py FOLDER [TOLERANCE]      (pip install jax; figures of jax 0.10)
For every FOLDER/<name>.mlir: inputs FOLDER/<name>.in<k>.npy, expected outputs FOLDER/<name>.out<k>.npy.
Prints a line a program; exit 1 when an output is further off than TOLERANCE (1e-5) of its largest value.
"""
import pathlib
import sys

import jax
import numpy as np
from jax._src.lib import xla_client


def run(text, inputs):
    device = jax.devices("cpu")[0]
    options = xla_client.CompileOptions()
    executable = device.client.compile_and_load(text, xla_client.DeviceList((device,)), options)
    arrays = [jax.device_put(x, device) for x in inputs]
    return [np.asarray(x[0]) for x in executable.execute_sharded(arrays).disassemble_into_single_device_arrays()]


def numbered(folder, stem):
    files = []
    while (folder / f"{stem}{len(files)}.npy").exists():
        files.append(np.load(folder / f"{stem}{len(files)}.npy"))
    return files


def main():
    jax.config.update("jax_enable_x64", True)
    folder, tolerance = pathlib.Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1e-5
    programs, good = sorted(folder.glob("*.mlir")), True
    for program in programs:
        expected = numbered(folder, program.stem + ".out")
        got = run(program.read_text(), numbered(folder, program.stem + ".in"))
        worst = 0.0 if len(got) == len(expected) else float("inf")
        for a, b in zip(got, expected):
            if a.shape != b.shape:
                worst = float("inf")
            elif a.size:
                worst = max(worst, float(np.max(np.abs(a.astype(np.float64) - b)) / max(np.max(np.abs(b.astype(np.float64))), 1e-30)))
        good = good and worst <= tolerance
        print(f"{program.stem}: worst {worst:.2e} of the largest value, {'ok' if worst <= tolerance else 'FAILED'}")
    sys.exit(0 if programs and good else 1)


if __name__ == "__main__":
    main()
