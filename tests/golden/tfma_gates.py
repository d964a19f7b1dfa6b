"""What TensorFlow Model Analysis says of the thresholds of an EvalConfig, on drawn rows and a baseline's scores.

usage: tfma_gates.py OUT.json     (pip install tensorflow-model-analysis; verdicts of TFMA 0.47.1)

Every metric has a name of its own and one threshold, so that its name tells whose verdict it is: true where nothing
of that name failed in any slice. The config is written as text, as bytes and as JSON.
"""
import json
import os
import random
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import pandas as pd
import tensorflow_model_analysis as tfma
from google.protobuf import json_format, text_format
from tensorflow_model_analysis.api import model_eval_lib
from tensorflow_model_analysis.utils import config_util

# A baseline is one of models that are loaded; here it is a column of the rows.
model_eval_lib._update_eval_config_with_defaults = lambda eval_config, _: \
    config_util.update_eval_config_with_defaults(eval_config, has_baseline=len(eval_config.model_specs) > 1)
random.seed(5)
ROWS = {"y": [], "p": [], "before": [], "w": [], "sex": [], "age": []}
for i in range(300):
    p = round(random.random(), 3)
    ROWS["y"].append(int(random.random() < 0.15 + 0.7 * p))
    ROWS["p"].append(p + 0.0005)  # on no threshold
    ROWS["before"].append(round(min(0.999, max(0.001, p + random.uniform(-0.3, 0.3))), 3) + 0.0005)
    ROWS["w"].append(random.choice([0.5, 1.0, 2.0]))
    ROWS["sex"].append(random.choice("fm"))
    ROWS["age"].append(random.choice(["old", "young"]))

FEMALE = "slicing_specs { feature_values { key: 'sex' value: 'f' } }"
OLD_FEMALE = "slicing_specs { feature_values { key: 'sex' value: 'f' } feature_values { key: 'age' value: 'old' } }"
MALE = "slicing_specs { feature_values { key: 'sex' value: 'm' } }"
EACH_SEX = "slicing_specs { feature_keys: 'sex' }"
EACH_CROSS = "slicing_specs { feature_keys: ['age', 'sex'] }"


def value(low=None, high=None):
    bounds = "" if low is None else f"lower_bound {{ value: {low} }} "
    bounds += "" if high is None else f"upper_bound {{ value: {high} }} "
    return f"value_threshold {{ {bounds}}}"


def change(direction, **limits):
    bounds = " ".join(f"{kind} {{ value: {limit} }}" for kind, limit in limits.items())
    return f"change_threshold {{ direction: {direction}_IS_BETTER {bounds} }}"


def everywhere(threshold):
    return f"threshold {{ {threshold} }}"


def of_slices(slices, threshold):
    return f"per_slice_thresholds {{ {slices} threshold {{ {threshold} }} }}"


# A baseline less each of the slices.
CROSSES = {"female to male": (FEMALE, MALE), "all to each sex": ("slicing_specs {}", EACH_SEX),
           "old female to cross": (OLD_FEMALE, EACH_CROSS), "male to old female": (MALE, OLD_FEMALE)}


def crossing(name):
    baseline, slices = CROSSES[name]
    return f"cross_slicing_specs {{ {baseline.replace('slicing_specs', 'baseline_spec')} {slices} }}"


def of_crosses(name, threshold):
    return f"cross_slice_thresholds {{ {crossing(name)} threshold {{ {threshold} }} }}"


def metric(name, class_name, held, **config):
    return f"metrics {{ class_name: '{class_name}' config: '{json.dumps({'name': name, **config})}' {held} }}\n"


# Each limit once where it is kept and once where it is not.
BY_THRESHOLD = ["Recall", "Precision", "Specificity", "FallOut", "MissRate", "NPV", "FalseDiscoveryRate",
                "FalseOmissionRate", "PredictedPositiveRate", "Prevalence", "PrevalenceThreshold", "ThreatScore",
                "BalancedAccuracy", "F1Score", "MatthewsCorrelationCoefficient", "FowlkesMallowsIndex", "Informedness",
                "Markedness", "PositiveLikelihoodRatio", "NegativeLikelihoodRatio", "DiagnosticOddsRatio", "TPR", "TNR",
                "FPR", "FNR", "PPV", "NegativePredictiveValue", "BinaryAccuracy"]
OTHERS = ["AUC", "Calibration", "MeanLabel", "MeanPrediction", "BinaryCrossEntropy"]
MODEL = "model_specs { name: 'candidate' label_key: 'y' prediction_key: 'p' example_weight_key: 'w' }\n"
MODELS = MODEL + """\
model_specs { name: 'baseline' label_key: 'y' prediction_key: 'before' example_weight_key: 'w' is_baseline: true }
"""
SLICES = f"slicing_specs {{}}\n{EACH_SEX}\n{FEMALE}\n{OLD_FEMALE}\n{EACH_CROSS}\n"


