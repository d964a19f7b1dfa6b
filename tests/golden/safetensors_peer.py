"""Writes peer.safetensors: a few arrays by the safetensors package (0.8), the reference of the format.

usage: python safetensors_peer.py   (needs numpy, ml_dtypes, safetensors)
"""
import pathlib

import ml_dtypes
import numpy
from safetensors.numpy import save_file

arrays = {
    "layer/kernel": (numpy.arange(6, dtype=numpy.float32) / 4).reshape(2, 3),
    "half": numpy.array([0.5, -2, 65504], dtype=numpy.float16),
    "bf16": numpy.array([1.5, -3e38], dtype=ml_dtypes.bfloat16),
    "counts": numpy.array([-1, 2**40], dtype=numpy.int64),
    "bytes": numpy.array([[0, 255]], dtype=numpy.uint8),
    "truth": numpy.array([True, False, True]),
    "scalar": numpy.array(2.5, dtype=numpy.float64),
    "empty": numpy.zeros((0, 4), dtype=numpy.int32),
}
save_file(arrays, pathlib.Path(__file__).with_name("peer.safetensors"), metadata={"made by": "the peer"})
