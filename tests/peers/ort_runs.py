"""Runs ONNX models that we export in onnxruntime and compares with the values beside them.

usage: ort_runs.py FOLDER [TOLERANCE]      (pip install onnx onnxruntime; figures of onnx 1.23, onnxruntime 1.31)
For every FOLDER/<name>.onnx: onnx's checker with full shape inference; then, for every batch size B with
FOLDER/<name>.B.in0.npy, inputs FOLDER/<name>.B.in<k>.npy against outputs FOLDER/<name>.B.out<k>.npy. Prints a
line a run; exit 1 when an output is further off than TOLERANCE (1e-5) of its largest value.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime


def numbered(folder, stem):
    files = []
    while (folder / f"{stem}{len(files)}.npy").exists():
        files.append(np.load(folder / f"{stem}{len(files)}.npy"))
    return files


def main():
    folder, tolerance = pathlib.Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1e-5
    runs, good = 0, True
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        for first in sorted(folder.glob(f"{path.stem}.*.in0.npy")):
            stem = first.name[: -len("in0.npy")]
            got = session.run(None, dict(zip(names, numbered(folder, stem + "in"), strict=True)))
            expected = numbered(folder, stem + "out")
            worst = 0.0 if len(got) == len(expected) else float("inf")
            for a, b in zip(got, expected):
                if a.shape != b.shape or a.dtype != b.dtype:
                    worst = float("inf")
                elif a.size:
                    scale = max(np.max(np.abs(b.astype(np.float64))), 1e-30)
                    worst = max(worst, float(np.max(np.abs(a.astype(np.float64) - b)) / scale))
            runs, good = runs + 1, good and worst <= tolerance
            operators = [node.op_type for node in model.graph.node]
            print(f"{stem[:-1]}: worst {worst:.2e} of the largest value, {'ok' if worst <= tolerance else 'FAILED'};"
                  f" {len(operators)} nodes, {operators.count('Transpose')} of them Transpose")
    sys.exit(0 if runs and good else 1)


if __name__ == "__main__":
    main()
