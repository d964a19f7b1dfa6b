"""Statistics of CSV files as TensorFlow Data Validation computes them.

usage: tfdv_stats.py OUT.json SHARED     (pip install tensorflow-data-validation; figures of TFDV 1.16.1)

Generated tables stand in the file with their statistics; those of SHARED/data with their statistics alone, of whose
rank histograms the first 40 are kept, and with the schema that is inferred of them; an entry with `part` is of every
second row, from row `part` on. Blanks around cells, which Espalier does not take for parts of them, are left out
before. Statistics and schemas are bytes of their messages, gzip, hexadecimal.
"""
import csv
import gzip
import io
import json
import os
import pathlib
import random
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow_data_validation as tfdv
from tfx_bsl.public.proto import slicing_spec_pb2

ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "label"]


def table(rows, seed):
    numbers = random.Random(seed)
    kinds = ["oak", "ash", "élan", 'tall, "old"', "10", "Fir", "fir"]
    out = [["count", "price", "part", "kind", "id", "flag", "late", "none", "same", "size", "weight"]]
    for row in range(rows):
        out.append([
            numbers.choice(["", str(numbers.randrange(-5, 50)), "0"]),
            numbers.choice(["", "0", "-1.5", "nan", f"{numbers.lognormvariate(3, 2):.4f}"]) if row else "0.25",
            f"{numbers.gauss(0, 1):.9g}",
            numbers.choices(kinds, [40, 20, 10, 5, 3, 2, 1])[0],
            f"id{row:05d}",
            numbers.choice(["True", "False", ""]),
            str(row) if row < rows // 2 else f"{row}.5",
            "", "7",
            str(numbers.choice([2**40, 2**53 + 1, -2**62, 3])),
            str(numbers.choice([1, 2, 5])),
        ])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(out)
    return text.getvalue()


def compute(text, names=None, weight=None, slice_by=None):
    options = tfdv.StatsOptions(weight_feature=weight)
    if slice_by:
        options.slicing_config = slicing_spec_pb2.SlicingConfig(
            slicing_specs=[slicing_spec_pb2.SlicingSpec(feature_keys=[slice_by])])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "table.csv"
        path.write_text(text)
        return tfdv.generate_statistics_from_csv(str(path), column_names=names, stats_options=options)


def hexadecimal(message):
    return gzip.compress(message.SerializeToString(deterministic=True), mtime=0).hex()


def kept(statistics, ranks):
    for data in statistics.datasets:
        for feature in data.features:
            if not feature.HasField("string_stats"):
                continue
            parts = [feature.string_stats]
            if parts[0].HasField("weighted_string_stats"):
                parts.append(parts[0].weighted_string_stats)
            for part in parts:
                del part.rank_histogram.buckets[ranks:]
    return hexadecimal(statistics)


def trimmed(path, part):
    with open(path, newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file, skipinitialspace=True) if row]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows if part is None else rows[:1] + rows[1 + part::2])
    return text.getvalue()


shared = pathlib.Path(sys.argv[2]) / "data"
golden = {"generated": [], "shared": []}
for rows, weight, slice_by in [(1, None, None), (7, None, None), (300, None, None), (150, "weight", None),
                               (100, None, "kind"), (80, "weight", "flag")]:
    text = table(rows, rows)
    golden["generated"].append({
        "text": text, "weight": weight or "", "slice": slice_by or "",
        "statistics": kept(compute(text, None, weight, slice_by), 1000)})
for file, names, part in [("tabular/titanic.csv", None, None), ("tabular/chicago_taxi.csv", None, None),
                          ("adult/adult-train.csv", ADULT, None), ("adult/adult-test.csv", ADULT, None),
                          ("tabular/chicago_taxi.csv", None, 0), ("tabular/chicago_taxi.csv", None, 1)]:
    statistics = compute(trimmed(shared / file, part), names)
    golden["shared"].append({"file": file, "names": names or [], **({} if part is None else {"part": part}),
                             "schema": hexadecimal(tfdv.infer_schema(statistics)), "statistics": kept(statistics, 40)})
pathlib.Path(sys.argv[1]).write_text(json.dumps(golden, indent=1) + "\n")
