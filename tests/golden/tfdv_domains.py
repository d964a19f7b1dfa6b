"""Domains that TensorFlow Data Validation finds in the values of columns: times, booleans and whole numbers in text.

usage: tfdv_domains.py OUT.json     (pip install tensorflow-data-validation; figures of TFDV 1.16.1)

"formats" are those of times in their order, "matches" texts with the formats that they fit. Each column is its values
with how often they follow each other, and the time that semantic domain statistics say, its share of the values, and
the domain that a schema of them has: none where several were said, since a day with its name is language, too.
"""
import datetime
import json
import os
import pathlib
import random
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import pyarrow as pa
import tensorflow_data_validation as tfdv
from google.protobuf import text_format
from tensorflow_data_validation.statistics import stats_impl
from tensorflow_data_validation.statistics.generators import time_stats_generator

FORMATS = [name for name, _ in time_stats_generator._TIME_RE_LIST]
numbers = random.Random(1)


def some_time():
    return datetime.datetime(1990, 1, 1) + datetime.timedelta(seconds=numbers.random() * 40 * 365 * 86400)


def texts():
    out = ["", " ", "a", "0", "00", "7", "18", "600", "2018", "20181130", "11302018", "30112018", "3112018", "1-1-1", "1-1-01",
           "01/1/01", " 1- 5-2018", "2018-11- 3", "2018-13-01", "2018-12-32", "2018-00-10", "0-0-2018", "31-Mai-2018",
           "31-May-2018", "1-September-18", "01-may-18", "24:00", "23:60", "23:59", "3:7", "3:7:5", "23:59:60", "23:59:600",
           "23:59:601", "23:59:602", "23:59:58.1234567", "23:59:58.", "23:59:58,123", "23:59:581123", "2018-11-30T23:59",
           "2018-11-30  23:59", "2018-11-30t23:59", "2018-11-30T23:59:58Z", "Fri Nov 30 10:47:02 2018", "Fri Nov  3 1:2:3 2018",
           "Fri November 30 10:47:02 2018", "fri Nov 30 10:47:02 2018", "30-September-2018T23:59:601.123456",
           "30-September-2018T23:59:601.1234567", "2018/11/30 1:2:3.4", "18/11/30T01:02", "T23:59", "2018-11-30T", "-1", "1.5"]
    for name in FORMATS:
        out.append(some_time().strftime(name))
        text = list(some_time().strftime(name))
        text[numbers.randrange(len(text))] = numbers.choice("0123456789-/: TA.")
        out.append("".join(text))
    return list(dict.fromkeys(out))


def columns():
    out = []
    for name in FORMATS[:21] + FORMATS[21::9]:
        out.append([[some_time().strftime(name), 13] for _ in range(8)])
    day, unix = "2018-11-30", 1543536000
    out += [
        [[day, 80], ["unknown", 20]], [[day, 79], ["unknown", 21]], [[day, 99]], [[day, 100]], [[day, 99], ["", 1]],
        [["05/06/2018", 120]], [["05/06/2018", 60], ["13/06/2018", 60]], [["05-06-07", 110]],
        [[unix // 86400, 120]], [[unix, 120]], [[unix * 1000, 120]], [[unix * 10**6, 120]], [[unix * 10**9, 120]],
        [[unix, 96], [7, 24]], [[unix, 95], [7, 25]], [[7305, 100]], [[7304, 100]], [[21914, 100]], [[21915, 100]],
        [[20181130, 120]], [[float(unix), 120]], [[1543536000.5, 120]],
        [["TRUE", 60], ["FALSE", 60]], [["SET", 100], ["CLEAR", 3]], [["1", 60], ["0", 60]], [["true", 3]], [["0", 4]],
        [["yes", 60], ["no", 60]], [["true", 3], ["1", 3]], [["7", 60], ["-12", 60]], [["2018", 120]], [["7", 60], ["7.5", 60]],
        [["20181130", 120]], [["12:30", 120]], [[0, 50], [1, 70]], [[0, 50], [2, 70]], [["oak", 70], ["ash", 50]],
    ]
    return out


def spread(column, rows):
    out = [value for value, count in column for _ in range(count)]
    return out + [None] * (rows - len(out))


def array(values):
    present = [value for value in values if value is not None]
    kind = pa.int64() if isinstance(present[0], int) else pa.float32() if isinstance(present[0], float) else pa.binary()
    return pa.array([None if value is None else [value.encode() if isinstance(value, str) else value] for value in values],
                    pa.list_(kind))


golden = {"formats": FORMATS, "matches": [], "columns": []}
for text in texts():
    golden["matches"].append([text, [name for name, regex in time_stats_generator._TIME_RE_LIST if regex.match(text)]])
ROWS = 130
all_columns = columns()
names = [f"c{i:03d}" for i in range(len(all_columns))]
batch = pa.RecordBatch.from_arrays([array(spread(column, ROWS)) for column in all_columns], names)
statistics = stats_impl.generate_statistics_in_memory(batch, tfdv.StatsOptions(enable_semantic_domain_stats=True))
schema = tfdv.infer_schema(statistics)
for column, name in zip(all_columns, names):
    feature = next(each for each in statistics.datasets[0].features if each.path.step[0] == name)
    said = [custom.str for custom in feature.custom_stats if custom.name == "domain_info"]
    ratios = [custom.num for custom in feature.custom_stats if custom.name == "time_match_ratio"]
    of_schema = next(each for each in schema.feature if each.name == name)
    kind = of_schema.WhichOneof("domain_info") or ""
    golden["columns"].append({
        "values": column,
        "time": next((one for one in said if one.startswith("time_domain")), ""),
        "ratio": ratios[0] if ratios else 0,
        "several": len(said) > 1,
        "domain": kind,
        "domain_text": "" if kind in ("", "domain") else text_format.MessageToString(getattr(of_schema, kind), as_one_line=True),
    })
pathlib.Path(sys.argv[1]).write_text(json.dumps(golden) + "\n")
