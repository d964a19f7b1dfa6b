"""Feature skew of two small tables, as TensorFlow Data Validation finds it.

usage: tfdv_skew.py OUT.json     (pip install tensorflow-data-validation; figures of TFDV 1.16.1)
"""
import json
import os
import random
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import apache_beam as beam
import tensorflow as tf
from tensorflow_data_validation.skew import feature_skew_detector

COLUMNS = {"shop": str, "day": int, "visits": int, "fare": float, "kind": str, "same": int}


def tables(seed):
    numbers = random.Random(seed)
    rows = []
    for i in range(120):
        rows.append({"shop": f"s{numbers.randrange(30)}", "day": str(i // 6), "visits": str(numbers.randrange(50)),
                     "fare": f"{numbers.uniform(1, 9):.3f}", "kind": numbers.choice(["oak", "ash", "élan"]),
                     "same": str(i)})
    now = []
    for row in rows:
        row = dict(row)
        for column, chance in [("visits", 0.1), ("fare", 0.3), ("kind", 0.05)]:
            if numbers.random() < chance:
                row[column] = numbers.choice(["", {"visits": "77", "fare": "0.125", "kind": "fir"}[column]])
        now.append(row)
    for table in rows, now:
        for row in table:
            for column, chance in [("shop", 0.03), ("fare", 0.05)]:
                if numbers.random() < chance:
                    row[column] = ""
        for row in numbers.sample(table, 8):
            table.remove(row)
        numbers.shuffle(table)
    return rows, now


def example(row):
    features = {}
    for column, kind in COLUMNS.items():
        if row[column] == "":
            continue
        if kind is int:
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(row[column])]))
        elif kind is float:
            value = tf.train.Feature(float_list=tf.train.FloatList(value=[float(row[column])]))
        else:
            value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[row[column].encode()]))
        features[column] = value
    return tf.train.Example(features=tf.train.Features(feature=features))


def text(table):
    return "".join(",".join(cells) + "\n" for cells in [COLUMNS] + [[row[c] for c in COLUMNS] for row in table])


def main(out):
    before, now = tables(1)
    part = out + ".part"  # what workers find, a line each

    def keep(message):
        fields = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
        with open(part, "a") as file:
            file.write(json.dumps(fields) + "\n")

    with beam.Pipeline() as pipeline:
        sides = tuple(pipeline | name >> beam.Create([example(row) for row in rows])
                      for name, rows in [("before", before), ("now", now)])
        found = sides | feature_skew_detector.DetectFeatureSkewImpl(["shop", "day"])
        found[feature_skew_detector.SKEW_RESULTS_KEY] | "keep columns" >> beam.Map(keep)
        found[feature_skew_detector.MATCH_STATS_KEY] | "keep matches" >> beam.Map(keep)
    golden = {"before": text(before), "now": text(now), "columns": {}}
    for line in open(part):
        fields = json.loads(line)
        name = fields.pop("feature_name", None)
        if name is None:
            golden["stats"] = fields
        else:
            golden["columns"][name] = fields
    os.remove(part)
    golden["columns"] = dict(sorted(golden["columns"].items()))
    with open(out, "w") as file:
        json.dump(golden, file, indent=1, ensure_ascii=False)
        file.write("\n")


main(sys.argv[1])
