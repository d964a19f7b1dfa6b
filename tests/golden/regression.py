"""Metrics of predicted numbers by group as scikit-learn computes them.

usage: regression.py OUT.json     (pip install scikit-learn; figures of scikit-learn 1.9.1)

240 rows of three groups, which differ in how far off and how biased predictions are; labels lie far from 0.
"""
import json
import sys

import numpy as np
import sklearn.metrics as sk

GROUPS = ["near", "far", "high"]


def figures(truth, said, weight):
    return {"mae": sk.mean_absolute_error(truth, said, sample_weight=weight),
            "mse": sk.mean_squared_error(truth, said, sample_weight=weight),
            "rmse": sk.root_mean_squared_error(truth, said, sample_weight=weight),
            "r2": sk.r2_score(truth, said, sample_weight=weight),
            "mean_error": float(np.average(said - truth, weights=weight)),
            "mean_prediction": float(np.average(said, weights=weight)),
            "mean_label": float(np.average(truth, weights=weight)),
            "calibration": float(np.sum(weight * said) / np.sum(weight * truth))}


random = np.random.default_rng(11)
group = np.repeat(np.arange(3), [120, 80, 40])
truth = random.normal(1000, 40, size=group.size).round(1)
said = (truth + random.normal(0, 1, size=group.size) * np.array([5, 30, 12])[group]
        + np.array([0, 2, 15])[group]).round(1)
weight = random.integers(1, 8, size=group.size) / 4
parts = [np.arange(group.size)] + [np.flatnonzero(group == g) for g in range(3)]
golden = {"groups": GROUPS,
          "rows": {"label": truth.tolist(), "prediction": said.tolist(), "weight": weight.tolist(),
                   "group": group.tolist()},
          "figures": {name: [figures(truth[part], said[part], its[part]) for part in parts]
                      for name, its in [("plain", np.ones(group.size)), ("weighted", weight)]}}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