def analyzed(config_text):
    config = text_format.Parse(config_text, tfma.EvalConfig())
    folder = tempfile.mkdtemp()
    rows = pd.DataFrame(ROWS).astype({"y": float})
    result = None
    try:
        result = tfma.analyze_raw_data(rows, config, output_path=folder)
    except ValueError as error:  # results of several models are loaded by name; verdicts are written by then
        assert "model" in str(error), error
    return config, result, folder


def overall(values):
    return {name: float(next(iter(value.values()))) for name, value in values.items()}


# The numbers of all rows say where limits are close.
plain = "".join(metric(name, name, "") for name in BY_THRESHOLD + OTHERS)
today = {}
for key, values in analyzed(MODEL + SLICES + f"metrics_specs {{ {plain} }}")[1].slicing_metrics:
    if not key:
        today = overall(values[""][""])

metrics = ""
for name in BY_THRESHOLD + OTHERS:
    now = today[name]
    metrics += metric(f"{name} at least a little less", name, of_slices("slicing_specs {}", value(low=now - 0.01)))
    metrics += metric(f"{name} at least a little more", name, of_slices("slicing_specs {}", value(low=now + 0.01)))
    metrics += metric(f"{name} at most a little more", name, of_slices("slicing_specs {}", value(high=now + 0.01)))
    metrics += metric(f"{name} at most a little less", name, of_slices("slicing_specs {}", value(high=now - 0.01)))
metrics += metric("between", "AUC", everywhere(value(0.1, 0.99)))
metrics += metric("not between", "AUC", of_slices("slicing_specs {}", value(0.1, 0.2)))
for least in (0.3, 0.6, 0.7, 0.75, 0.8, 0.85):
    metrics += metric(f"everywhere {least}", "Recall", everywhere(value(low=least)), thresholds=[0.45])
    metrics += metric(f"female {least}", "Recall", of_slices(FEMALE, value(low=least)), thresholds=0.45)
    metrics += metric(f"old female {least}", "Recall", of_slices(OLD_FEMALE, value(low=least)), thresholds=[0.45])
    metrics += metric(f"each sex {least}", "Recall", of_slices(EACH_SEX, value(low=least)), thresholds=[0.45])
    metrics += metric(f"cross {least}", "Recall", of_slices(EACH_CROSS, value(low=least)), thresholds=[0.45])
for least in (-0.2, -0.05, 0.0, 0.02, 0.05, 0.1, 0.2):
    metrics += metric(f"auc rises {least}", "AUC", of_slices("slicing_specs {}", change("HIGHER", absolute=least)))
    metrics += metric(f"auc rises by share {least}", "AUC",
                      of_slices("slicing_specs {}", change("HIGHER", relative=least)))
    metrics += metric(f"loss falls {least}", "BinaryCrossEntropy",
                      of_slices("slicing_specs {}", change("LOWER", absolute=-least)))
    metrics += metric(f"loss falls by share {least}", "BinaryCrossEntropy",
                      everywhere(change("LOWER", relative=-least)))
    metrics += metric(f"both {least}", "BinaryAccuracy",
                      of_slices(EACH_SEX, change("HIGHER", absolute=least, relative=-0.1)))
    metrics += metric(f"value and change {least}", "BinaryAccuracy",
                      of_slices(FEMALE, value(low=0.6) + " " + change("HIGHER", absolute=least)))
for name in CROSSES:
    for limit in (-0.3, -0.2, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.2, 0.3):
        metrics += metric(f"{name} at least {limit}", "Recall", of_crosses(name, value(low=limit)), thresholds=[0.45])
        metrics += metric(f"{name} at most {limit}", "AUC", of_crosses(name, value(high=limit)))
        metrics += metric(f"{name} changes by {limit}", "BinaryAccuracy",
                          of_crosses(name, change("HIGHER", absolute=limit)))
crosses = "\n".join(crossing(name) for name in CROSSES)
text = MODELS + SLICES + crosses + f"\nmetrics_specs {{ model_names: ['candidate', 'baseline'] {metrics} }}\n"
config, _, folder = analyzed(text)
validation = tfma.load_validation_result(folder)
assert not validation.missing_thresholds and not validation.missing_slices, validation
# It judges cross slices and counts them among the missing ones all the same.
judged = {(str(of.cross_slice_key.baseline_slice_key), str(of.cross_slice_key.comparison_slice_key))
          for of in validation.metric_validations_per_slice if of.HasField("cross_slice_key")}
assert len(judged) >= len(CROSSES), judged
failures = [failure for of in validation.metric_validations_per_slice for failure in of.failures]
assert not [failure for failure in failures if failure.message], failures
failed = {failure.metric_key.name for failure in failures}
names = [json.loads(metric.config)["name"] for metric in config.metrics_specs[0].metrics]
assert failed <= set(names), failed - set(names)
with open(sys.argv[1], "w") as file:
    json.dump({"rows": ROWS, "text": text, "bytes": config.SerializeToString(deterministic=True).hex(),
               "json": json_format.MessageToDict(config),
               "passes": {name: name not in failed for name in names}}, file, separators=(",", ":"))
    file.write("\n")
