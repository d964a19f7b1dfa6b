"""Selection rates of groups within strata as Fairlearn computes them.

usage: conditional.py OUT.json     (pip install fairlearn; figures of Fairlearn 0.15)

Within each job: Fairlearn's difference with control_features. Over all jobs: its demographic parity difference of rows
that are weighted so that each group has the jobs of all groups. Job "guard" has rows of one group alone and is left
out of the latter.
"""
import json
import random
import sys

import pandas as pd
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate

random.seed(8)
CHANCE = {"clerk": 0.2, "driver": 0.4, "smith": 0.7, "guard": 0.5}
SHIFT = {"f": -0.08, "m": 0.05, "x": 0.0}
rows = []
for i in range(900):
    group = random.choices("fmx", [5, 6, 2])[0]
    job = random.choices(["clerk", "driver", "smith"], [6, 3, 2] if group == "f" else [2, 3, 6])[0]
    if group == "m" and random.random() < 0.1:
        job = "guard"
    rows.append({"group": group, "job": job, "weight": random.choice([0.5, 1.0, 2.5]),
                 "said": int(random.random() < CHANCE[job] + SHIFT[group])})
table = pd.DataFrame(rows)


def figures(weight):
    params = {"sample_weight": weight}
    frame = MetricFrame(metrics=selection_rate, y_true=table.said, y_pred=table.said, sensitive_features=table.group,
                        control_features=table.job, sample_params=params)
    within = {job: float(gap) for job, gap in frame.difference().items() if job != "guard"}
    kept = table.job != "guard"
    of_job = weight[kept].groupby(table.job[kept]).transform("sum")
    of_cell = weight[kept].groupby([table.job[kept], table.group[kept]]).transform("sum")
    alike = weight[kept] * of_job / of_cell
    return {"within": within, "all": float(demographic_parity_difference(
        table.said[kept], table.said[kept], sensitive_features=table.group[kept], sample_weight=alike))}


with open(sys.argv[1], "w") as file:
    json.dump({"rows": table.to_dict("list"), "plain": figures(pd.Series(1.0, index=table.index)),
               "weighted": figures(table.weight)}, file, separators=(",", ":"))
    file.write("\n")
