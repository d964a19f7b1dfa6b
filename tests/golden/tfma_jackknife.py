"""Jackknife intervals of slices as TensorFlow Model Analysis computes them, on the rows of fairness.json.

usage: tfma_jackknife.py OUT.json     (pip install tensorflow-model-analysis; figures of TFMA 0.47.1)

TFMA deals rows to its 20 buckets by chance; here a row goes to bucket (100 score + 12 weight + label) mod 20. Rows
are weighted. Of each slice and metric: the ends of the interval, or null where TFMA gives none.
BinaryCrossEntropy is not among them: with intervals TFMA says another value of the same rows than without.
"""
import json
import math
import os
import pathlib
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import apache_beam as beam
import pandas as pd
import tensorflow_model_analysis as tfma
from google.protobuf import text_format
from tensorflow_model_analysis.evaluators import jackknife

METRICS = {"true_positive_rate": "Recall", "false_positive_rate": "FallOut", "positive_predictive_value": "Precision",
           "negative_predictive_value": "NPV", "selection_rate": "PredictedPositiveRate", "f1": "F1Score",
           "balanced_accuracy": "BalancedAccuracy", "mean_prediction": "MeanPrediction", "calibration": "Calibration"}
WITHOUT_THRESHOLD = {"mean_prediction", "calibration"}


def bucket_of(element, buckets):
    row = {name: float(values[0]) for name, values in element[1]["_default_combiner_input"][0].items()}
    return round(100 * row["predictions"] + 12 * row["example_weights"] + row["labels"]) % buckets


class Beam:
    """Beam, but for the partition by chance."""

    def __getattr__(self, name):
        return (lambda _, buckets: beam.Partition(bucket_of, buckets)) if name == "Partition" else getattr(beam, name)


def metric(name, class_name):
    config = json.dumps({"name": name, **({} if name in WITHOUT_THRESHOLD else {"thresholds": [0.5]})})
    return f"metrics {{ class_name: '{class_name}' config: '{config}' }}\n"


def interval(value):
    value = next(iter(value.values()))
    ends = [float(value["lowerBound"]), float(value["upperBound"])]
    return None if any(map(math.isnan, ends)) else ends


jackknife.beam = Beam()
here = pathlib.Path(__file__).resolve().parent
rows = pd.DataFrame(json.loads((here / "fairness.json").read_text())["rows"]).astype({"label": float})
config = text_format.Parse(
    "model_specs { label_key: 'label' prediction_key: 'score' example_weight_key: 'weight' }\n"
    f"metrics_specs {{ {''.join(metric(*each) for each in METRICS.items())} }}\n"
    "slicing_specs {}\nslicing_specs { feature_keys: ['group'] }\n"
    "options { compute_confidence_intervals { value: true } confidence_intervals { method: JACKKNIFE } }",
    tfma.EvalConfig())
golden = []
for key, values in tfma.analyze_raw_data(rows, config).slicing_metrics:
    values = values[""][""]
    golden.append({"group": int(key[0][1]) if key else None,
                   "intervals": {name: interval(values[name]) for name in METRICS}})
golden.sort(key=lambda of_slice: -1 if of_slice["group"] is None else of_slice["group"])
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
