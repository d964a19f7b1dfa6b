"""Writes numpy_stored.npz and numpy_deflated.npz: the same arrays by numpy.savez and numpy.savez_compressed (2.4);
and numpy_zip64.npz, whose directory has the fields of 64 bits that archives beyond 4 GiB need, and which numpy reads.

usage: python numpy_npz.py   (needs numpy)
"""
import io
import pathlib
import struct

import numpy

arrays = {
    "layer/kernel": (numpy.arange(6, dtype=numpy.float32) / 4).reshape(2, 3),
    "counts": numpy.array([-1, 2**40], dtype=numpy.int64),
    "bytes": numpy.full((40, 50), 7, dtype=numpy.uint8),
    "truth": numpy.array([True, False, True]),
    "columns": numpy.asfortranarray(numpy.arange(6, dtype=numpy.int16).reshape(2, 3)),
    "größe": numpy.array(2.5),
    "empty": numpy.zeros((0, 4), dtype=numpy.int32),
}
here = pathlib.Path(__file__)
numpy.savez(here.with_name("numpy_stored.npz"), **arrays)
numpy.savez_compressed(here.with_name("numpy_deflated.npz"), **arrays)


def with_wide_fields(archive):
    """`archive`, of one entry, with all sizes and offsets of its directory in zip64's records."""
    start, end = archive.index(b"PK\1\2"), archive.index(b"PK\5\6")
    entry = archive[start:end]
    sizes = struct.unpack("<II", entry[20:28])
    extra = struct.pack("<HHQQQ", 1, 24, sizes[1], sizes[0], 0)
    name = entry[46:46 + struct.unpack("<H", entry[28:30])[0]]
    wide = (entry[:20] + b"\xff" * 8 + entry[28:30] + struct.pack("<H", len(extra)) + entry[32:42] + b"\xff" * 4
            + name + extra)
    record = start + len(wide)
    return (archive[:start] + wide
            + struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(wide), start)
            + struct.pack("<4sIQI", b"PK\6\7", 0, record, 1)
            + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))


one = io.BytesIO()
numpy.savez(one, x=numpy.arange(3, dtype=numpy.float32))
here.with_name("numpy_zip64.npz").write_bytes(with_wide_fields(one.getvalue()))
assert numpy.load(here.with_name("numpy_zip64.npz"))["x"].tolist() == [0, 1, 2]
