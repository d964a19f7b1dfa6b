"""Rates and gaps of Adult's people by sex and by race as Fairlearn has them, of scores by a formula.

usage: adult_fairness.py OUT.json SHARED     (pip install fairlearn; figures of Fairlearn 0.15)

The score of a row of SHARED/data/adult/adult-test.csv is a sum of its columns in thousandths, so that whoever adds them
up has the same; from `threshold` on it says >50K. Weights are fnlwgt.
"""
import csv
import json
import pathlib
import sys

import fairlearn.metrics as fl
import numpy as np
import sklearn.metrics as sk

THRESHOLD = 0.4
NAMES = {"education-num": 4, "age": 0, "hours": 12}
POINTS = {"education-num": 30, "age": 2, "hours": 3}
MARRIED, START = 200, -400
RATES = {"selection_rate": fl.selection_rate, "true_positive_rate": fl.true_positive_rate,
         "false_positive_rate": fl.false_positive_rate, "true_negative_rate": fl.true_negative_rate,
         "false_negative_rate": fl.false_negative_rate, "accuracy": sk.accuracy_score,
         "positive_predictive_value": sk.precision_score}
CRITERIA = {"demographic_parity": (fl.demographic_parity_difference, fl.demographic_parity_ratio),
            "equal_opportunity": (fl.equal_opportunity_difference, fl.equal_opportunity_ratio),
            "equalised_odds": (fl.equalized_odds_difference, fl.equalized_odds_ratio)}

with open(pathlib.Path(sys.argv[2]) / "data/adult/adult-test.csv", newline="") as file:
    rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
points = [sum(POINTS[name] * int(row[NAMES[name]]) for name in POINTS) + START
          + MARRIED * (row[5] == "Married-civ-spouse") for row in rows]
said = np.clip(points, 0, 1000) / 1000 >= THRESHOLD
truth = np.array([row[14].startswith(">") for row in rows])
golden = {"threshold": THRESHOLD, "of": []}
for weights, weight in [("plain", np.ones(len(rows))), ("weighted", np.array([float(row[2]) for row in rows]))]:
    for column, place in [("sex", 9), ("race", 8)]:
        group = np.array([row[place] for row in rows])
        frame = fl.MetricFrame(metrics=RATES, y_true=truth, y_pred=said, sensitive_features=group,
                               sample_params={name: {"sample_weight": weight} for name in RATES})
        golden["of"].append({
            "weights": weights, "column": column, "overall": frame.overall.to_dict(),
            "groups": frame.by_group.to_dict("index"),
            "gaps": {name: {measure: float(gap(truth, said, sensitive_features=group, sample_weight=weight))
                            for measure, gap in zip(["difference", "ratio"], gaps)}
                     for name, gaps in CRITERIA.items()}})
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
