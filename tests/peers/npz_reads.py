"""Reads an .npz file of ours with numpy and checks what it must hold.

usage: python npz_reads.py FILE
"""
import sys
import zipfile

import numpy

path = sys.argv[1]
assert zipfile.ZipFile(path).testzip() is None
arrays = numpy.load(path)
assert sorted(arrays.files) == ["größe", "layer/kernel", "truth"], arrays.files
kernel = arrays["layer/kernel"]
assert kernel.dtype == numpy.float32 and (kernel == numpy.arange(6000).reshape(2, 3000)).all()
assert arrays["truth"].dtype == bool and arrays["truth"].tolist() == [True, False]
assert arrays["größe"].shape == () and arrays["größe"] == 2.5
