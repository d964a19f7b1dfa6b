"""Writes the test cases that the ONNX package has for single operators, for our reader to run.

usage: onnx_cases.py FOLDER      (pip install onnx; figures of onnx 1.23)
For every case whose inputs and outputs are arrays that .npy files hold: FOLDER/<name>.onnx, inputs
FOLDER/<name>.in<k>.npy, outputs FOLDER/<name>.out<k>.npy, made by the case's own NumPy code.
"""
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"}


def arrays(values):
    values = [np.asarray(value) for value in values if isinstance(value, (np.ndarray, np.generic))]
    return values if all(value.dtype.name in DTYPES for value in values) else None


# Operators whose integer inputs are parameters, which models have as initializers.
PARAMETERS = {"ConstantOfShape", "CumSum", "Expand", "Pad", "Range", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze"}


def fixed(model, inputs):
    """The model with parameters as initializers, and the inputs that are left."""
    first, kept = model.graph.node[0].op_type, []
    for value, info in zip(inputs, list(model.graph.input)):
        if value.dtype == np.int64 and (first in PARAMETERS or first.startswith("Reduce")) and len(model.graph.node) == 1:
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, info.name))
            model.graph.input.remove(info)
        else:
            kept.append(value)
    return kept


def main():
    folder = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    written = 0
    for case in collect_testcases(None):
        if case.model is None or not case.data_sets:
            continue
        inputs, outputs = case.data_sets[0]
        ins, outs = arrays(inputs), arrays(outputs)
        if ins is None or outs is None or len(ins) != len(inputs) or len(outs) != len(outputs):
            continue
        ins = fixed(case.model, ins)
        (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
        for kind, values in (("in", ins), ("out", outs)):
            for index, value in enumerate(values):
                np.save(folder / f"{case.name}.{kind}{index}.npy", value)
        written += 1
    print(f"{written} cases of onnx {onnx.__version__}, operator set {onnx.defs.onnx_opset_version()}")


if __name__ == "__main__":
    main()
