"""Metrics of slices as TensorFlow Model Analysis computes them, on the rows of fairness.json.

usage: tfma.py OUT.json     (pip install tensorflow-model-analysis fairness-indicators; figures of TFMA 0.47.1)

Rows are weighted. Of each slice: what a score above 0.5 says, the rates of Fairness Indicators at nine thresholds,
and what needs no threshold. What TFMA calls NaN is null.
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
from fairness_indicators import fairness_indicators_metrics  # registers FairnessIndicators
from google.protobuf import text_format

AT_THRESHOLD = {
    "true_positive_rate": "Recall", "false_negative_rate": "MissRate", "false_positive_rate": "FallOut",
    "true_negative_rate": "Specificity", "positive_predictive_value": "Precision",
    "false_discovery_rate": "FalseDiscoveryRate", "negative_predictive_value": "NPV",
    "false_omission_rate": "FalseOmissionRate", "selection_rate": "PredictedPositiveRate", "prevalence": "Prevalence",
    "threat_score": "ThreatScore", "balanced_accuracy": "BalancedAccuracy", "f1": "F1Score",
    "matthews_correlation": "MatthewsCorrelationCoefficient", "fowlkes_mallows": "FowlkesMallowsIndex",
    "informedness": "Informedness", "markedness": "Markedness", "prevalence_threshold": "PrevalenceThreshold",
    "positive_likelihood_ratio": "PositiveLikelihoodRatio", "negative_likelihood_ratio": "NegativeLikelihoodRatio",
    "diagnostic_odds_ratio": "DiagnosticOddsRatio",
}
WITHOUT = {"calibration": "Calibration", "mean_label": "MeanLabel", "mean_prediction": "MeanPrediction",
           "log_loss": "BinaryCrossEntropy", "auc": "AUC"}
INDICATORS = {"tpr": "true_positive_rate", "fpr": "false_positive_rate", "tnr": "true_negative_rate",
              "fnr": "false_negative_rate", "selection_rate": "positive_rate", "negative_rate": "negative_rate",
              "fdr": "false_discovery_rate", "for": "false_omission_rate", "ppv": "precision"}
THRESHOLDS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def metric(name, class_name, config=None):
    arguments = json.dumps({"name": name, **(config or {})})
    return f"metrics {{ class_name: '{class_name}' config: '{arguments}' }}\n"


def number(value):
    # A metric is its number, as text where that is NaN.
    value = float(next(iter(value.values()))) if value else math.nan
    return None if math.isnan(value) else value


here = pathlib.Path(__file__).resolve().parent
rows = pd.DataFrame(json.loads((here / "fairness.json").read_text())["rows"]).astype({"label": float})
metrics = "".join(metric(name, of, {"thresholds": [0.5]}) for name, of in AT_THRESHOLD.items())
metrics += "".join(metric(name, of) for name, of in WITHOUT.items())
metrics += metric("indicators", "FairnessIndicators", {"thresholds": THRESHOLDS})
config = text_format.Parse(
    "model_specs { label_key: 'label' prediction_key: 'score' example_weight_key: 'weight' }\n"
    f"metrics_specs {{ {metrics} }}\nslicing_specs {{}}\nslicing_specs {{ feature_keys: ['group'] }}", tfma.EvalConfig())
golden = {"thresholds": THRESHOLDS, "slices": []}
for key, values in tfma.analyze_raw_data(rows, config).slicing_metrics:
    values = values[""][""]
    golden["slices"].append({
        "group": int(key[0][1]) if key else None,
        "rates": {name: number(values[name]) for name in AT_THRESHOLD},
        "means": {name: number(values[name]) for name in WITHOUT},
        "indicators": {name: [number(values[f"indicators/{of}@{threshold}"]) for threshold in THRESHOLDS]
                       for name, of in INDICATORS.items()},
    })
golden["slices"].sort(key=lambda of_slice: -1 if of_slice["group"] is None else of_slice["group"])
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
