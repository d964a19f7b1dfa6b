"""Statistics of JSON Lines as TensorFlow Data Validation computes them of the same values in Arrow.

usage: tfdv_jsonl.py OUT.json     (pip install tensorflow-data-validation; figures of TFDV 1.16.1)

Lines are generated: values that are missing, null, lists of none and of several, booleans, objects within objects. They
stand in the file with their statistics, which are as those of tfdv_stats.json.
"""
import gzip
import json
import os
import pathlib
import random
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import pyarrow as pa
import tensorflow_data_validation as tfdv
from tensorflow_data_validation.statistics import stats_impl


def rows(count, seed):
    numbers = random.Random(seed)
    for row in range(count):
        out = {"id": row, "trip": {"day": numbers.randrange(7), "at": {"lat": numbers.gauss(40, 1)}}, "none": None}
        if numbers.random() < 0.8:
            out["price"] = numbers.choice([0, -1.5, 7, numbers.lognormvariate(3, 2), None])
        if numbers.random() < 0.9:
            out["kind"] = numbers.choice(["oak", "\u00e9lan", "", "tall \"old\"\n", "10", "\U0001f332"])
        out["flag"] = numbers.random() < 0.3
        if numbers.random() < 0.7:
            out["steps"] = [numbers.randrange(-3, 9) for _ in range(numbers.choice([0, 1, 2, 5]))]
        if row % 3:
            out["trip"]["words"] = numbers.choices(["a", "b", "c"], k=numbers.randrange(4))
        yield out


def flat(value, path=""):
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from flat(inner, path + name + ".")
        elif inner is not None:
            yield path + name, [x + 0 if isinstance(x, bool) else x for x in (inner if isinstance(inner, list) else [inner])]


golden = []
for count, ascii_only in [(2, True), (8, False), (150, True)]:
    table = list(rows(count, count))
    columns = [dict(flat(row)) for row in table]
    names = sorted(set().union(*columns))
    batch = pa.RecordBatch.from_arrays(
        [pa.array([None if row.get(name) is None else [float(x) for x in row[name]] if name == "price" else row[name]
                   for row in columns]) for name in names], names)
    statistics = stats_impl.generate_statistics_in_memory(batch, tfdv.StatsOptions())
    golden.append({"text": "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in table),
                   "statistics": gzip.compress(statistics.SerializeToString(deterministic=True), mtime=0).hex()})
pathlib.Path(sys.argv[1]).write_text(json.dumps(golden, indent=1) + "\n")
