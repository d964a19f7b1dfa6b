"""One run of a peer on the workloads of scripts/bench-tables: a JSON line on standard output.

usage: table_peers.py duckdb|pandas|polars|tfdv FILE.csv     the statistics of a table
       table_peers.py metricframe|tfma ROWS REPLICATES       rates of 50 slices with a bootstrap

What is timed begins after the imports. `rows` is what the peer counted, or null where it says nothing.
"""
import json
import os
import sys
import time
import warnings

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
warnings.filterwarnings("ignore")
COLUMNS, VALUES = 10, 5
THRESHOLDS = [round(0.1 * step, 1) for step in range(1, 10)]


def duckdb(path):
    import duckdb
    yield
    columns = [row[0] for row in duckdb.sql(f"SELECT * FROM read_csv('{path}') LIMIT 0").description]
    summary = duckdb.sql(f"SUMMARIZE SELECT * FROM read_csv('{path}')").fetchall()
    yield {"rows": summary[0][10], "columns": len(columns)}


def pandas(path):
    import pandas
    yield
    table = pandas.read_csv(path)
    table.describe(include="all")
    yield {"rows": len(table), "columns": len(table.columns)}


def polars(path):
    import polars
    yield
    table = polars.read_csv(path, infer_schema_length=10000)
    table.describe()
    yield {"rows": table.height, "columns": table.width}


def tfdv(path):
    import tensorflow_data_validation
    yield
    statistics = tensorflow_data_validation.generate_statistics_from_csv(path).datasets[0]
    yield {"rows": statistics.num_examples, "columns": len(statistics.features)}


def scored_rows(rows):
    import numpy
    import pandas
    random = numpy.random.default_rng(1)
    table = pandas.DataFrame({f"c{c}": random.integers(0, VALUES, rows).astype(str) for c in range(COLUMNS)})
    table["score"] = random.random(rows)
    table["label"] = (random.random(rows) < table.score).astype(float)
    return table


def metricframe(rows, replicates):
    from fairlearn import metrics
    from sklearn import metrics as of_sklearn
    table = scored_rows(int(rows))
    names = {"accuracy": of_sklearn.accuracy_score, "tpr": metrics.true_positive_rate,
             "fpr": metrics.false_positive_rate, "fnr": metrics.false_negative_rate,
             "tnr": metrics.true_negative_rate, "selection_rate": metrics.selection_rate}
    yield
    for c in range(COLUMNS):
        found = metrics.MetricFrame(metrics=names, y_true=table.label, y_pred=(table.score > 0.5).astype(float),
                                    sensitive_features=table[f"c{c}"], n_boot=int(replicates),
                                    ci_quantiles=[0.025, 0.975], random_state=1)
        assert len(found.by_group_ci) == 2 and len(found.by_group) == VALUES
    yield {"rows": int(rows), "replicates": int(replicates)}


def tfma(rows, replicates):
    import tensorflow_model_analysis as tfma
    from fairness_indicators import fairness_indicators_metrics  # registers FairnessIndicators
    from google.protobuf import text_format
    table = scored_rows(int(rows))
    slicing = "".join(f"slicing_specs {{ feature_keys: 'c{c}' }}\n" for c in range(COLUMNS))
    thresholds = json.dumps({"thresholds": THRESHOLDS})
    config = text_format.Parse(
        "model_specs { label_key: 'label' prediction_key: 'score' }\n"
        f"metrics_specs {{ metrics {{ class_name: 'FairnessIndicators' config: '{thresholds}' }} "
        "metrics { class_name: 'AUC' } metrics { class_name: 'BinaryCrossEntropy' } "
        "metrics { class_name: 'BinaryAccuracy' } }\n" + slicing +
        "options { compute_confidence_intervals { value: true } confidence_intervals { method: POISSON_BOOTSTRAP } }",
        tfma.EvalConfig())
    yield
    found = tfma.analyze_raw_data(table, config)
    yield {"rows": int(rows), "replicates": 20, "slices": len(found.slicing_metrics)}


def main():
    work = {"duckdb": duckdb, "pandas": pandas, "polars": polars, "tfdv": tfdv, "metricframe": metricframe,
            "tfma": tfma}[sys.argv[1]](*sys.argv[2:])
    next(work)
    begin = time.perf_counter()
    found = next(work)
    print(json.dumps({"peer": sys.argv[1], "seconds": time.perf_counter() - begin, **found}))


main()
