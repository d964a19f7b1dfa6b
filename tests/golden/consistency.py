"""Consistency of decisions with those of the nearest rows, as AIF360 computes it.

usage: consistency.py OUT.json     (pip install aif360; figures of AIF360 0.6.1)

Decisions that follow the features, that follow nothing, and that are all the same; no two distances are equal.
"""
import json
import sys
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
from aif360.datasets import BinaryLabelDataset
from aif360.metrics import BinaryLabelDatasetMetric

ROWS, COLUMNS = 300, 4

random = np.random.default_rng(11)
features = random.normal(size=(ROWS, COLUMNS)).astype(np.float32)
decisions = {"of the features": (features[:, 0] + 0.3 * features[:, 1] > 0.4).astype(int),
             "of nothing": random.integers(0, 2, size=ROWS), "all the same": np.zeros(ROWS, int)}
out = {"features": [float(x) for x in features.ravel()], "cases": []}
for name, said in decisions.items():
    frame = pd.DataFrame(features.astype(float), columns=[f"x{i}" for i in range(COLUMNS)])
    frame["said"] = said.astype(float)
    data = BinaryLabelDataset(df=frame, label_names=["said"], protected_attribute_names=["x0"],
                              privileged_protected_attributes=[[0.0]], favorable_label=1.0, unfavorable_label=0.0)
    metric = BinaryLabelDatasetMetric(data)
    for neighbours in [1, 5, 20]:
        value = float(np.ravel(metric.consistency(n_neighbors=neighbours))[0])
        out["cases"].append({"name": name, "said": said.tolist(), "neighbours": neighbours, "value": value})
with open(sys.argv[1], "w") as file:
    json.dump(out, file)
    file.write("\n")
