"""Statistics of TFRecords of tf.Example as TensorFlow Data Validation computes them.

usage: tfdv_examples.py OUT.json     (pip install tensorflow-data-validation; figures of TFDV 1.16.1)

Records are generated: features that are missing, without a kind, empty, of one and of several values. A TFRecord
stands in the file as its bytes, gzip, hexadecimal; statistics as those of tfdv_stats.json.
"""
import gzip
import json
import os
import pathlib
import random
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import tensorflow_data_validation as tfdv
from tfx_bsl.public.proto import slicing_spec_pb2


def add(example, name, kind, values):
    feature = example.features.feature[name]
    if kind:
        getattr(feature, kind).SetInParent()
        getattr(feature, kind).value.extend(values)


def examples(rows, seed):
    numbers = random.Random(seed)
    kinds = [b"oak", b"ash", "\u00e9lan".encode(), b"\xff\xfe", b"", b"10"]
    for row in range(rows):
        example = tf.train.Example()
        add(example, "id", "int64_list", [row * 7919 - 2**40])
        add(example, "weight", "float_list", [numbers.choice([1, 2, 5.5])])
        add(example, "none", None, [])
        if numbers.random() < 0.7:
            add(example, "steps", "int64_list", [numbers.randrange(-3, 9) for _ in range(numbers.choice([0, 1, 1, 3, 8]))])
        if numbers.random() < 0.9:
            add(example, "prices", "float_list",
                [numbers.choice([0, -1.5, float("nan"), numbers.lognormvariate(3, 2)]) for _ in range(numbers.randrange(4))])
        if numbers.random() < 0.8:
            add(example, "words", "bytes_list", numbers.choices(kinds, [40, 20, 10, 5, 3, 2], k=numbers.randrange(6)))
        if numbers.random() < 0.9:
            add(example, "tags", "bytes_list", numbers.sample([b"a", b"b"], numbers.randrange(3)))
        add(example, "pair", "float_list", [row, numbers.gauss(0, 1)])
        add(example, "flag", "int64_list", [numbers.randrange(2)])
        if row % 2:
            add(example, "empty", "int64_list", [])
        yield example.SerializeToString(deterministic=True)


def compute(path, weight, slice_by):
    options = tfdv.StatsOptions(weight_feature=weight or None)
    if slice_by:
        options.slicing_config = slicing_spec_pb2.SlicingConfig(
            slicing_specs=[slicing_spec_pb2.SlicingSpec(feature_keys=[slice_by])])
    return tfdv.generate_statistics_from_tfrecord(str(path), stats_options=options)


def hexadecimal(content):
    return gzip.compress(content, mtime=0).hex()


golden = []
with tempfile.TemporaryDirectory() as folder:
    for rows, weight, slice_by in [(1, "", ""), (9, "", ""), (120, "", ""), (60, "weight", ""), (40, "weight", "tags"),
                                   (30, "", "flag")]:
        path = pathlib.Path(folder) / "rows.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for example in examples(rows, rows):
                writer.write(example)
        statistics = compute(path, weight, slice_by)
        golden.append({"weight": weight, "slice": slice_by, "records": hexadecimal(path.read_bytes()),
                       "statistics": hexadecimal(statistics.SerializeToString(deterministic=True))})
pathlib.Path(sys.argv[1]).write_text(json.dumps(golden, indent=1) + "\n")
