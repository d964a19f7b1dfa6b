"""Regressions, classes, churn, areas and calibration errors of slices as TensorFlow Model Analysis computes them.

usage: tfma_tasks.py OUT.json     (pip install tensorflow-model-analysis; figures of TFMA 0.47.1)

The rows are those of regression.json, classes.json and fairness.json; figures are of all rows, then of each group, null
where TFMA says NaN. Of classes the likeliest is said; log losses are not among them, since CategoricalCrossEntropy
writes into arrays that are read-only. Areas against the rows outside of a group are AUC of a slice of just those rows.
Calibration errors are of CalibrationPlot's bins, which hold the lower edge: scores are 0.001 less, so that none is an
edge. The model before says of each row what it says of the next one now.
"""
import json
import math
import os
import pathlib
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import pandas as pd
import tensorflow_model_analysis as tfma
from google.protobuf import text_format

HERE = pathlib.Path(__file__).resolve().parent
ONE_MODEL = [("score", "")]
WEIGHTS = ["plain", "weighted"]


def rows_of(name):
    golden = json.loads((HERE / name).read_text())
    return golden, pd.DataFrame({key: values for key, values in golden["rows"].items() if key != "probabilities"})


def analyse(rows, weights, metrics, columns=("group",), models=ONE_MODEL):
    weight = "example_weight_key: 'weight'" if weights == "weighted" else ""
    text = "".join(f"model_specs {{ name: '{score}' label_key: 'label' prediction_key: '{score}' {weight} {more} }}\n"
                   for score, more in models)
    for name, (of, config) in metrics.items():
        text += f"metrics_specs {{ metrics {{ class_name: '{of}' config: '{json.dumps({'name': name, **config})}' }} }}\n"
    text += "slicing_specs {}\n" + "".join(f"slicing_specs {{ feature_keys: ['{column}'] }}\n" for column in columns)
    return tfma.analyze_raw_data(rows.astype({"label": float}), text_format.Parse(text, tfma.EvalConfig()))


def number(value):
    value = float(next(iter(value.values()))) if value else math.nan
    return None if math.isnan(value) else value


def by_group(values):
    """What is said of all rows, then of each group."""
    found = {int(key[0][1]) if key else -1: its[""] for key, its in values}
    return [found[key] for key in sorted(found)]


def flat(parts):
    return {name: number(value) for of_key in parts.values() for name, value in of_key.items()}


def regression():
    _, rows = rows_of("regression.json")
    rows = rows.rename(columns={"prediction": "score"})
    metrics = {"mae": "MeanAbsoluteError", "mse": "MeanSquaredError", "calibration": "Calibration",
               "mean_label": "MeanLabel", "mean_prediction": "MeanPrediction"}
    metrics = {name: (of, {}) for name, of in metrics.items()}
    return {weights: [flat(of) for of in by_group(analyse(rows, weights, metrics).slicing_metrics)]
            for weights in WEIGHTS}


def classes():
    golden, rows = rows_of("classes.json")
    names, all_of = golden["classes"], golden["rows"]["probabilities"]
    rows["score"] = [all_of[i:i + len(names)] for i in range(0, len(all_of), len(names))]
    metrics = {}
    for i, name in enumerate(names):
        for metric, of in [("precision", "Precision"), ("recall", "Recall"), ("f1", "F1Score")]:
            metrics[f"{metric}[{name}]"] = (of, {"class_id": i, "top_k": 1})
    out = {weights: [flat(of) for of in by_group(analyse(rows, weights, metrics).slicing_metrics)]
           for weights in WEIGHTS}
    plot = analyse(rows, "plain", {"matrix": ("MultiClassConfusionMatrixPlot", {"thresholds": [0]})}).plots
    out["matrix"] = []
    for of in by_group(plot):
        matrix = [0] * len(names) ** 2
        for entry in of[""]["multiClassConfusionMatrixAtThresholds"]["matrices"][0]["entries"]:
            matrix[entry.get("actualClassId", 0) * len(names) + entry.get("predictedClassId", 0)] = int(
                entry["numWeightedExamples"])
        out["matrix"].append(matrix)
    return out


def areas(weights):
    _, rows = rows_of("fairness.json")
    columns = []
    for kind, positive in [("bpsn_auc", False), ("bnsp_auc", True)]:
        for group in range(4):
            columns.append(f"{kind} {group}")
            within = rows.group == group
            rows[columns[-1]] = (within == (rows.label == 1)) == positive
    found = {key[0][0]: number(its[""][""]["auc"])
             for key, its in analyse(rows.astype(dict.fromkeys(columns, int)), weights, {"auc": ("AUC", {})},
                                     columns).slicing_metrics if key and int(key[0][1]) == 1}
    return {kind: [found[f"{kind} {group}"] for group in range(4)] for kind in ["bpsn_auc", "bnsp_auc"]}


def calibration_errors(weights):
    _, rows = rows_of("fairness.json")
    rows["score"] -= 0.001
    out = []
    for of in by_group(analyse(rows, weights, {"plot": ("CalibrationPlot", {"num_buckets": 10})}).plots):
        bins = of[""]["calibrationHistogramBuckets"]["buckets"]
        gaps = [abs(each["totalWeightedLabel"] - each["totalWeightedRefinedPrediction"]) for each in bins]
        out.append(sum(gaps) / sum(each["numWeightedExamples"] for each in bins))
    return out


def churn(weights):
    _, rows = rows_of("fairness.json")
    rows["before"] = list(rows.score[1:]) + [rows.score[0]]
    result = analyse(rows, weights, {"changed": ("SymmetricFlipRate", {"threshold": 0.5})},
                     models=[("score", ""), ("before", "is_baseline: true")])
    return [flat(of)["changed_diff"] for of in by_group(result.slicing_metrics)]


golden = {"regression": regression(), "classes": classes(), "churn": {weights: churn(weights) for weights in WEIGHTS},
          "areas": {weights: areas(weights) for weights in WEIGHTS},
          "calibration_error": {weights: calibration_errors(weights) for weights in WEIGHTS}}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
