"""Rates, areas, means and gaps of groups as Fairlearn, scikit-learn and AIF360 compute them.

usage: fairness.py OUT.json     (pip install fairlearn aif360; figures of Fairlearn 0.15 and AIF360 0.6.1)

300 rows of four groups: one tiny, one without positives, whose undefined rates are 0 in Fairlearn. Scores are in
hundredths, so that many are the threshold. AIF360 gets the first three groups, of which the first is privileged.
"""
import json
import sys
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
import sklearn.metrics as sk
from aif360.datasets import BinaryLabelDataset
from aif360.metrics import ClassificationMetric
from fairlearn import metrics as fl

GROUPS = ["large", "small", "tiny", "negative"]
AGES = [25, 45]
THRESHOLD = 0.5


def draw_rows():
    random = np.random.default_rng(6)
    group = np.repeat(np.arange(4), [180, 80, 6, 34])
    chance = np.array([0.45, 0.3, 0.5, 0.0])[group]
    label = (random.uniform(size=group.size) < chance).astype(int)
    shift = np.array([0.0, -0.08, 0.05, 0.1])[group]
    score = np.clip(random.normal(0.42 + 0.2 * label + shift, 0.18), 0.01, 0.99).round(2)
    return pd.DataFrame({"score": score, "label": label, "weight": random.integers(1, 8, size=group.size) / 4,
                         "group": group, "age": random.integers(18, 70, size=group.size)})


RATES = {
    "true_positive_rate": fl.true_positive_rate, "false_negative_rate": fl.false_negative_rate,
    "false_positive_rate": fl.false_positive_rate, "true_negative_rate": fl.true_negative_rate,
    "selection_rate": fl.selection_rate, "accuracy": sk.accuracy_score,
    "positive_predictive_value": lambda *y, sample_weight: sk.precision_score(
        *y, sample_weight=sample_weight, zero_division=0),
    "f1": lambda *y, sample_weight: sk.f1_score(*y, sample_weight=sample_weight, zero_division=0),
    "matthews_correlation": lambda *y, sample_weight: sk.matthews_corrcoef(*y, sample_weight=sample_weight),
}
MEANS = {"log_loss": lambda y, p, w: sk.log_loss(y, p, sample_weight=w, labels=[0, 1]),
         "brier_score": lambda y, p, w: sk.brier_score_loss(y, p, sample_weight=w)}
CRITERIA = {"demographic_parity": (fl.demographic_parity_difference, fl.demographic_parity_ratio),
            "equal_opportunity": (fl.equal_opportunity_difference, fl.equal_opportunity_ratio),
            "equalised_odds": (fl.equalized_odds_difference, fl.equalized_odds_ratio)}


def fairlearn_of(rows, weight, strict):
    said = (rows.score > THRESHOLD if strict else rows.score >= THRESHOLD).astype(int)
    frame = fl.MetricFrame(metrics=RATES, y_true=rows.label, y_pred=said, sensitive_features=rows.group,
                           sample_params={name: {"sample_weight": weight} for name in RATES})
    gaps = []
    for name, measures in CRITERIA.items():
        for measure, function in zip(["difference", "ratio"], measures):
            for method in ["between_groups", "to_overall"]:
                for agg in ["worst_case", "mean"] if name == "equalised_odds" else ["worst_case"]:
                    extra = {"agg": agg} if name == "equalised_odds" else {}
                    gaps.append({"criterion": name, "measure": measure, "method": method, "agg": agg, "value": float(
                        function(rows.label, said, sensitive_features=rows.group, sample_weight=weight, method=method,
                                 **extra))})
    return {"overall": frame.overall.to_dict(), "by_group": frame.by_group.to_dict("list"), "gaps": gaps}


def crossed(rows, weight):
    said = (rows.score >= THRESHOLD).astype(int)
    features = pd.DataFrame({"group": rows.group, "age": np.digitize(rows.age, AGES)})
    frame = fl.MetricFrame(metrics=fl.selection_rate, y_true=rows.label, y_pred=said, sensitive_features=features,
                           sample_params={"sample_weight": weight})
    return [{"group": int(group), "age": int(age), "value": None if np.isnan(value) else float(value)}
            for (group, age), value in frame.by_group.items()]


def scores_of(rows, weight):
    parts = [rows.index] + [rows.index[rows.group == group] for group in range(len(GROUPS))]
    auc = [None if rows.label[part].nunique() < 2 else float(
        sk.roc_auc_score(rows.label[part], rows.score[part], sample_weight=weight[part])) for part in parts]
    means = {name: [float(mean(rows.label[part], rows.score[part], weight[part])) for part in parts]
             for name, mean in MEANS.items()}
    return {"auc": auc, **means}


def aif360_of(rows):
    rows = rows[rows.group < 3]
    said = (rows.score >= THRESHOLD).astype(float)

    def dataset(label):
        frame = pd.DataFrame({"group": (rows.group == 0).astype(float), "label": label.astype(float), "weight": rows.weight})
        return BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"],
                                  instance_weights_name="weight")

    metric = ClassificationMetric(dataset(rows.label), dataset(said), unprivileged_groups=[{"group": 0.0}],
                                  privileged_groups=[{"group": 1.0}])
    names = ["statistical_parity_difference", "disparate_impact", "equal_opportunity_difference",
             "average_odds_difference", "average_abs_odds_difference", "equalized_odds_difference",
             "false_discovery_rate_difference", "false_omission_rate_difference", "false_positive_rate_ratio",
             "error_rate_difference", "error_rate_ratio", "theil_index", "coefficient_of_variation",
             "between_group_theil_index"]
    out = {name: float(getattr(metric, name)()) for name in names}
    out["generalized_entropy_index_2"] = float(metric.generalized_entropy_index(2))
    out["generalized_entropy_index_3"] = float(metric.generalized_entropy_index(3))
    out["between_group_generalized_entropy_index_2"] = float(metric.between_group_generalized_entropy_index(2))
    return out


rows = draw_rows()
weights = {"plain": pd.Series(np.ones(len(rows))), "weighted": rows.weight}
golden = {
    "groups": GROUPS, "ages": AGES, "threshold": THRESHOLD, "rows": rows.to_dict("list"),
    "fairlearn": [{"weights": name, "strict": strict, **fairlearn_of(rows, weight, strict)}
                  for name, weight in weights.items() for strict in [False, True]],
    "crossed": crossed(rows, rows.weight),
    "scores": [{"weights": name, **scores_of(rows, weight)} for name, weight in weights.items()],
    "aif360": aif360_of(rows),
}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
