"""Calibration errors, and areas of groups against the rows outside of them, as scikit-learn computes them.

usage: subgroups.py OUT.json     (pip install scikit-learn; figures of scikit-learn 1.9.1)

The rows are those of fairness.json. Shares and mean scores of the bins of plain rows are calibration_curve's; of
weighted rows they are numpy's in the same bins. An area without positives or negatives is null.
"""
import json
import pathlib
import sys

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

rows = json.loads(pathlib.Path(__file__).with_name("fairness.json").read_text())["rows"]
score, label, group, weights = (np.array(rows[name]) for name in ["score", "label", "group", "weight"])


def calibration_error(part, weight):
    bins = np.searchsorted(np.linspace(0, 1, 11)[1:-1], score[part])
    if (weight == 1).all():
        truth, mean = calibration_curve(label[part], score[part], n_bins=10)
        share = np.bincount(bins, minlength=10)
        return float((share[share > 0] * np.abs(truth - mean)).sum() / share.sum())
    return float(sum(abs(np.sum((weight[part] * (score[part] - label[part]))[bins == b])) for b in range(10))
                 / weight[part].sum())


def area(part, weight):
    if len(set(label[part])) < 2:
        return None
    return float(roc_auc_score(label[part], score[part], sample_weight=weight[part]))


def figures(weight):
    parts = [np.arange(label.size)] + [np.flatnonzero(group == g) for g in range(4)]
    inside = [group == g for g in range(4)]
    return {"calibration_error": [calibration_error(part, weight) for part in parts],
            "bpsn_auc": [area(np.flatnonzero(np.where(label == 1, ~its, its)), weight) for its in inside],
            "bnsp_auc": [area(np.flatnonzero(np.where(label == 0, ~its, its)), weight) for its in inside]}


golden = {"plain": figures(np.ones(label.size)), "weighted": figures(weights)}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
