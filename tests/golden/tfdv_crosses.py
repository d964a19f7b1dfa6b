"""Statistics of pairs of numeric columns as TensorFlow Data Validation computes them.

usage: tfdv_crosses.py OUT.json     (pip install tensorflow-data-validation; figures of TFDV 1.16.1)

Lines of JSON with the pairs of their columns: rows that have one number in both, covariance, correlation. Numbers are few
bits long, so that f32 has them.
"""
import json
import os
import pathlib
import random
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import pyarrow as pa
from tensorflow_data_validation.statistics.generators.cross_feature_stats_generator import CrossFeatureStatsGenerator


def rows(count, seed):
    numbers = random.Random(seed)
    for row in range(count):
        x = numbers.randrange(-500, 500) / 8
        out = {"whole": numbers.randrange(100), "zebra": x, "apple": 2 * x + 1, "noisy": x + numbers.randrange(64) / 4,
               "same": 7, "kind": numbers.choice("abc")}
        if numbers.random() < 0.7:
            out["rare"] = out["whole"] * 3 - numbers.randrange(50)
        if numbers.random() < 0.8:
            out["many"] = [numbers.randrange(9) for _ in range(numbers.choice([1, 1, 1, 2, 3]))]
        if row % 2:
            out["odd"] = row
        else:
            out["even"] = -row
        yield out


def array(values):
    present = [value for value in values if value is not None]
    first = present[0][0] if isinstance(present[0], list) else present[0]
    kind = pa.binary() if isinstance(first, str) else pa.float32() if isinstance(first, float) else pa.int64()
    return pa.array([None if value is None else value if isinstance(value, list) else [value] for value in values],
                    pa.list_(kind))


golden = []
for count in [2, 9, 200]:
    table = list(rows(count, count))
    names = sorted(set().union(*table))
    batch = pa.RecordBatch.from_arrays([array([row.get(name) for row in table]) for name in names], names)
    generator = CrossFeatureStatsGenerator(sample_rate=1)
    statistics = generator.extract_output(generator.add_input(generator.create_accumulator(), batch))
    pairs = []
    for cross in statistics.cross_features:
        numbers = cross.num_cross_stats
        pairs.append([cross.path_x.step[0], cross.path_y.step[0], cross.count, numbers.covariance, numbers.correlation])
    golden.append({"text": "".join(json.dumps(row) + "\n" for row in table), "pairs": pairs})
pathlib.Path(sys.argv[1]).write_text(json.dumps(golden) + "\n")
