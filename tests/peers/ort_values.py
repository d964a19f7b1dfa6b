"""Runs an ONNX model in onnxruntime on arrays of files.

usage: ort_values.py FOLDER      (pip install onnx onnxruntime; figures of onnx 1.23, onnxruntime 1.32)
FOLDER/model.onnx of FOLDER/in<k>.npy gives FOLDER/out<k>.npy. onnx's checker looks at it first.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

folder = pathlib.Path(sys.argv[1])
onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)
session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
inputs = {value.name: np.load(folder / f"in{k}.npy") for k, value in enumerate(session.get_inputs())}
for k, array in enumerate(session.run(None, inputs)):
    np.save(folder / f"out{k}.npy", array)
