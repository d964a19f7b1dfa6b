"""TensorFlow Data Validation reads schemas with tags of this project, finds in them what it finds without tags, and
writes them back.

usage: tfdv_tags.py OUT.json     (pip install tensorflow_data_validation; figures of 1.16.1)
"""
import json
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import pandas as pd
import tensorflow_data_validation as tfdv
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

SCHEMA = """
feature { name: "age" type: INT int_domain { min: 17 max: 90 } presence { min_fraction: 1 } shape {} }
feature { name: "sex" type: BYTES string_domain { value: "F" value: "M" } presence { min_fraction: 1 } shape {} }
feature { name: "skin" type: INT int_domain { min: 1 max: 10 } presence { min_count: 1 } shape {} }
feature { name: "income" type: INT presence { min_fraction: 1 } shape {} }
"""
TAGS = {"age": ["unit=years", "buckets=25,45,65"], "sex": ["role=sensitive"],
        "skin": ["role=sensitive", "scale=monk", "buckets=monk3"], "income": ["favourable=1"]}


def anomalies(rows, schema):
    found = tfdv.validate_statistics(tfdv.generate_statistics_from_dataframe(rows), schema)
    return {name: {"short": info.short_description, "severity": info.severity}
            for name, info in sorted(found.anomaly_info.items())}


rows = pd.DataFrame({"age": [20, 30, 95, 40], "sex": ["F", "M", "X", "F"], "skin": [1, 5, 10, 11],
                     "income": [0, 1, 0, 1]})
plain = text_format.Parse(SCHEMA, schema_pb2.Schema())
tagged = text_format.Parse(SCHEMA, schema_pb2.Schema())
for feature in tagged.feature:
    feature.annotation.tag.extend("espalier." + tag for tag in TAGS[feature.name])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "schema.pbtxt")
    pathlib.Path(path).write_text(text_format.MessageToString(tagged))
    read = tfdv.load_schema_text(path)
    tfdv.write_schema_text(read, path)
    written = pathlib.Path(path).read_text()
golden = {"plain": SCHEMA, "tags": TAGS, "written": written, "anomalies": anomalies(rows, read),
          "anomalies_without_tags": anomalies(rows, plain)}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
