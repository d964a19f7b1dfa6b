"""Numbers that two models predict of the same rows: errors as scikit-learn has them, and SciPy's paired t test.

usage: moves.py OUT.json     (pip install scikit-learn scipy; figures of scikit-learn 1.9.1, SciPy 1.17)

60 rows of two groups; of one the second model is further off.
"""
import json
import sys

import numpy as np
import scipy.stats
import sklearn.metrics as sk


def figures(truth, before, now):
    errors = np.abs(now - truth), np.abs(before - truth)
    test = scipy.stats.ttest_rel(*errors)
    low, high = test.confidence_interval(0.95)
    return {"mae_before": sk.mean_absolute_error(truth, before), "mae": sk.mean_absolute_error(truth, now),
            "rmse_before": sk.root_mean_squared_error(truth, before),
            "rmse": sk.root_mean_squared_error(truth, now),
            "change": float(np.mean(errors[0] - errors[1])), "low": float(low), "high": float(high),
            "p": float(test.pvalue), "moved": float(np.mean(before != now)),
            "move": float(np.mean(now - before)), "size": float(np.mean(np.abs(now - before)))}


random = np.random.default_rng(7)
group = np.repeat(np.arange(2), [35, 25])
truth = random.normal(50, 9, size=group.size).round(1)
before = (truth + random.normal(0, 3, size=group.size)).round(1)
now = np.where(random.random(group.size) < 0.3, before,
               truth + random.normal(0, 1, size=group.size) * np.array([3, 6])[group]).round(1)
parts = [np.arange(group.size), np.flatnonzero(group == 0), np.flatnonzero(group == 1)]
golden = {"rows": {"label": truth.tolist(), "before": before.tolist(), "now": now.tolist(),
                   "group": group.tolist()},
          "figures": [figures(truth[part], before[part], now[part]) for part in parts]}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
