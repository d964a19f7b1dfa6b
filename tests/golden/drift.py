#!/usr/bin/env python3
"""Writes tests/golden/drift.json: distances of samples by SciPy 1.17, of samples that the test makes again.

    python3 tests/golden/drift.py > tests/golden/drift.json

Samples are of a linear congruence, so that both sides have the same.
"""
import json

import numpy as np
from scipy import stats


def sample(seed, count, shift, ties):
    out, state = [], seed
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        value = state / 2**31 + shift
        out.append(float(np.floor(value * ties)) if ties else value)
    return out


def pair(seed, n, m, shift, ties):
    a, b = sample(seed, n, 0, ties), sample(seed + 1, m, shift, ties)
    ks = stats.ks_2samp(a, b, method="asymp")
    return {"seed": seed, "n": n, "m": m, "shift": shift, "ties": ties, "ks": ks.statistic, "ks_p": ks.pvalue,
            "wasserstein": stats.wasserstein_distance(a, b)}


def table(a, b):
    chi = stats.chi2_contingency(np.array([a, b]), correction=False)
    return {"a": a, "b": b, "statistic": chi.statistic, "p": chi.pvalue, "degrees": int(chi.dof)}


json.dump({
    "pairs": [pair(1, 50, 70, 0.0, 0), pair(2, 300, 200, 0.1, 0), pair(3, 1000, 1000, 0.05, 8), pair(4, 40, 4000, 0.3, 0)],
    "tables": [table([10, 20, 30], [15, 15, 40]), table([100, 50, 25, 25], [80, 60, 40, 20]), table([900, 100], [850, 150])],
    "tails": [[x, k, float(stats.chi2.sf(x, k))] for x, k in
              [(0.0, 1), (0.5, 1), (3.84, 1), (10.0, 3), (30.0, 30), (100.0, 40), (5.0, 200), (400.0, 200)]],
}, __import__("sys").stdout, indent=1)
print()
