"""Bootstrap intervals of rates by group as Fairlearn and TensorFlow Model Analysis find them, on rows of fairness.json.

usage: bootstraps.py fairlearn OUT.json     (pip install fairlearn; figures of Fairlearn 0.15)
       bootstraps.py tfma OUT.json          (pip install tensorflow-model-analysis; TFMA 0.47.1; adds to OUT.json)

Of all rows, then of each group: the ends of the 95 % interval, by 2,000 replicates of plain rows in Fairlearn, whose
ends are quantiles of the replicates, and by 200 Poisson replicates of weighted rows in TFMA, whose ends are Student's t
by their deviation. Null where no interval is said.
"""
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROWS = json.loads((HERE / "fairness.json").read_text())["rows"]


def fairlearn():
    import warnings
    warnings.filterwarnings("ignore")
    import fairlearn.metrics as fl
    import numpy as np
    import sklearn.metrics as sk
    rates = {"true_positive_rate": fl.true_positive_rate, "false_positive_rate": fl.false_positive_rate,
             "selection_rate": fl.selection_rate, "accuracy": sk.accuracy_score}
    frame = fl.MetricFrame(metrics=rates, y_true=ROWS["label"], y_pred=(np.array(ROWS["score"]) >= 0.5).astype(int),
                           sensitive_features=ROWS["group"], n_boot=2000, ci_quantiles=[0.025, 0.975], random_state=3)
    low, high = ([of_all, *(of_groups.loc[group] for group in range(4))]
                 for of_all, of_groups in zip(frame.overall_ci, frame.by_group_ci))
    return [{name: [float(a[name]), float(b[name])] for name in rates} for a, b in zip(low, high)]


def tfma():
    import os
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import pandas as pd
    import tensorflow_model_analysis as tfma
    from google.protobuf import text_format
    from tensorflow_model_analysis.evaluators import metrics_plots_and_validations_evaluator
    np.random.seed(3)
    rates = {"true_positive_rate": "Recall", "false_positive_rate": "FallOut", "selection_rate": "PredictedPositiveRate",
             "accuracy": "BinaryAccuracy", "f1": "F1Score"}
    metrics = "".join(
        "metrics { class_name: '%s' config: '%s' }\n" % (
            of, json.dumps({"name": name, **({"threshold": 0.5} if name == "accuracy" else {"thresholds": [0.5]})}))
        for name, of in rates.items())
    config = text_format.Parse(
        "model_specs { label_key: 'label' prediction_key: 'score' example_weight_key: 'weight' }\n"
        f"metrics_specs {{ {metrics} }}\nslicing_specs {{}}\nslicing_specs {{ feature_keys: ['group'] }}\n"
        "options { compute_confidence_intervals { value: true }\n"
        "confidence_intervals { method: POISSON_BOOTSTRAP } }", tfma.EvalConfig())
    metrics_plots_and_validations_evaluator._DEFAULT_NUM_BOOTSTRAP_SAMPLES = 200
    found = {}
    for key, values in tfma.analyze_raw_data(pd.DataFrame(ROWS).astype({"label": float}), config).slicing_metrics:
        ends = {name: next(iter(value.values())) for name, value in values[""][""].items() if name in rates}
        ends = {name: [float(its["lowerBound"]), float(its["upperBound"])] for name, its in ends.items()}
        found[int(key[0][1]) if key else -1] = {
            name: None if any(map(math.isnan, its)) else its for name, its in ends.items()}
    return [found[key] for key in sorted(found)]


golden = fairlearn() if sys.argv[1] == "fairlearn" else tfma()
path = pathlib.Path(sys.argv[2])
before = json.loads(path.read_text()) if path.exists() else {}
path.write_text(json.dumps({**before, sys.argv[1]: golden}, separators=(",", ":")) + "\n")
