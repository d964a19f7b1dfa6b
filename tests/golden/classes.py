"""Metrics of several classes by group as scikit-learn computes them.

usage: classes.py OUT.json     (pip install scikit-learn; figures of scikit-learn 1.9.1)

200 rows of four classes and three groups: the third has no row of the last class and is never said to be of it.
Probabilities are in thousandths; the class that is said is the likeliest.
"""
import json
import sys
import warnings

import numpy as np
import sklearn.metrics as sk

warnings.filterwarnings("ignore")
CLASSES, GROUPS = ["ant", "bee", "cow", "dog"], ["large", "small", "narrow"]


def figures(truth, said, probability, weight):
    out = {"accuracy": sk.accuracy_score(truth, said, sample_weight=weight),
           "log_loss": sk.log_loss(truth, probability, sample_weight=weight, labels=range(4))}
    for name, metric in [("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)]:
        out["micro_" + name] = metric(truth, said, sample_weight=weight, average="micro")
        out["macro_" + name] = metric(truth, said, sample_weight=weight, average="macro", zero_division=0)
        of_class = metric(truth, said, sample_weight=weight, average=None, labels=range(4), zero_division=np.nan)
        for i, value in enumerate(of_class):
            out[f"{name}[{CLASSES[i]}]"] = None if np.isnan(value) else float(value)
    return {"metrics": {name: None if value is None else float(value) for name, value in out.items()},
            "matrix": sk.confusion_matrix(truth, said, labels=range(4)).flatten().tolist()}


random = np.random.default_rng(12)
group = np.repeat(np.arange(3), [110, 60, 30])
truth = random.integers(0, np.array([4, 4, 3])[group])
score = random.normal(size=(group.size, 4)) + 1.5 * np.eye(4)[truth]
score[group == 2, 3] = -9
share = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
probability = np.floor(share * 1000) / 1000
probability[np.arange(group.size), share.argmax(axis=1)] += (1 - probability.sum(axis=1)).round(3)
probability = probability.round(3)
said = probability.argmax(axis=1)
weight = random.integers(1, 8, size=group.size) / 4
parts = [np.arange(group.size)] + [np.flatnonzero(group == g) for g in range(3)]
golden = {"classes": CLASSES, "groups": GROUPS,
          "rows": {"label": truth.tolist(), "said": said.tolist(), "probabilities": probability.flatten().tolist(),
                   "weight": weight.tolist(), "group": group.tolist()},
          "figures": {name: [figures(truth[part], said[part], probability[part], its[part]) for part in parts]
                      for name, its in [("plain", np.ones(group.size)), ("weighted", weight)]}}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
